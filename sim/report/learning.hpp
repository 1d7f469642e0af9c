// Loss curves of a scenario's trained rows beside each other: at equal tokens, at equal simulated time,
// and what it takes to reach the target. Pairs are of one seed.
#pragma once

#include <string>
#include <vector>

#include "sim/report/results.hpp"

namespace skerry {

// Of one row against the baseline's runs of the same seeds; intervals with n = 0 where there is no pair.
struct Learned {
  std::string protocol;
  int trained = 0;              // runs with a curve
  int reached = 0;              // of them, the target
  double loss_final = 0;        // mean; at the charged tokens of the stop rule
  Interval final_difference;    // to the baseline's, at equal tokens: both read at the fewer of the two
  double loss_at_time = 0;      // mean at mid_s; of a row that had ended its final loss
  Interval time_difference;     // to the baseline's at mid_s
  Interval sooner;              // time to the target: baseline's over the row's, pairs that both reached
  Interval token_efficiency;    // tokens to the target, likewise
};

struct Learning {
  double mid_s = 0;             // mean date at which the first trained row ended
  std::string first;            // that row
  std::vector<Learned> rows;    // trained ones, in the order of the protocols
};

// Empty rows when nothing was trained.
Learning learning_of(const Results& results);

// Loss at a date or at charged tokens, linear between the points of the curve; its ends outside.
double loss_at_date(const std::vector<LossPoint>& curve, double date_s);
double loss_at_tokens(const std::vector<LossPoint>& curve, double tokens);

// protocol,seed,simulated_s,tokens,trained_tokens,loss: every point of every run, ready to plot.
std::string curves_csv(const Results& results);
// A line a row: what Learned holds; empty cells where there is nothing to say.
std::string learning_csv(const Results& results);
// For the terminal: loss at equal time, token efficiency; empty when nothing was trained.
std::string learning_lines(const Results& results);

}  // namespace skerry

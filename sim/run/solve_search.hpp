// Where does a metric reach a target? A search over one positive number (or one whole number) that
// asks for points and is told what the metric is there; it runs nothing itself.
//
// What it asks depends on the answers alone, never on when they come or how many are worked out at
// once. The points of all targets are shared.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace skerry {

struct SearchRange {
  double low = 0, high = 0;  // 0 < low < high; whole numbers: 0 ≤ low
  bool whole = false;        // only whole numbers; ends when neighbours bracket the target
  double tolerance = 1e-3;   // else: ends when high / low of the bracket ≤ 1 + tolerance
  bool may_shrink = false;   // ends at which a run fails are given up instead of refused
  int points = 1;            // asked at once for each target, 1 or 2
  double dip = 0.002;  // the metric may fall back by this share of its range and 1e-6 of its value
};

// One target. A metric reaches it when it is at least the target.
struct SearchResult {
  double target = 0;
  bool solved = false;
  double x = 0, value = 0;  // reaches: the smallest such x when the metric rises, else the largest
  double x_below = 0, value_below = 0;  // the other end of the bracket: does not reach
  double first_x = 0;  // beyond the bracket, where a dip lies between: reaches already. Else x
  int points = 0;      // asked for this target alone, beside the probes
  std::string reason;  // not solved: why, with the numbers
};

class Search {
 public:
  // Targets are distinct.
  Search(const SearchRange& range, const std::vector<double>& targets);

  // The points to tell next, all of them new; none: every target is solved or refused. To be called
  // again when all have been told.
  std::vector<double> next();
  void tell(double x, double value);
  void tell_failure(double x, const std::string& why);

  const std::vector<SearchResult>& results() const { return results_; }  // as the targets came
  const std::map<double, double>& samples() const { return samples_; }
  const std::map<double, std::string>& failures() const { return failures_; }
  bool rises() const { return rises_; }                             // after the probes
  const std::vector<std::string>& notes() const { return notes_; }  // ends given up

  static constexpr int kProbes = 5;  // both ends and between them, evenly in the logarithm

 private:
  struct State {
    bool open = true;
    double last_length = 0;
  };
  struct Bracket {
    double low = 0, high = 0;
    bool low_reaches = false;
  };

  double scale(double x) const;        // evenly spaced where the search is
  double unscale(double place) const;  // and back, rounded to what is printed
  void judge();                        // after a round
  void judge_probes();
  void give_up_ends();
  void judge_failures();
  bool judge_monotone();  // false: refused
  double allowed_dip(double value) const;
  void refuse_open(const std::string& reason);
  Bracket bracket_of(double target) const;
  bool is_narrow(const Bracket& bracket) const;
  void settle(std::size_t i);
  std::vector<double> ask(std::size_t i);
  double inside(double place, const Bracket& bracket) const;

  SearchRange range_;
  std::vector<SearchResult> results_;
  std::vector<State> states_;
  std::map<double, double> samples_;
  std::map<double, std::string> failures_;
  std::vector<std::string> notes_;
  bool began_ = false, probed_ = false, rises_ = true;
  double span_ = 0;  // of the metric between the ends
};

std::string number_of(double value);  // for people, up to 9 digits

}  // namespace skerry

// The loss curve: when the global model is evaluated, and what its points say.
//
// Points: at t = 0, at the first state at or after each k/evaluations of the run's net charged
// tokens, and at the last state. A point's date is that of its state: when the outer step or the
// step ended.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/tape/tape.hpp"
#include "sim/train/archive.hpp"
#include "sim/train/replay.hpp"
#include "sim/train/trainer.hpp"

namespace skerry::train {

struct Progress {
  double simulated_s = 0;
  double tokens = 0;          // charged, net
  double trained_tokens = 0;  // of the same steps; the warm start does not count
  void describe(Archive& a) { a(simulated_s, tokens, trained_tokens); }
};

// Net tokens of a DiLoCo tape by date: whole steps that have ended, minus what was lost by then. (A
// loss takes back what had been counted, so tokens may fall.)
class TokenClock {
 public:
  TokenClock(const Scenario& scenario, const Trainer& trainer, const Tape& tape);

  Progress at(double date);  // dates must not decrease from call to call
  double total() const { return total_; }

 private:
  struct Span {
    double t0 = 0, t1 = 0;
    double n = 0, tokens = 0, trained_tokens = 0;  // tokens: of each of the n steps
  };
  struct Learner {
    std::vector<Span> spans;                // by date
    std::size_t next = 0;                   // first span that had not ended
    double tokens = 0, trained_tokens = 0;  // of the spans before it
  };
  std::vector<Learner> learners_;
  std::vector<fact::Lost> lost_;
  std::size_t next_lost_ = 0;
  double lost_tokens_ = 0;
  double trained_per_charged_ = 0;
  double total_ = 0;
};

class Curve {
 public:
  Curve(Trainer& trainer, double total_tokens, const Training& training, TrainResult& result)
      : trainer_(trainer),
        total_(total_tokens),
        evaluations_(training.evaluations),
        stop_at_loss_(training.stop_at_loss),
        result_(result) {}

  // The state at t = 0.
  void start(std::span<const float> global);
  // Another state: evaluated when the tokens of the next point are reached.
  void state(const Progress& progress, std::span<const float> global);
  // The last state: evaluated unless it just was.
  void end(std::span<const float> global);

  // Nothing more is to be trained: it diverged, or stop_at_loss was reached.
  bool ended() const { return result_.diverged || result_.stopped; }

  double loss() const { return result_.final; }  // of the newest evaluation

  void describe(Archive& a);  // with the result so far

 private:
  void stop_when_reached();
  void evaluate(const Progress& progress, std::span<const float> global);

  Trainer& trainer_;
  double total_;
  int evaluations_;
  std::optional<double> stop_at_loss_;
  int next_ = 1;           // the point due is total · next_ / evaluations_
  bool evaluated_ = true;  // the newest state was
  Progress newest_;
  TrainResult& result_;
};

}  // namespace skerry::train

#include "sim/train/causality.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "sim/base/error.hpp"

namespace skerry::train {

namespace {

bool before(double a, double b) {
  return a < b - kDateRounding * std::max(1.0, std::abs(b));
}

class Dates {
 public:
  explicit Dates(const std::string& label) : label_(label) {}

  void next() { fact_ += 1; }

  template <class F>
  void read(const F& f) {
    if constexpr (requires { f.t; }) {
      if (before(f.t, newest_)) {
        refuse_fact(label_, fact_,
                    fmt::format("time runs backwards: {} s after {} s", f.t, newest_));
      }
      newest_ = std::max(newest_, f.t);
    }
    if constexpr (requires { f.t1; }) {
      if (before(f.t1, f.t0)) {
        refuse_fact(label_, fact_, fmt::format("it ends at {} s and begins at {} s", f.t1, f.t0));
      }
    }
    if constexpr (std::is_same_v<F, fact::Steps>) {
      double& ended = ended_[f.learner];
      if (before(f.t0, ended)) {
        refuse_fact(label_, fact_,
                    fmt::format("time runs backwards: steps from {} s, the learner's last ones "
                                "ended at {} s",
                                f.t0, ended));
      }
      ended = f.t1;
    }
  }

 private:
  const std::string& label_;
  std::size_t fact_ = 0;
  double newest_ = 0;
  std::map<int, double> ended_;  // by learner
};

}  // namespace

void refuse_fact(const std::string& label, std::size_t fact, const std::string& what) {
  throw BadInput(label, "",
                 fmt::format("line {}: the tape does not fit together: {}", fact + 2, what));
}

void check_dates(const Tape& tape, const std::string& label) {
  if (!(tape.start.horizon_steps >= 1)) {
    throw BadInput(
        label, "",
        fmt::format("line 1: found horizon_steps {}, allowed 1 or more", tape.start.horizon_steps));
  }
  Dates dates(label);
  for (const Fact& any : tape.facts) {
    std::visit([&](const auto& f) { dates.read(f); }, any);
    dates.next();
  }
}

}  // namespace skerry::train

// Closed forms that bound what a run can do. Seconds, bytes, bytes/s; no scenario, no state.
#pragma once

#include <vector>

namespace skerry {

// ---------------------------------------------------------------- DiLoCo family

// Fewest seconds of a period of H steps of T for learners that wait at overlap τ, when each of its P
// fragments takes `turns_s` = x on a wire and, alone, delays a step by `delays_s` = d (max(0, x − τT)
// when it leaves at the end of its step): the largest of
//   Σ x when they take turns (`one_at_a_time`), and `wire_s`, what their bytes take
//   H·T + Σ d when no fragment is due within τ steps of the one before (τP ≤ H)
//   H·T + the largest d otherwise
// Exact where fragments do not meet; a bound elsewhere.
double shortest_period_s(double step_s, int period_steps, int overlap_steps, bool one_at_a_time,
                         const std::vector<double>& turns_s, const std::vector<double>& delays_s,
                         double wire_s);

// ---------------------------------------------------------------- recovery of a learner

// `copy_steps` = c: steps that one copy of the model takes over the port. A recovery sends three
// copies (parameters and two moments). `load`: share of the port that regular traffic takes.
// Traffic first: 3c / (1 − load) steps; kNever when nothing is left. With load = c/H this is within
// H up to c = H/4.
double recovery_steps(double copy_steps, double load);

// Steps without progress while a learner is added (arXiv 2604.21428, Fig. 12): Decoupled
// max(0, 4c − H), since H steps of buffering hide three copies and one of fragments; elastic
// data-parallel 3c.
double decoupled_downtime_steps(double copy_steps, int period_steps);
double elastic_downtime_steps(double copy_steps);

// ---------------------------------------------------------------- checkpoints

// Share of time lost at a period of `period_s` = τ between saves of `save_s` = δ and failures every
// `mtbf_s` = M, to first order: δ/τ + τ/(2M). √(2δ/M) at Young's interval (1974).
double checkpoint_waste(double period_s, double save_s, double mtbf_s);

// Work done over time taken by a job that saves after every `period_s` of work and comes back
// `restart_s` = R after a failure, exponential failures also during saves and restarts (renewal
// argument, Daly 2006): τ / (M·e^(R/M)·(e^((τ+δ)/M) − 1)). Requires positive mtbf_s and period_s.
double stop_restart_efficiency(double mtbf_s, double period_s, double save_s, double restart_s);

// ---------------------------------------------------------------- growing fleets

// From `from_s` on, `tokens_per_s`; ordered by date.
struct Phase {
  double from_s = 0.0;
  double tokens_per_s = 0.0;
};
// Date at which `tokens` are done; kNever without a rate.
double date_of_tokens(const std::vector<Phase>& phases, double tokens);
double tokens_by(const std::vector<Phase>& phases, double date_s);

}  // namespace skerry

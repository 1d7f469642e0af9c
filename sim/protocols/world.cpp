#include "sim/protocols/world.hpp"

#include <algorithm>
#include <cmath>

#include "sim/scenario/load.hpp"

namespace skerry {

namespace {

// Steps of each learner that make so many tokens, when all are there.
double horizon_steps(const Scenario& scenario, const Protocol& protocol, double tokens) {
  const double round = static_cast<double>(protocol.learners.size()) *
                       scenario.charged.tokens_per_learner_step * protocol.accumulate_steps;
  return std::max(1.0, std::ceil(tokens / round * (1 - 1e-12)));
}

// Of a run that a date ends: at most, since only its end knows.
double most_tokens(const Scenario& scenario, const Protocol& protocol) {
  if (scenario.stop.tokens) return *scenario.stop.tokens;
  double steps_per_s = 0;
  for (int m : protocol.learners) {
    steps_per_s += 1.0 / scenario.learners[static_cast<std::size_t>(m)].step_s;
  }
  return scenario.stop.simulated_s * steps_per_s * scenario.charged.tokens_per_learner_step;
}

// About eight for a random fault; pull, weigh and overwrite for each learner and fragment. Growing
// by copies would cost more than writing. At most 2.5 million: what is not touched costs nothing.
std::size_t expected_facts(const Scenario& scenario, const Protocol& protocol) {
  if (protocol.family == Family::kDataParallel || !protocol.exchange) {
    double faults_per_s = 0;
    for (const Fault& fault : scenario.faults)
      faults_per_s += fault.events_per_s_nominal;
    if (faults_per_s <= 0 || scenario.stop.simulated_s >= kNever) return 0;
    return static_cast<std::size_t>(
        std::min(8.0 * faults_per_s * scenario.stop.simulated_s, 2.5e6));
  }
  const double rounds = horizon_steps(scenario, protocol, most_tokens(scenario, protocol)) *
                        protocol.fragments / static_cast<double>(protocol.sync_period_steps);
  const double facts = rounds * (3.0 * static_cast<double>(protocol.learners.size()) + 4.0);
  return static_cast<std::size_t>(std::min(facts * 1.1, 2.5e6));
}

}  // namespace

World::World(const Scenario& scenario_in, int protocol_index, std::uint64_t seed,
             const std::string& scenario_hash, const OnProgress& progress)
    : scenario(scenario_in),
      protocol(scenario_in.protocols[static_cast<std::size_t>(protocol_index)]),
      network(engine, scenario, protocol.ideal_network, protocol.recovery.cut_transfer),
      fleet(engine, scenario, network, hub_of(protocol), protocol.learners),
      faults(engine, scenario, protocol, seed, fleet, tape),
      books(engine, scenario, protocol, tape),
      progress_(progress) {
  tape.start = {protocol.name, seed, scenario_hash,
                horizon_steps(scenario, protocol, most_tokens(scenario, protocol))};
  tape.facts.reserve(expected_facts(scenario, protocol));
  for (std::size_t m = 0; m < scenario.learners.size(); ++m) {
    step_s_.push_back(scenario.learners[m].step_s * protocol.accumulate_steps *
                      spread_factor(scenario, seed, static_cast<int>(m)));
  }
  // A cap alone keeps nothing alive: a deadlock long before it is told as one.
  if (scenario.stop.simulated_s < kNever) {
    engine.at(scenario.stop.simulated_s, &on_date, this, scenario.stop.tokens.has_value());
  }
}

double World::step_s(int m) const {
  return step_s_[static_cast<std::size_t>(m)] * fleet.slowdown(m);
}

double World::detection_s(int m) const {
  const double usual = fleet.last_loss_expected(m) ? 0.0 : protocol.recovery.detection_s;
  return std::max(usual, fleet.silent_until_s(m) - engine.now());
}

double World::tokens(int m, int slices_in_mesh) const {
  return scenario.charged.tokens_per_learner_step * protocol.accumulate_steps *
         static_cast<double>(slices_in_mesh) / static_cast<double>(learner(m).slices);
}

double World::compute_chips(int m, int slices_in_mesh) const {
  return static_cast<double>(learner(m).chips) * static_cast<double>(slices_in_mesh) /
         static_cast<double>(learner(m).slices);
}

double World::tokens_wanted() const {
  return scenario.stop.tokens ? *scenario.stop.tokens - net_tokens_ : kNever;
}

void World::earn(double tokens_earned) {
  net_tokens_ += tokens_earned;
  faults.note_progress();
  earnings_ += 1;
  if (progress_ && earnings_ % 4096 == 0) {
    progress_({scenario.stop.tokens ? net_tokens_ / *scenario.stop.tokens
                                    : engine.now() / scenario.stop.simulated_s,
               engine.now(),
               {}});
  }
  if (static_cast<double>(tape.facts.size()) > kMaxFacts) {
    throw CannotGoOn(protocol.name + ": more than " + std::to_string(static_cast<long>(kMaxFacts)) +
                     " facts by " + std::to_string(engine.now()) + " s of simulated time");
  }
  if (tokens_wanted() <= token_slack()) finish("tokens");
}

void World::on_date(void* self) {
  auto& world = *static_cast<World*>(self);
  world.finish(world.scenario.stop.tokens ? "cap" : "simulated");
}

// The run ends after every event of this date.
void World::finish(const char* reason) {
  if (finished_) return;
  finished_ = true;
  tape.end.t = engine.now();
  tape.end.reason = reason;
  engine.stop();
}

void World::run() {
  engine.run();
  SKERRY_CHECK(finished_, "the engine stopped by itself");
}

void World::close() {
  books.finish();
  tape.end.tokens = net_tokens_;
  if (!scenario.stop.tokens) {
    tape.start.horizon_steps = horizon_steps(scenario, protocol, net_tokens_);
  }
  tape.wires = network.wires();
  tape.controls = network.controls();
}

}  // namespace skerry

// The estimate that protects the machine, settings that cannot matter, and assumptions in use.
#include <algorithm>
#include <numeric>

#include "sim/scenario/balanced.hpp"
#include "sim/scenario/bind.hpp"
#include "sim/scenario/bind_training.hpp"
#include "sim/scenario/bind_wire.hpp"
#include "sim/scenario/spec_parts.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

const Learner& learner_at(const Scenario& scenario, int index) {
  return scenario.learners[static_cast<std::size_t>(index)];
}

double slowest_step_s(const Scenario& scenario, const Protocol& protocol) {
  double slowest = 0.0;
  for (const int i : protocol.learners)
    slowest = std::max(slowest, learner_at(scenario, i).step_s);
  return slowest;
}

// Learner steps a second of the protocol when nothing stops it.
double steps_per_s(const Scenario& scenario, const Protocol& protocol) {
  if (protocol.family == Family::kDataParallel) {
    return static_cast<double>(protocol.learners.size()) / slowest_step_s(scenario, protocol);
  }
  double rate = 0.0;
  for (const int i : protocol.learners)
    rate += 1.0 / learner_at(scenario, i).step_s;
  return rate;
}

bool has_random_faults(const Scenario& scenario) {
  return std::any_of(scenario.faults.begin(), scenario.faults.end(),
                     [](const Fault& fault) { return !fault.scripted; });
}

bool may_break(const Scenario& scenario) {
  return !scenario.faults.empty() || !scenario.plan_files.empty() || !scenario.plan.empty();
}

bool may_lose_learners(const Scenario& scenario) {
  return !scenario.plan_files.empty() || !scenario.plan.empty() ||
         std::any_of(scenario.faults.begin(), scenario.faults.end(), [&](const Fault& fault) {
           return fault.kind == FaultKind::kIslandDown || fault.kind == FaultKind::kRegionDark ||
                  (fault.kind == FaultKind::kSliceDown &&
                   std::any_of(fault.targets.begin(), fault.targets.end(), [&](const Target& t) {
                     return learner_at(scenario, t.index).slices == 1;
                   }));
         });
}

// Over the slowest port a recovery (three copies, the paper's rule) and the fragments that go on
// meanwhile must fit into H steps: 4.5 x model bits / (H x step).
void warn_recovery_reach(Binder& binder, const Protocol& protocol) {
  const Scenario& scenario = binder.scenario;
  if (protocol.family != Family::kDiloco || protocol.on_loss != OnLoss::kContinue) return;
  if (scenario.regions.empty() || !may_lose_learners(scenario)) return;
  double slowest_Bps = kUnlimited;
  std::string where;
  for (const int i : protocol.learners) {
    const Region& region =
        scenario.regions[static_cast<std::size_t>(learner_at(scenario, i).region)];
    const double port = std::min(region.up_Bps, region.down_Bps);
    if (port < slowest_Bps) {
      slowest_Bps = port;
      where = region.name;
    }
  }
  const double bits = scenario.charged.parameters * scenario.charged.wire_bits_per_parameter;
  const double needed =
      4.5 * bits / (protocol.sync_period_steps * slowest_step_s(scenario, protocol)) / 1e9;
  if (needed <= gbps_from_bytes_per_s(slowest_Bps)) return;
  binder.warn("W06", under("/protocols", protocol.name) +
                         ": a recovery within sync_period_steps = " +
                         std::to_string(protocol.sync_period_steps) +
                         " steps needs 4.5 x model bits / (H x step) = " + number_text(needed) +
                         " Gbit/s, and the port of " + where + " has " +
                         number_text(gbps_from_bytes_per_s(slowest_Bps)));
}

bool any_fault(const Scenario& scenario, FaultKind kind) {
  const auto is = [kind](const auto& fault) { return fault.kind == kind; };
  return std::any_of(scenario.faults.begin(), scenario.faults.end(), is) ||
         std::any_of(scenario.plan.begin(), scenario.plan.end(), is) ||
         !scenario.plan_files.empty();
}

bool any_spares(const Scenario& scenario) {
  return std::any_of(scenario.learners.begin(), scenario.learners.end(),
                     [](const Learner& learner) { return learner.spares > 0; });
}

void warn_recovery(Binder& binder, const Protocol& protocol) {
  const Recovery& r = protocol.recovery;
  const std::string pointer = under("/protocols", protocol.name) + "/recovery";
  if (r.when_late != WhenLate::kAdmit && r.limit_steps == 0) {
    binder.warn("W22", pointer + "/when_late: cannot matter without limit_steps");
  }
  if (r.snapshot_every_steps > 0 && !any_fault(binder.scenario, FaultKind::kShardLost)) {
    binder.warn("W23", pointer + "/snapshot_every_steps: cannot matter, no fault is a shard_lost");
  }
  if (r.rejoin_from == RejoinFrom::kSyncer && (r.donors > 1 || r.limit_steps > 0)) {
    binder.warn("W24", pointer + ": donors and limit_steps cannot matter with rejoin_from syncer");
  }
}

void warn_protocol(Binder& binder, const Protocol& protocol) {
  if (protocol.family != Family::kDiloco || !protocol.exchange) return;
  if (may_break(binder.scenario)) warn_recovery(binder, protocol);
  const std::string pointer = under("/protocols", protocol.name);
  if (protocol.learners.size() == 1) {
    binder.warn("W01", pointer + ": one learner: outer steps have nobody to merge with");
  }
  if (protocol.grace == Grace::kSlack) {
    if (protocol.quorum == static_cast<int>(protocol.learners.size())) {
      binder.warn("W02", pointer + "/grace: cannot matter, since the quorum is all " +
                             std::to_string(protocol.quorum) + " learners");
    } else if (protocol.overlap_steps == 0 || protocol.grace_limit_steps <= 0.0) {
      binder.warn("W12", pointer + "/grace: never opens with overlap_steps " +
                             std::to_string(protocol.overlap_steps) + " and limit_steps " +
                             number_text(protocol.grace_limit_steps));
    }
  }
  warn_recovery_reach(binder, protocol);
}

void warn_places(Binder& binder) {
  const Scenario& scenario = binder.scenario;
  std::vector<bool> used(scenario.regions.size(), false);
  for (const Learner& learner : scenario.learners) {
    if (learner.region >= 0) used[static_cast<std::size_t>(learner.region)] = true;
  }
  for (const Protocol& protocol : scenario.protocols) {
    if (!used.empty() && protocol.family == Family::kDiloco) {
      used[static_cast<std::size_t>(protocol.syncer_region)] = true;
    }
    if (!used.empty()) used[static_cast<std::size_t>(protocol.star_region)] = true;
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) {
      binder.warn("W13", under("/regions", scenario.regions[i].name) +
                             ": cannot matter, no island is in it");
    }
  }
  if (scenario.transport.kind == TransportKind::kFluid) {
    const Json& given = binder.document["transport"];
    if (given.contains("window_bytes") || given.contains("loss_rate") ||
        given.contains("mss_bytes") || scenario.transport.streams != 1 ||
        scenario.transport.setup_s > 0.0) {
      binder.warn("W04",
                  "/transport: window_bytes, loss_rate, mss_bytes, streams and setup cannot matter "
                  "with fluid");
    }
  }
}

// Whether a cap binds on no pair: `cap_Bps(trip)` against ports, own limit and the window.
template <class Cap>
bool never_binds(const Scenario& scenario, Cap cap_Bps) {
  const std::vector<double> trips_s = scenario.round_trips_s();
  for (std::size_t i = 0; i < trips_s.size(); ++i) {
    const Link& link = scenario.links[i];
    const double rate_Bps =
        std::min({scenario.regions[static_cast<std::size_t>(link.from)].up_Bps,
                  scenario.regions[static_cast<std::size_t>(link.to)].down_Bps, link.capacity_Bps,
                  scenario.transport.window_cap_Bps(trips_s[i])});
    if (cap_Bps(trips_s[i]) < rate_Bps) return false;
  }
  return true;
}

void warn_loss(Binder& binder) {
  const Scenario& scenario = binder.scenario;
  const Transport& transport = scenario.transport;
  if (transport.kind != TransportKind::kTcp) return;
  if (transport.loss_rate <= 0.0) {
    if (!binder.document["transport"].contains("mss_bytes")) return;
    return binder.warn("W30", "/transport/mss_bytes: cannot matter without loss_rate");
  }
  const std::vector<double> trips_s = scenario.round_trips_s();
  if (std::all_of(trips_s.begin(), trips_s.end(), [](double trip_s) { return trip_s <= 0.0; })) {
    return binder.warn("W30", "/transport/loss_rate: cannot matter, every round trip is 0");
  }
  if (never_binds(scenario, [&](double trip_s) { return transport.loss_cap_Bps(trip_s); })) {
    binder.warn("W29",
                "/transport/loss_rate: cannot matter, its cap is above ports, pairs and window");
  }
}

bool sends_control(const Scenario& scenario) {
  return !scenario.regions.empty() &&
         std::any_of(scenario.protocols.begin(), scenario.protocols.end(), [](const auto& row) {
           return row.family == Family::kDiloco && row.exchange && !row.ideal_network;
         });
}

bool may_copy_states(const Scenario& scenario) {
  return may_break(scenario) ||
         std::any_of(scenario.learners.begin(), scenario.learners.end(),
                     [](const Learner& learner) { return learner.start_s > 0.0; });
}

void warn_transport(Binder& binder) {
  const Scenario& scenario = binder.scenario;
  const Transport& transport = scenario.transport;
  const std::vector<double> trips_s = scenario.round_trips_s();
  if (transport.rtt_bias &&
      std::all_of(trips_s.begin(), trips_s.end(), [&](double s) { return s == trips_s[0]; })) {
    binder.warn("W28", "/transport/rtt_bias: cannot matter, all round trips are equal");
  }
  warn_loss(binder);
  const bool shared = transport.control.rate == ControlRate::kShared;
  if (transport.control.rate != ControlRate::kLatencyOnly && !sends_control(scenario)) {
    binder.warn("W31", "/transport/control: cannot matter, no row sends reports");
  }
  for (std::size_t of = 0; of < kFlowClassNames.size(); ++of) {
    const double cap_Bps = transport.class_cap_Bps[of];
    if (cap_Bps >= kUnlimited) continue;
    const std::string pointer =
        "/transport/caps/" + std::string(kFlowClassNames[of]) + "_gbps: cannot matter, ";
    const auto is = static_cast<FlowClass>(of);
    if (is == FlowClass::kControl && !shared) {
      binder.warn("W31", pointer + "it needs control with rate shared");
    } else if (is == FlowClass::kRecovery && !may_copy_states(scenario)) {
      binder.warn("W31", pointer + "no learner is lost or comes later");
    } else if (never_binds(scenario, [cap_Bps](double) { return cap_Bps; })) {
      binder.warn("W29", pointer + "it is above ports, pairs and window");
    }
  }
}

void warn_model(Binder& binder) {
  const Scenario& scenario = binder.scenario;
  if (scenario.charged.parameters <= 0.0) {
    binder.warn(
        "W08",
        "no /charged_model: protocols send no bytes, and a learner's step counts as one token");
  } else if (scenario.charged.tensors.empty()) {
    binder.warn("W10", "/charged_model: parameters without a shape: fragments are equal parts");
  }
}

void warn_chance(Binder& binder) {
  const Scenario& scenario = binder.scenario;
  const bool random = has_random_faults(scenario) || scenario.spread_relative > 0.0 ||
                      (scenario.training.on && scenario.training.seeds > 1);
  if (scenario.seeds.size() > 1 && !random) {
    binder.warn("W03", "/seeds: cannot matter, nothing in the scenario is random");
  }
  const Json& training = binder.document["training"];
  if (training.is_object() &&
      integer_at(training, "seeds") > static_cast<std::int64_t>(scenario.seeds.size())) {
    binder.warn("W09", "/training/seeds: " + std::to_string(integer_at(training, "seeds")) +
                           " asked for, the scenario has " + std::to_string(scenario.seeds.size()));
  }
  for (const Fault& fault : scenario.faults) {
    if (fault.scripted && fault.targets.size() == 1) {
      binder.warn("W07",
                  "'faults." + fault.name +
                      "' is one event; small differences in goodput are that event, not a law");
    }
    if (fault.kind == FaultKind::kStraggler && fault.factor == 1.0) {
      binder.warn("W14", under("/faults", fault.name) + "/factor: cannot matter, it is 1");
    }
  }
}

bool some_row_has(const Scenario& scenario, const Target& target) {
  if (target.kind != TargetKind::kLearner && target.kind != TargetKind::kSlice) return true;
  return std::any_of(
      scenario.protocols.begin(), scenario.protocols.end(), [&](const Protocol& row) {
        return row.faults &&
               std::binary_search(row.learners.begin(), row.learners.end(), target.index);
      });
}

void warn_faults_idle(Binder& binder) {
  const Scenario& scenario = binder.scenario;
  for (const Fault& fault : scenario.faults) {
    const bool seen = std::any_of(fault.targets.begin(), fault.targets.end(),
                                  [&](const Target& t) { return some_row_has(scenario, t); });
    const std::string pointer = under("/faults", fault.name);
    if (!seen) {
      binder.warn("W26", pointer + ": cannot matter, its targets take part in no row");
    } else if (fault.scripted && fault.at_s + fault.notice_s >= scenario.stop.simulated_s) {
      binder.warn("W27", pointer + ": cannot matter, it strikes after the end of the run");
    }
  }
  if (any_spares(scenario) && !any_fault(scenario, FaultKind::kSliceDown) &&
      !any_fault(scenario, FaultKind::kHang)) {
    binder.warn("W25", "/islands: spares cannot matter, no fault is a slice_down or a hang");
  }
  if (may_break(scenario)) return;
  static const NodePtr spec = recovery_spec(true);
  Resolution ignored;
  Json given = binder.document["recovery"];
  given.erase("about");
  if (given != resolve(*spec, Json::object(), "", ignored)) {
    binder.warn("W15", "/recovery: cannot matter, there are no /faults");
  }
}

// Assumed defaults are listed only where they can matter.
bool matters(const Binder& binder, const std::string& pointer) {
  const Scenario& scenario = binder.scenario;
  if (pointer == "/recovery/hang_detection_s") return any_fault(scenario, FaultKind::kHang);
  if (pointer == "/recovery/spare_swap_s") return any_spares(scenario);
  if (pointer.starts_with("/recovery/")) {
    return may_break(scenario);
  }
  if (pointer.starts_with("/prices/")) return scenario.regions.size() > 1;
  const std::vector<std::string> parts = pointer_parts(pointer);
  if (parts.size() == 4 && parts[0] == "protocols" && parts[2] == "grace") {
    return std::any_of(
        scenario.protocols.begin(), scenario.protocols.end(),
        [&](const Protocol& p) { return p.name == parts[1] && p.grace == Grace::kSlack; });
  }
  if (pointer.starts_with("/training/outer/")) {
    return std::any_of(scenario.protocols.begin(), scenario.protocols.end(),
                       [](const Protocol& p) { return p.preset == "decoupled_diloco"; });
  }
  return true;
}

}  // namespace

void check_facts(const Binder& binder) {
  const Scenario& scenario = binder.scenario;
  for (const Protocol& protocol : scenario.protocols) {
    const double rate = steps_per_s(scenario, protocol);
    double span_s = scenario.stop.simulated_s;
    if (scenario.stop.tokens) {
      span_s = std::min(span_s,
                        *scenario.stop.tokens / (scenario.charged.tokens_per_learner_step * rate));
    }
    const double steps = rate * span_s;
    double facts = protocol.exchange ? steps : 0.0;
    if (protocol.exchange && protocol.family == Family::kDiloco) {
      facts *= 1.0 + 4.0 * protocol.fragments / protocol.sync_period_steps;
    }
    for (const Fault& fault : scenario.faults) {
      if (protocol.faults)
        facts += (protocol.exchange ? 3.0 : 8.0) * fault.events_per_s_nominal * span_s;
    }
    if (facts > kMaxFacts) {
      binder.refuse("/stop", "would give at least " + number_text(facts) + " facts (" +
                                 number_text(steps) + " learner steps of " + protocol.name +
                                 "), allowed " + number_text(kMaxFacts));
    }
  }
}

void add_warnings(Binder& binder, const std::vector<std::string>& assumed) {
  warn_places(binder);
  warn_transport(binder);
  warn_model(binder);
  for (const Protocol& protocol : binder.scenario.protocols) {
    warn_protocol(binder, protocol);
    warn_wire(binder, protocol);
  }
  warn_training(binder);
  warn_chance(binder);
  warn_faults_idle(binder);
  auto& warnings = binder.scenario.warnings;
  std::stable_sort(
      warnings.begin(), warnings.end(),
      [](const std::string& a, const std::string& b) { return a.compare(0, 3, b, 0, 3) < 0; });
  for (const std::string& pointer : assumed) {
    if (matters(binder, pointer)) binder.scenario.calibrated_keys.push_back(pointer);
  }
  name_islands_together(binder);
}

}  // namespace skerry::reader

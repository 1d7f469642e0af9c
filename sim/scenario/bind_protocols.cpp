// Rows: presets spelt out, learners chosen, recovery merged.
#include <algorithm>

#include "sim/scenario/bind.hpp"
#include "sim/scenario/bind_wire.hpp"
#include "sim/scenario/presets.hpp"
#include "sim/scenario/spec_parts.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

struct Row {
  const std::string& name;
  std::string pointer;
  Json& entry;
  Protocol& protocol;
};

void bind_preset(const Binder& binder, Row& row) {
  std::string preset = text_at(row.entry, "preset");
  if (preset.empty()) {
    const auto& names = preset_names();
    if (std::find(names.begin(), names.end(), row.name) == names.end()) {
      binder.refuse(row.pointer, "lacks the key 'preset', allowed " + join(names) +
                                     did_you_mean(row.name, names));
    }
    preset = row.name;
  }
  for (const auto& [key, value] : row.entry.items()) {
    const std::string reason = refused_key(preset, key);
    if (!reason.empty()) binder.refuse(under(row.pointer, key), reason);
  }
  row.entry["preset"] = preset;
  row.protocol.name = row.name;
  row.protocol.preset = preset;
  row.protocol.family = is_data_parallel(preset) ? Family::kDataParallel : Family::kDiloco;
  row.protocol.elastic = preset == "data_parallel_elastic" || preset == "best_region";
  row.protocol.ideal_network = preset == "ideal";
  row.protocol.faults = preset != "ideal";
}

// Steps a second of a lock-step job over the learners.
double lock_step_rate(const Scenario& scenario, const std::vector<int>& learners) {
  double slowest_s = 0.0;
  for (const int i : learners) {
    slowest_s = std::max(slowest_s, scenario.learners[static_cast<std::size_t>(i)].step_s);
  }
  return learners.empty() ? 0.0 : static_cast<double>(learners.size()) / slowest_s;
}

// Narrows the learners to those of the region with most tokens a second (ties: first region) and
// says so in the resolved copy.
void choose_best_region(const Binder& binder, Row& row) {
  const Scenario& scenario = binder.scenario;
  if (scenario.regions.empty()) {
    binder.refuse(row.pointer, "best_region needs /regions to choose from");
  }
  std::vector<int> best;
  for (std::size_t region = 0; region < scenario.regions.size(); ++region) {
    std::vector<int> here;
    for (const int i : row.protocol.learners) {
      if (scenario.learners[static_cast<std::size_t>(i)].region == static_cast<int>(region)) {
        here.push_back(i);
      }
    }
    if (lock_step_rate(scenario, here) > lock_step_rate(scenario, best)) best = here;
  }
  row.protocol.learners = best;
  Json names = Json::array();
  for (const int i : best)
    names.push_back(scenario.learners[static_cast<std::size_t>(i)].name);
  row.entry["only_islands"] = names;
}

void bind_learners(const Binder& binder, Row& row) {
  std::vector<std::string> patterns = {"*"};
  if (const Json* only = member(row.entry, "only_islands")) {
    patterns = only->get<std::vector<std::string>>();
  }
  row.protocol.learners = matching_learners(binder, patterns, row.pointer + "/only_islands", true);
  if (row.protocol.preset == "best_region") choose_best_region(binder, row);
}

int first_region(const Binder& binder, const Protocol& protocol) {
  const int first = protocol.learners.front();
  return std::max(0, binder.scenario.learners[static_cast<std::size_t>(first)].region);
}

void bind_places(const Binder& binder, Row& row) {
  Protocol& protocol = row.protocol;
  const Json* syncer = member(row.entry, "syncer");
  const bool central = syncer != nullptr && syncer->is_object();
  if (central) {
    const std::string pointer = row.pointer + "/syncer/central";
    protocol.syncer = SyncerPlace::kCentral;
    protocol.syncer_region =
        region_index(binder, syncer->at("central").get<std::string>(), pointer);
    protocol.all_reduce = AllReduce::kStar;
    protocol.star_region = protocol.syncer_region;
    return;
  }
  protocol.star_region = first_region(binder, protocol);
  protocol.syncer_region = protocol.star_region;
  bind_all_reduce(binder, row.pointer, row.entry, protocol);
}

void bind_grace(const Json& grace, Protocol& protocol) {
  protocol.grace = grace["rule"] == "slack" ? Grace::kSlack : Grace::kOff;
  protocol.grace_margin = number_at(grace, "margin");
  protocol.grace_limit_steps = number_at(grace, "limit_steps");
  protocol.moving_average_weight = number_at(grace, "moving_average_weight");
}

void bind_diloco(const Binder& binder, Row& row) {
  Json& entry = row.entry;
  Protocol& protocol = row.protocol;
  const auto learners = static_cast<std::int64_t>(protocol.learners.size());
  if (entry["quorum"] == "all") entry["quorum"] = learners;
  const std::int64_t quorum = integer_at(entry, "quorum");
  if (quorum > learners) {
    binder.refuse(row.pointer + "/quorum", "found " + std::to_string(quorum) +
                                               ", allowed at most " + std::to_string(learners) +
                                               ", the learners of this protocol");
  }
  bind_schedule(binder, row.pointer, entry, protocol);
  protocol.quorum = static_cast<int>(quorum);
  protocol.in_flight = static_cast<int>(integer_at(entry, "in_flight"));
  protocol.learner_waits =
      entry["learner_waits"] == "never" ? LearnerWaits::kNoWait : LearnerWaits::kAtOverlap;
  protocol.on_loss = entry["on_loss"] == "wait" ? OnLoss::kWait : OnLoss::kContinue;
  bind_grace(entry["grace"], protocol);
}

// Values of the preset for keys that were not written.
void fill_preset(const Binder& binder, Row& row) {
  Json& entry = row.entry;
  const bool central = entry.contains("syncer") && entry["syncer"].is_object();
  if (central && entry.contains("all_reduce")) {
    binder.refuse(row.pointer + "/all_reduce",
                  "has no meaning with a central syncer, which is the hub of a star");
  }
  const bool own_fragments = entry.contains("fragments");
  const bool own_overlap = entry.contains("overlap_steps");
  const bool own_in_flight = entry.contains("in_flight");
  for (const auto& [key, value] : preset_values(row.protocol.preset).items()) {
    if (central && key == "all_reduce") continue;
    if (!entry.contains(key)) entry[key] = value;
  }
  if (row.protocol.family != Family::kDiloco) return;
  const std::int64_t period = integer_at(entry, "sync_period_steps");
  if (!own_fragments) {
    std::int64_t most = std::min(period, integer_at(entry, "fragments"));
    const auto tensors = static_cast<std::int64_t>(binder.scenario.charged.tensors.size());
    if (tensors > 0) most = std::min(most, tensors);
    entry["fragments"] = most;
  }
  if (!own_overlap)
    entry["overlap_steps"] = std::min(period - 1, integer_at(entry, "overlap_steps"));
  if (!own_in_flight && text_at(entry, "channel") == "shared") {
    entry["in_flight"] = integer_at(entry, "overlap_steps") + 1;   // as many as there can be
  }
}

Recovery recovery_of(const Json& given) {
  Recovery recovery;
  recovery.detection_s = number_at(given, "detection_s");
  recovery.hang_detection_s = number_at(given, "hang_detection_s");
  recovery.spare_swap_s = number_at(given, "spare_swap_s");
  recovery.slice_down_s = number_at(given, "slice_down_s");
  recovery.scale_up_s = number_at(given, "scale_up_s");
  recovery.restart_s = number_at(given, "restart_s");
  recovery.resume =
      given["resume"] == "all_slices_back" ? Resume::kAllSlicesBack : Resume::kFromCheckpoint;
  recovery.step_in_progress =
      given["step_in_progress"] == "kept" ? StepInProgress::kKept : StepInProgress::kLost;
  recovery.cut_transfer =
      given["cut_transfer"] == "resume" ? CutTransfer::kResume : CutTransfer::kRestart;
  const std::string rule = text_at(given, "checkpoint_every");
  recovery.checkpoint_rule = rule.empty()      ? CheckpointRule::kPeriod
                             : rule == "daly"  ? CheckpointRule::kDaly
                             : rule == "never" ? CheckpointRule::kNone
                                               : CheckpointRule::kYoung;
  recovery.checkpoint_every_s = number_at(given, "checkpoint_every_s");
  recovery.checkpoint_save_s = number_at(given, "checkpoint_save_s");
  recovery.checkpoint_restore_s = number_at(given, "checkpoint_restore_s");
  recovery.rejoin_from =
      given["rejoin_from"] == "peer" ? RejoinFrom::kPeer : RejoinFrom::kSyncer;
  recovery.donors = static_cast<int>(integer_at(given, "donors"));
  recovery.limit_steps = static_cast<int>(number_at(given, "limit_steps", 0.0));
  const std::string late = text_at(given, "when_late");
  recovery.when_late = late == "admit"    ? WhenLate::kAdmit
                       : late == "refuse" ? WhenLate::kRefuse
                                          : WhenLate::kFreshInnerState;
  recovery.snapshot_every_steps = static_cast<int>(number_at(given, "snapshot_every_steps", 0.0));
  return recovery;
}

void bind_recovery(const Binder& binder, Row& row) {
  Json shared = binder.document["recovery"];
  shared.erase("about");
  if (row.protocol.preset == "ideal") {
    row.protocol.recovery = recovery_of(shared);
    return;
  }
  static const NodePtr spec = recovery_spec(false);
  Json merged = row.entry.contains("recovery") ? row.entry["recovery"] : Json::object();
  fill_from(*spec, merged, shared);
  row.protocol.recovery = recovery_of(merged);
}

void bind_exchange(const Binder& binder, Row& row) {
  row.protocol.exchange = text_at(row.entry, "exchange") != "off";
  if (row.protocol.exchange || !binder.document["training"].is_object()) return;
  binder.refuse(row.pointer + "/exchange",
                "found \"off\", allowed on with training: without exchange nothing is merged "
                "(or set /training to false)");
}

// Every ordered pair of regions that a row may send between needs a route.
void check_routes(const Binder& binder, const Row& row) {
  const Scenario& scenario = binder.scenario;
  if (row.protocol.ideal_network || scenario.regions.empty()) return;
  std::set<int> used;
  for (const int i : row.protocol.learners) {
    used.insert(scenario.learners[static_cast<std::size_t>(i)].region);
  }
  if (row.protocol.all_reduce == AllReduce::kStar) used.insert(row.protocol.star_region);
  if (row.protocol.syncer == SyncerPlace::kCentral) used.insert(row.protocol.syncer_region);
  const std::size_t count = scenario.regions.size();
  std::vector<bool> route(count * count, false);
  for (const Link& link : scenario.links) {
    route[static_cast<std::size_t>(link.from) * count + static_cast<std::size_t>(link.to)] = true;
  }
  for (const int from : used) {
    for (const int to : used) {
      const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
      if (from == to || route[f * count + t]) continue;
      const std::string& a = scenario.regions[f].name;
      const std::string& b = scenario.regions[t].name;
      binder.refuse("/links", "no route between " + a + " and " + b + ", which " + row.name +
                                  " uses: give /links/" + a + "<>" + b + "/latency_one_way_ms");
    }
  }
}

void bind_baseline(Binder& binder) {
  Scenario& scenario = binder.scenario;
  std::vector<std::string> names;
  for (const Protocol& protocol : scenario.protocols)
    names.push_back(protocol.name);
  const std::string wanted = text_at(binder.document, "baseline");
  if (!wanted.empty()) {
    const auto found = std::find(names.begin(), names.end(), wanted);
    if (found == names.end()) {
      binder.refuse("/baseline", "found the unknown protocol '" + wanted + "', allowed " +
                                     join(names) + did_you_mean(wanted, names));
    }
    scenario.baseline = static_cast<int>(found - names.begin());
  } else {
    for (std::size_t i = names.size(); i-- > 0;) {
      const std::string& preset = scenario.protocols[i].preset;
      if (preset == "data_parallel" || preset == "data_parallel_elastic") {
        scenario.baseline = static_cast<int>(i);
      }
    }
  }
  binder.document["baseline"] = names[static_cast<std::size_t>(scenario.baseline)];
}

}  // namespace

void bind_protocols(Binder& binder) {
  for (const auto& item : binder.document["protocols"].items()) {
    const std::string name = item.key();
    Protocol& protocol = binder.scenario.protocols.emplace_back();
    Row row{name, under("/protocols", name), item.value(), protocol};
    bind_preset(binder, row);
    bind_learners(binder, row);
    fill_preset(binder, row);
    bind_places(binder, row);
    if (protocol.family == Family::kDiloco) bind_diloco(binder, row);
    bind_anatomy(binder, row.pointer, row.entry, protocol);
    bind_wire(binder, row.pointer, row.entry, protocol);
    bind_exchange(binder, row);
    bind_recovery(binder, row);
    check_routes(binder, row);
  }
  bind_baseline(binder);
}

}  // namespace skerry::reader

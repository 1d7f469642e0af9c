#include "sim/protocols/diloco.hpp"

#include <algorithm>

namespace skerry {

namespace {

// Fragment p is due when t mod H is its offset t_p: slots[p], or evenly spread floor(p·H/P).
// → by t mod H, the fragment due (−1 = none) and the number of clocks since one was.
void fill_due_tables(const Protocol& row, std::vector<int>* due, std::vector<int>* back) {
  const std::int64_t period = row.sync_period_steps;
  due->assign(static_cast<std::size_t>(period), -1);
  back->assign(static_cast<std::size_t>(period), 0);
  int last = 0;   // of the period before
  for (int p = 0; p < row.fragments; ++p) {
    const auto i = static_cast<std::size_t>(p);
    const int slot =
        row.due_slots.empty() ? static_cast<int>(p * period / row.fragments) : row.due_slots[i];
    (*due)[static_cast<std::size_t>(slot)] = p;
    last = std::max(last, slot);
  }
  int since = static_cast<int>(period) - last;
  for (std::size_t slot = 0; slot < due->size(); ++slot, ++since) {
    if ((*due)[slot] >= 0) since = 0;
    (*back)[slot] = since;
  }
}

std::vector<double> state_bytes(const ChargedModel& model, const Protocol& row) {
  std::vector<double> bytes = fragment_parameters(model, row);
  for (double& b : bytes) b = b * model.wire_bits_per_parameter / 8.0;
  return bytes;
}

bool regions_can_fail(const Scenario& scenario) {
  const auto hits = [](FaultKind kind) {
    return kind == FaultKind::kRegionDark || kind == FaultKind::kLinkCut ||
           kind == FaultKind::kShardLost || kind == FaultKind::kPartition;
  };
  return std::any_of(scenario.faults.begin(), scenario.faults.end(),
                     [&](const Fault& fault) { return hits(fault.kind); }) ||
         std::any_of(scenario.plan.begin(), scenario.plan.end(),
                     [&](const PlanLine& line) { return hits(line.kind); });
}

}  // namespace

Diloco::Diloco(World& world)
    : w_(world),
      p_(world.protocol),
      fragment_bytes_(state_bytes(world.scenario.charged, world.protocol)),
      pieces_(exchange_pieces(world.scenario.charged, world.protocol)),
      states_(world.scenario.learners.size()),
      reports_(world.scenario.learners.size()),
      version_(static_cast<std::size_t>(world.protocol.fragments), 0),
      regions_can_fail_(world.protocol.faults && regions_can_fail(world.scenario)),
      in_ring_(world.scenario.regions.size() + 1, 1),
      known_versions_(world.scenario.regions.size() + 1),
      report_arrived_(world.engine, "reports"),
      round_ended_(world.engine, "a round in flight to end"),
      wire_event_(world.engine, "the wire"),
      ring_changed_(world.engine, "a shard in contact"),
      peers_changed_(world.engine, "a peer with state") {
  double total = 0;
  for (double bytes : fragment_bytes_) total += bytes;
  for (double bytes : fragment_bytes_) {
    fragment_share_.push_back(total > 0 ? bytes / total : 1.0 / p_.fragments);
  }
  fill_due_tables(p_, &due_table_, &back_table_);
  most_rounds_ = std::max(1, p_.overlap_steps + (p_.anatomy == Anatomy::kWholeStep ? 0 : 1));
  for (const auto& pieces : pieces_) first_ready_ = std::min(first_ready_, pieces.front().ready);
  first_start_s_ = kNever;
  for (int m : p_.learners) {
    first_start_s_ = std::min(first_start_s_, w_.learner(m).start_s);
    LearnerState& me = at(m);
    me.counters.resize(static_cast<std::size_t>(p_.fragments));
    me.delivered = std::make_unique<Signal>(w_.engine, "a fragment for " + w_.learner(m).name);
    step_ema_s_ += w_.step_s(m) / static_cast<double>(p_.learners.size());
    const int region = w_.learner(m).region;
    if (std::find(regions_.begin(), regions_.end(), region) == regions_.end()) {
      regions_.push_back(region);
    }
  }
  double bytes = 0;
  for (const Piece& piece : pieces_.front()) bytes += piece.bytes;
  sync_ema_s_ = ideal_seconds(w_.scenario, exchange(bytes, p_.learners));
  for (int m : p_.learners) {
    at(m).island = Process(w_.engine, w_.learner(m).name + " (island)", island(m));
  }
  std::vector<int> watched = regions_;
  if (p_.syncer == SyncerPlace::kCentral &&
      std::find(watched.begin(), watched.end(), p_.syncer_region) == watched.end()) {
    watched.push_back(p_.syncer_region);
  }
  for (int region : watched) {
    if (regions_can_fail_ && region >= 0 && p_.exchange) {
      const std::string& name = w_.scenario.regions[static_cast<std::size_t>(region)].name;
      shards_.emplace_back(w_.engine, name + " (shards)", shard(region));
    }
  }
  if (p_.exchange) syncer_ = Process(w_.engine, "syncer", syncer());
  w_.engine.explain_deadlock([this] { return waits(); });
}

Diloco::~Diloco() {
  syncer_.kill();
  rounds_.clear();
  shards_.clear();
  for (LearnerState& state : states_) {
    state.island.kill();
    state.life.kill();
  }
}

std::string Diloco::waits() const {
  if (!p_.exchange) return p_.name + ": every learner waits for its chips";
  std::string text = p_.name + ": the syncer has " + std::to_string(reports_now_) + " of " +
                     std::to_string(quorum_now()) + " reports for clock " +
                     std::to_string(closed_clock_ + 1);
  std::string missing;
  for (int m : p_.learners) {
    if (reported(m, closed_clock_ + 1)) continue;
    missing += (missing.empty() ? "" : ", ") + w_.learner(m).name;
    if (!at(m).joined) missing += w_.fleet.up(m) ? " (recovering)" : " (down)";
  }
  return missing.empty() ? text : text + " and waits for " + missing;
}

}  // namespace skerry

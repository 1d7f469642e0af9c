// Which regions' shards take part in an exchange, and with how many bytes: what a tape says of the
// rings of a DiLoCo row. Faults and detection date when a region leaves its ring. No fact dates its
// return: it is read off what follows from it (see RingDates).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/cost/anatomy.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

// A fault on ports, links or shards that begins (by +1) or ends (−1).
struct WireChange {
  PlanLine line;  // at_s, kind, target, factor
  int by = 0;
};
// In order of dates; a repair without a fault that it could end is left out.
std::vector<WireChange> wire_changes(const Tape& tape);

// Of a region whose shards were out of the ring over [left, joined); reachable again since `back`.
// joined and back: kNever when they never were again.
struct AwayFromRing {
  double left = 0.0, back = 0.0, joined = 0.0;
};

// A region that comes back takes part again when it has fetched what it missed. Not before an idle
// wire could have brought that, not after its learners take or ask for something; within these two
// an exchange that begins anew tells the date, and without one no exchange was under way.
class RingDates {
 public:
  // Requires check_tape_fits. Nothing is ever away in a data-parallel row, without regions or
  // exchange.
  RingDates(const Scenario& scenario, const Protocol& row, const Tape& tape);
  bool in_ring(int region, double t) const;  // what changes at t has changed
  const std::vector<AwayFromRing>& away(int region) const {
    return away_[static_cast<std::size_t>(region)];
  }

 private:
  std::vector<std::vector<AwayFromRing>> away_;  // by region, ascending
};

// The bytes of one exchange by link (index into Scenario::links), whole bytes a flow as the network
// has them.
using BytesByLink = std::map<int, double>;

// Link and bytes of a learner's state from one peer in another region; nothing for a copy within
// the region, from several peers (whose parts the tape does not tell) or from the shard beside it.
std::optional<std::pair<int, double>> copy_over_link(const Scenario& scenario, const Protocol& row,
                                                     const fact::Copy& f);

// Exchanges of a row, read off the facts in their order.
class Exchanges {
 public:
  Exchanges(const Scenario& scenario, const Protocol& row, const RingDates& ring);

  struct Ended {
    double began = 0.0;        // its last attempt
    std::vector<int> regions;  // of the shards that took part; ascending
    const BytesByLink* bytes = nullptr;
  };
  struct Unknown {  // attempts that did not end, or not yet: some of their bytes moved
    double t0 = 0.0, t1 = 0.0;
  };

  void read(const fact::Close& f);
  void read(const fact::Weigh& f);
  void read(const fact::Abandon& f);
  Ended read(const fact::Merge& f);

  // One step of a data-parallel row with these members (learners in their order).
  const BytesByLink& gradient(const std::vector<int>& learners);

  std::vector<Unknown> unknown(double end) const;  // after the last fact, which was at `end`

 private:
  struct Round {
    double closed = 0.0, attempt = -1.0;  // its last attempt began; −1: it has had one only
    std::set<int> merged;
  };
  const BytesByLink& bytes(std::size_t fragment, const std::vector<int>& members,
                           const std::vector<int>& merged);

  const Scenario& s_;
  const Protocol& p_;
  const RingDates& ring_;
  bool sends_ = false;
  std::vector<std::vector<Piece>> pieces_;
  std::map<std::pair<std::int64_t, int>, Round> open_;
  std::vector<Unknown> unknown_;
  std::map<std::vector<int>, BytesByLink> known_;  // by fragment, regions of members, of merged
};

}  // namespace skerry

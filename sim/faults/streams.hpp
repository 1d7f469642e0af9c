// The random faults of one run: renewal streams and the order in which their next faults fall. Used
// by FaultSource (faults.hpp says what each stream is drawn from).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/faults/draw.hpp"
#include "sim/scenario/scenario.hpp"

namespace skerry {

// One entry of a heap, earliest on top; ties go to the earlier stream.
struct Arrival {
  double at = 0.0;
  int stream = 0;
  std::uint32_t freezes = 0;
  bool operator>(const Arrival& other) const {
    return at != other.at ? at > other.at : stream > other.stream;
  }
};
using ArrivalHeap = std::vector<Arrival>;

class FaultStreams {
 public:
  struct Drawn {
    double at = 0.0;      // date or axis value
    double away_s = 0.0;  // of this fault
    int fault = 0;        // index into Scenario::faults
    int first_target = 0;
    int targets = 1;  // consecutive ones that fail together
  };

  explicit FaultStreams(const Scenario& scenario);

  // A stream for targets [first, first + targets) of a fault; its first arrival goes into `heap`.
  int add(std::uint64_t seed, int fault, int first, int targets, ArrivalHeap& heap);

  int fault_of(const Arrival& arrival) const { return at(arrival.stream).fault; }

  // Takes the earliest arrival and pushes the next of its stream. Requires a heap that is not
  // empty.
  Drawn pop(ArrivalHeap& heap);

  // Stops and goes on with what is left of a stream's gap; idempotent. Freezing only marks: the
  // arrival stays in its heap until drop_stale finds it on top.
  void freeze(int stream, double axis);
  void thaw(int stream, double axis, ArrivalHeap& heap);
  void drop_stale(ArrivalHeap& heap) const;

 private:
  // A chip or host that ages by itself. `next` counts the age of its target, which stands still
  // while the target is away.
  struct Unit {
    RandomStream random;
    double mean_s;
    double next;
    bool operator>(const Unit& other) const { return next > other.next; }
  };
  struct Stream {
    RandomStream random;  // of its own faults, when it has no units
    double mean_s = 0.0;  // of its own gaps
    double next = 0.0;    // date or axis value of its next fault; what is left of it when frozen
    std::int64_t first_unit = 0;  // in units_, a heap by `next`
    std::int32_t units = 0;
    int fault = 0;
    int target = 0;
    int targets = 1;
    std::uint32_t freezes = 0;  // arrivals in a heap made before the last freeze are stale
    bool frozen = false;
  };

  const Stream& at(int stream) const { return streams_[static_cast<std::size_t>(stream)]; }
  void add_units(std::uint64_t seed, const Fault& fault, const Target& target, Stream& stream);
  double drawn_of_unit(const Fault& fault, Stream& stream);
  void push(ArrivalHeap& heap, int stream);

  const Scenario* scenario_;
  std::vector<LawDraw> gaps_, aways_;  // per fault
  std::vector<Stream> streams_;        // in order of faults, then of targets
  std::vector<Unit> units_;
};

}  // namespace skerry

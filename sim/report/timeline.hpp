// One run on one time axis: trace events that Perfetto's page and chrome://tracing load.
//
// A process a region; in it a track a learner (steps, waits, recoveries), lanes of its syncer
// shards (merges) and of the links that leave it (transfers). Arrows lead from a learner's copy of
// a fragment to the merge and on to each learner that it overwrites. Instants are faults, counters
// the participants of collections, the share of chips that step and the mean rates of links. Dates
// are in microseconds of simulated time. Without regions there is one process, "everywhere".
//
// Merges and transfers are of the regions in the ring of that exchange (timeline_ring.hpp), over
// its last attempt, and the counters of links add up to the bytes of the tape (timeline_links.hpp).
#pragma once

#include <cstddef>
#include <string>

#include "sim/scenario/scenario.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

// Each holds all of the one before. faults: faults, waits and recoveries, stretches of steps as one
// slice, counters. syncs: merges and arrows. steps: every step a slice of its own. transfers: flows
// on links.
enum class TimelineLevel { kFaults, kSyncs, kSteps, kTransfers };
inline constexpr std::size_t kMostTimelineEvents = 1'000'000;

struct TimelineOptions {
  TimelineLevel level = TimelineLevel::kTransfers;
  double from_s = 0.0;  // only what touches [from_s, until_s]
  double until_s = kNever;
  std::size_t most_events = kMostTimelineEvents;
};

struct TimelineWritten {
  TimelineLevel level = TimelineLevel::kFaults;  // the most detailed one asked for that fits
  std::size_t events = 0;
  std::string left_out;  // a sentence; empty when nothing was
  std::string about;  // what the link counters show that the tape does not date; empty when nothing
};

// The text goes to `sink` in parts. Requires check_tape_fits; `protocol` is the tape's. BadInput
// when not even level faults fits, or from_s is behind the end of the run (--from, --until).
TimelineWritten write_timeline(const Scenario& scenario, const Protocol& protocol, const Tape& tape,
                               const TimelineOptions& options, const TapeSink& sink);

const char* level_name(TimelineLevel level);

}  // namespace skerry

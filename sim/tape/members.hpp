// The file's vocabulary: for every fact its name and its members in the order in which they are
// written. Writer and reader go through the same lists, so neither can know a member that the other
// does not.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>

#include "sim/tape/fact.hpp"

namespace skerry::tape_file {

// What a member may hold besides its type's plain values.
enum class Range {
  kPlain,         // doubles: finite; integers: ≥ 0
  kMayBeForever,  // doubles: +∞ too, as null
  kMayBeMissing,  // integers: −1 too
};

template <class Fact, class Value>
struct Member {
  std::string_view lead;  // ,"name":
  Value Fact::*place;
  Range range;
};

#define SKERRY_MEMBER_IN(kind, name, range)        \
  Member<fact::kind, decltype(fact::kind::name)> { \
    ",\"" #name "\":", &fact::kind::name, range    \
  }
#define SKERRY_MEMBER(kind, name) SKERRY_MEMBER_IN(kind, name, Range::kPlain)

template <class Fact>
struct Kind;  // name, members

template <>
struct Kind<fact::Start> {
  static constexpr std::string_view name = "start";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(Start, protocol), SKERRY_MEMBER(Start, seed),
                 SKERRY_MEMBER(Start, scenario_hash), SKERRY_MEMBER(Start, horizon_steps)};
};

template <>
struct Kind<fact::Steps> {
  static constexpr std::string_view name = "steps";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(Steps, t0),        SKERRY_MEMBER(Steps, t1),
                 SKERRY_MEMBER(Steps, compute_s), SKERRY_MEMBER(Steps, straggler_wait_s),
                 SKERRY_MEMBER(Steps, exposed_s), SKERRY_MEMBER(Steps, tokens),
                 SKERRY_MEMBER(Steps, first),     SKERRY_MEMBER(Steps, n),
                 SKERRY_MEMBER(Steps, learner),   SKERRY_MEMBER(Steps, slices_away)};
};

template <>
struct Kind<fact::Phase> {
  static constexpr std::string_view name = "phase";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(Phase, t0), SKERRY_MEMBER(Phase, t1), SKERRY_MEMBER(Phase, learner),
                 SKERRY_MEMBER(Phase, slices_away), SKERRY_MEMBER(Phase, cause)};
};

template <>
struct Kind<fact::CutStep> {
  static constexpr std::string_view name = "cut_step";
  static constexpr auto members = std::tuple{
      SKERRY_MEMBER(CutStep, t0), SKERRY_MEMBER(CutStep, t1), SKERRY_MEMBER(CutStep, learner),
      SKERRY_MEMBER(CutStep, slices_away), SKERRY_MEMBER(CutStep, lost)};
};

template <>
struct Kind<fact::Lost> {
  static constexpr std::string_view name = "lost";
  static constexpr auto members = std::tuple{
      SKERRY_MEMBER(Lost, t), SKERRY_MEMBER(Lost, steps), SKERRY_MEMBER(Lost, chip_seconds),
      SKERRY_MEMBER(Lost, tokens), SKERRY_MEMBER(Lost, learner)};
};

template <>
struct Kind<fact::FaultHit> {
  static constexpr std::string_view name = "fault";
  static constexpr auto members = std::tuple{
      SKERRY_MEMBER(FaultHit, t),      SKERRY_MEMBER_IN(FaultHit, until, Range::kMayBeForever),
      SKERRY_MEMBER(FaultHit, factor), SKERRY_MEMBER(FaultHit, kind),
      SKERRY_MEMBER(FaultHit, target), SKERRY_MEMBER(FaultHit, source)};
};

template <>
struct Kind<fact::Repaired> {
  static constexpr std::string_view name = "repaired";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(Repaired, t), SKERRY_MEMBER(Repaired, kind),
                 SKERRY_MEMBER(Repaired, target), SKERRY_MEMBER(Repaired, source)};
};

template <>
struct Kind<fact::Close> {
  static constexpr std::string_view name = "close";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(Close, t),
                 SKERRY_MEMBER(Close, waited_s),
                 SKERRY_MEMBER(Close, grace_s),
                 SKERRY_MEMBER(Close, clock),
                 SKERRY_MEMBER_IN(Close, fragment, Range::kMayBeMissing),
                 SKERRY_MEMBER(Close, participants)};
};

template <>
struct Kind<fact::Pull> {
  static constexpr std::string_view name = "pull";
  static constexpr auto members = std::tuple{
      SKERRY_MEMBER(Pull, t), SKERRY_MEMBER(Pull, clock), SKERRY_MEMBER(Pull, pulled_step),
      SKERRY_MEMBER(Pull, learner), SKERRY_MEMBER(Pull, fragment)};
};

template <>
struct Kind<fact::Weigh> {
  static constexpr std::string_view name = "weigh";
  static constexpr auto members = std::tuple{
      SKERRY_MEMBER(Weigh, clock),  SKERRY_MEMBER(Weigh, c_steps), SKERRY_MEMBER(Weigh, c_tokens),
      SKERRY_MEMBER(Weigh, weight), SKERRY_MEMBER(Weigh, learner), SKERRY_MEMBER(Weigh, fragment)};
};

template <>
struct Kind<fact::Merge> {
  static constexpr std::string_view name = "merge";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(Merge, t), SKERRY_MEMBER(Merge, began), SKERRY_MEMBER(Merge, clock),
                 SKERRY_MEMBER(Merge, fragment), SKERRY_MEMBER(Merge, participants)};
};

template <>
struct Kind<fact::OuterStep> {
  static constexpr std::string_view name = "outer_step";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(OuterStep, t), SKERRY_MEMBER(OuterStep, clock),
                 SKERRY_MEMBER(OuterStep, fragment)};
};

template <>
struct Kind<fact::Overwrite> {
  static constexpr std::string_view name = "overwrite";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(Overwrite, t),
                 SKERRY_MEMBER(Overwrite, clock),
                 SKERRY_MEMBER(Overwrite, step),
                 SKERRY_MEMBER_IN(Overwrite, pulled_step, Range::kMayBeMissing),
                 SKERRY_MEMBER(Overwrite, learner),
                 SKERRY_MEMBER(Overwrite, fragment),
                 SKERRY_MEMBER(Overwrite, participated)};
};

template <>
struct Kind<fact::Abandon> {
  static constexpr std::string_view name = "abandon";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(Abandon, t), SKERRY_MEMBER(Abandon, clock),
                 SKERRY_MEMBER(Abandon, fragment), SKERRY_MEMBER(Abandon, restarted)};
};

template <>
struct Kind<fact::Copy> {
  static constexpr std::string_view name = "copy";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(Copy, t),       SKERRY_MEMBER(Copy, donor_step),
                 SKERRY_MEMBER(Copy, learner), SKERRY_MEMBER_IN(Copy, donor, Range::kMayBeMissing),
                 SKERRY_MEMBER(Copy, began),   SKERRY_MEMBER(Copy, age_steps)};
};

template <>
struct Kind<fact::Join> {
  static constexpr std::string_view name = "join";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(Join, t), SKERRY_MEMBER(Join, step), SKERRY_MEMBER(Join, learner)};
};

template <>
struct Kind<fact::Leave> {
  static constexpr std::string_view name = "leave";
  static constexpr auto members = std::tuple{SKERRY_MEMBER(Leave, t), SKERRY_MEMBER(Leave, step),
                                             SKERRY_MEMBER(Leave, learner)};
};

template <>
struct Kind<fact::Reduce> {
  static constexpr std::string_view name = "reduce";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(Reduce, t0), SKERRY_MEMBER(Reduce, first), SKERRY_MEMBER(Reduce, n),
                 SKERRY_MEMBER(Reduce, learners)};
};

template <>
struct Kind<fact::Save> {
  static constexpr std::string_view name = "save";
  static constexpr auto members = std::tuple{SKERRY_MEMBER(Save, t), SKERRY_MEMBER(Save, step)};
};

template <>
struct Kind<fact::RollBack> {
  static constexpr std::string_view name = "roll_back";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(RollBack, t), SKERRY_MEMBER(RollBack, to_step)};
};

template <>
struct Kind<fact::Snapshot> {
  static constexpr std::string_view name = "snapshot";
  static constexpr auto members = std::tuple{
      SKERRY_MEMBER(Snapshot, t), SKERRY_MEMBER(Snapshot, began), SKERRY_MEMBER(Snapshot, clock)};
};

template <>
struct Kind<fact::Wire> {
  static constexpr std::string_view name = "wire";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(Wire, name), SKERRY_MEMBER(Wire, bytes),
                 SKERRY_MEMBER_IN(Wire, capacity_bytes, Range::kMayBeForever)};
};

template <>
struct Kind<fact::Control> {
  static constexpr std::string_view name = "control";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(Control, name), SKERRY_MEMBER(Control, sent),
                 SKERRY_MEMBER(Control, timed_out)};
};

template <>
struct Kind<fact::End> {
  static constexpr std::string_view name = "end";
  static constexpr auto members =
      std::tuple{SKERRY_MEMBER(End, t), SKERRY_MEMBER(End, tokens), SKERRY_MEMBER(End, reason)};
};

#undef SKERRY_MEMBER
#undef SKERRY_MEMBER_IN

inline constexpr std::string_view kFormat = ",\"skerry\":\"tape/1\"";  // of the first line only

// Names of the enumerations, in the order of their values.
inline constexpr std::array<std::string_view, 11> kFaultNames{
    "slice_down", "island_down", "region_dark", "link_cut",     "link_slow", "straggler",
    "hang",       "shard_lost",  "corruption",  "storage_slow", "partition"};
inline constexpr std::array<std::string_view, 6> kTargetNames{"slice", "learner", "region",
                                                              "port",  "link",    "storage"};

// Characters of a name in the file: what JSON needs no escape for.
inline constexpr bool is_plain(char c) {
  return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

// A double as the file writes it, into `to` (at least 32 bytes); returns its end.
char* write_double(char* to, double value);

}  // namespace skerry::tape_file

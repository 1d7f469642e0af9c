// Tapes with random facts of every kind, and their comparison bit for bit.
#pragma once

#include <bit>
#include <cmath>
#include <string>
#include <tuple>

#include "sim/base/random.hpp"
#include "sim/tape/members.hpp"
#include "sim/tape/tape.hpp"

namespace skerry::test {

// Any finite double: whole, short, of 17 digits, tiny, huge, signed zero, or any bits at all.
inline double any_double(RandomStream& random) {
  switch (random.below(8)) {
    case 0:
      return 0.0;
    case 1:
      return -0.0;
    case 2:
      return static_cast<double>(random.below(2'000'000));
    case 3:
      return static_cast<double>(random.below(10'000)) / 100.0;
    case 4:
      return random.exponential();
    case 5:
      return 0x1.0p53 + static_cast<double>(random.below(16)) -
             8.0;  // where whole numbers get gaps
    case 6:
      return static_cast<double>(random.bits());
    default:
      break;
  }
  const double d = std::bit_cast<double>(random.bits());
  return std::isfinite(d) ? d : 1.0;
}

inline std::string any_name(RandomStream& random) {
  std::string name;
  const std::uint64_t size = random.below(20);
  while (name.size() < size) {
    const char c = static_cast<char>(' ' + random.below(95));
    if (tape_file::is_plain(c)) name += c;
  }
  return name;
}

inline void fill(double& v, tape_file::Range range, RandomStream& random) {
  const bool forever = range == tape_file::Range::kMayBeForever && random.below(3) == 0;
  v = forever ? kNever : any_double(random);
}
template <class Int>
requires(std::is_same_v<Int, int> ||
         std::is_same_v<Int, std::int64_t>) void fill(Int& v, tape_file::Range range,
                                                      RandomStream& random) {
  const bool missing = range == tape_file::Range::kMayBeMissing && random.below(3) == 0;
  const auto largest = static_cast<std::uint64_t>(std::numeric_limits<Int>::max());
  v = missing ? -1 : static_cast<Int>(random.below(random.below(2) == 0 ? 30 : largest) + 1);
}
inline void fill(std::uint64_t& v, tape_file::Range, RandomStream& random) {
  v = random.bits();
}
inline void fill(bool& v, tape_file::Range, RandomStream& random) {
  v = random.below(2) == 0;
}
inline void fill(std::string& v, tape_file::Range, RandomStream& random) {
  v = any_name(random);
}
inline void fill(Cause& v, tape_file::Range, RandomStream& random) {
  v = static_cast<Cause>(random.below(kCauseNames.size()));
}
inline void fill(FaultKind& v, tape_file::Range, RandomStream& random) {
  v = static_cast<FaultKind>(random.below(tape_file::kFaultNames.size()));
}
inline void fill(Target& v, tape_file::Range range, RandomStream& random) {
  v.kind = static_cast<TargetKind>(random.below(tape_file::kTargetNames.size()));
  fill(v.index, range, random);
  fill(v.part, range, random);
}

template <class F>
F any_fact(RandomStream& random) {
  F f;
  std::apply([&](const auto&... member) { (fill(f.*member.place, member.range, random), ...); },
             tape_file::Kind<F>::members);
  return f;
}

template <std::size_t I = 0>
void add_any(Tape& tape, std::uint64_t kind, RandomStream& random) {
  if constexpr (I < std::variant_size_v<Fact>) {
    if (kind != I) return add_any<I + 1>(tape, kind, random);
    tape.add(any_fact<std::variant_alternative_t<I, Fact>>(random));
  }
}

// `facts` facts, going through the kinds in turn.
inline Tape any_tape(std::uint64_t seed, std::uint64_t facts) {
  RandomStream random(seed, "any tape", 0);
  Tape tape;
  tape.start = any_fact<fact::Start>(random);
  for (std::uint64_t i = 0; i < facts; ++i)
    add_any(tape, i % std::variant_size_v<Fact>, random);
  for (std::uint64_t i = random.below(4); i > 0; --i) {
    tape.wires.push_back(any_fact<fact::Wire>(random));
  }
  for (std::uint64_t i = random.below(4); i > 0; --i) {
    tape.controls.push_back(any_fact<fact::Control>(random));
    fact::Control& control = tape.controls.back();
    if (control.timed_out > control.sent) std::swap(control.timed_out, control.sent);
  }
  tape.end = any_fact<fact::End>(random);
  return tape;
}

template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
inline bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
inline bool same(const Target& a, const Target& b) {
  return a.kind == b.kind && a.index == b.index && a.part == b.part;
}

template <class F>
bool same_fact(const F& a, const F& b) {
  return std::apply(
      [&](const auto&... member) { return (same(a.*member.place, b.*member.place) && ...); },
      tape_file::Kind<F>::members);
}

inline bool same_tape(const Tape& a, const Tape& b) {
  if (!same_fact(a.start, b.start) || !same_fact(a.end, b.end)) return false;
  if (a.facts.size() != b.facts.size() || a.wires.size() != b.wires.size() ||
      a.controls.size() != b.controls.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.controls.size(); ++i) {
    if (!same_fact(a.controls[i], b.controls[i])) return false;
  }
  for (std::size_t i = 0; i < a.wires.size(); ++i) {
    if (!same_fact(a.wires[i], b.wires[i])) return false;
  }
  for (std::size_t i = 0; i < a.facts.size(); ++i) {
    const bool equal =
        a.facts[i].index() == b.facts[i].index() &&
        std::visit([&]<class F>(const F& f) { return same_fact(f, std::get<F>(b.facts[i])); },
                   a.facts[i]);
    if (!equal) return false;
  }
  return true;
}

}  // namespace skerry::test

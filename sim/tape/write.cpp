#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/tape/members.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

namespace tape_file {

// Whole numbers go through the integer path: shorter to read than 1e+05, and several times faster.
char* write_double(char* to, double value) {
  constexpr double kExact = 0x1.0p53;
  if (value > -kExact && value < kExact) {
    const auto whole = static_cast<std::int64_t>(value);
    if (static_cast<double>(whole) == value && !(whole == 0 && std::signbit(value))) {
      return std::to_chars(to, to + 32, whole).ptr;
    }
  }
  return std::to_chars(to, to + 32, value).ptr;
}

}  // namespace tape_file

namespace {

// Lines go into a block of plain memory first: appending each piece to a string would cost more
// than the digits do.
class Writer {
 public:
  explicit Writer(const TapeSink& sink) : sink_(sink) {}

  template <class F>
  void line(const F& f, std::string_view after_name = {}) {
    if (free_ > block_.data() + block_.size() - kLongestLine) flush();
    put("{\"f\":\"");
    put(tape_file::Kind<F>::name);
    put("\"");
    put(after_name);
    std::apply([&](const auto&... member) { (write(f, member), ...); },
               tape_file::Kind<F>::members);
    put("}\n");
  }

  void flush() {
    sink_({block_.data(), static_cast<std::size_t>(free_ - block_.data())});
    free_ = block_.data();
  }

 private:
  // Without its names: at most 10 members of 32 bytes of name and 32 of value.
  static constexpr std::size_t kLongestLine = 1024;

  void put(std::string_view piece) { free_ = std::copy(piece.begin(), piece.end(), free_); }

  template <class F, class Value>
  void write(const F& f, const tape_file::Member<F, Value>& member) {
    put(member.lead);
    value(f.*member.place, member.range, member.lead);
  }

  void value(double v, tape_file::Range range, std::string_view lead) {
    if (std::isfinite(v)) {
      free_ = tape_file::write_double(free_, v);
      return;
    }
    SKERRY_CHECK(range == tape_file::Range::kMayBeForever && v > 0.0,
                 "a fact has a number that is not finite" + std::string(lead));
    put("null");
  }

  void value(std::int64_t v, tape_file::Range range, std::string_view lead) {
    SKERRY_CHECK(v >= (range == tape_file::Range::kMayBeMissing ? -1 : 0),
                 "a fact has " + std::to_string(v) + std::string(lead));
    free_ = std::to_chars(free_, free_ + 24, v).ptr;
  }
  void value(int v, tape_file::Range range, std::string_view lead) {
    value(std::int64_t{v}, range, lead);
  }
  void value(std::uint64_t v, tape_file::Range, std::string_view) {
    free_ = std::to_chars(free_, free_ + 24, v).ptr;
  }
  void value(bool v, tape_file::Range, std::string_view) { put(v ? "true" : "false"); }

  void value(const std::string& v, tape_file::Range, std::string_view) {
    for (const char c : v)
      SKERRY_CHECK(tape_file::is_plain(c), "name in a fact: " + v);
    put("\"");
    flush();
    sink_(v);  // of any length
    put("\"");
  }

  void value(Cause v, tape_file::Range, std::string_view) {
    quoted(kCauseNames.at(static_cast<std::size_t>(v)));
  }
  void value(FaultKind v, tape_file::Range, std::string_view) {
    quoted(tape_file::kFaultNames.at(static_cast<std::size_t>(v)));
  }

  void value(const Target& v, tape_file::Range range, std::string_view lead) {
    put("{\"kind\":");
    quoted(tape_file::kTargetNames.at(static_cast<std::size_t>(v.kind)));
    put(",\"index\":");
    value(v.index, range, lead);
    put(",\"part\":");
    value(v.part, range, lead);
    put("}");
  }

  void quoted(std::string_view v) {
    put("\"");
    put(v);
    put("\"");
  }

  const TapeSink& sink_;
  std::vector<char> block_ = std::vector<char>(std::size_t{1} << 16);
  char* free_ = block_.data();
};

}  // namespace

void write_tape(const Tape& tape, const TapeSink& sink) {
  Writer writer(sink);
  writer.line(tape.start, tape_file::kFormat);
  for (const Fact& any : tape.facts) {
    std::visit([&](const auto& f) { writer.line(f); }, any);
  }
  for (const fact::Wire& wire : tape.wires)
    writer.line(wire);
  for (const fact::Control& control : tape.controls)
    writer.line(control);
  writer.line(tape.end);
  writer.flush();
}

std::string tape_to_jsonl(const Tape& tape) {
  std::string text;
  write_tape(tape, [&text](std::string_view part) { text += part; });
  return text;
}

std::string tape_fingerprint(const Tape& tape) {
  Hash64 hash;
  write_tape(tape, [&hash](std::string_view part) { hash.update(part); });
  std::array<char, 17> hex{};
  std::snprintf(hex.data(), hex.size(), "%016llx",
                static_cast<unsigned long long>(hash.digest()));
  return hex.data();
}

}  // namespace skerry

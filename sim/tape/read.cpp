#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "sim/base/error.hpp"
#include "sim/tape/members.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

namespace {

using tape_file::Range;

// One line of the file, read from the left; every refusal names the line.
class Line {
 public:
  Line(std::string_view text, std::size_t number, const std::string& label)
      : rest_(text), number_(number), label_(label) {}

  [[noreturn]] void refuse(const std::string& message) const {
    throw BadInput(label_, "line " + std::to_string(number_), message);
  }

  bool starts(std::string_view expected) const {
    return rest_.substr(0, expected.size()) == expected;
  }

  void take(std::string_view expected) {
    if (!starts(expected)) refuse("found " + shown() + ", expected " + std::string(expected));
    rest_.remove_prefix(expected.size());
  }

  void take_end() const {
    if (!rest_.empty()) refuse("found " + shown() + " after the end of the fact");
  }

  std::string_view take_name() {
    take("\"");
    std::size_t size = 0;
    while (size < rest_.size() && tape_file::is_plain(rest_[size]))
      ++size;
    if (size == rest_.size() || rest_[size] != '"') refuse("a name does not end");
    const std::string_view name = rest_.substr(0, size);
    rest_.remove_prefix(size + 1);
    return name;
  }

  void value(double& v, Range range) {
    if (range == Range::kMayBeForever && starts("null")) {
      take("null");
      v = kNever;
      return;
    }
    const std::string_view digits = number("a number");
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
    if (error != std::errc{} || end != digits.data() + digits.size() || !std::isfinite(v)) {
      refuse("found " + std::string(digits) + ", expected a finite number");
    }
    std::array<char, 32> again;
    check_same(digits, {again.data(), tape_file::write_double(again.data(), v)});
  }

  void value(std::int64_t& v, Range range) {
    integer(v);
    if (v < (range == Range::kMayBeMissing ? -1 : 0)) refuse(std::to_string(v) + " is negative");
  }
  void value(int& v, Range range) {
    integer(v);
    if (v < (range == Range::kMayBeMissing ? -1 : 0)) refuse(std::to_string(v) + " is negative");
  }
  void value(std::uint64_t& v, Range) { integer(v); }

  void value(bool& v, Range) {
    v = starts("true");
    take(v ? "true" : "false");
  }
  void value(std::string& v, Range) { v = take_name(); }
  void value(Cause& v, Range) { one_of(v, kCauseNames, "cause"); }
  void value(FaultKind& v, Range) { one_of(v, tape_file::kFaultNames, "kind of fault"); }

  void value(Target& v, Range range) {
    take("{\"kind\":");
    one_of(v.kind, tape_file::kTargetNames, "kind of target");
    take(",\"index\":");
    value(v.index, range);
    take(",\"part\":");
    value(v.part, range);
    take("}");
  }

 private:
  std::string shown() const {
    if (rest_.empty()) return "the end of the line";
    std::string text;
    for (const char c : rest_.substr(0, 24))
      text += c >= ' ' && c <= '~' ? c : '?';
    return "'" + text + "'";
  }

  // The characters up to the end of the value.
  std::string_view number(const char* what) {
    const std::size_t size = std::min(rest_.find_first_of(",}"), rest_.size());
    if (size == 0 || size > 31) refuse("found " + shown() + ", expected " + what);
    const std::string_view digits = rest_.substr(0, size);
    for (const char c : digits) {
      if (!tape_file::is_plain(c)) refuse("found " + shown() + ", expected " + what);
    }
    rest_.remove_prefix(size);
    return digits;
  }

  template <class Int>
  void integer(Int& v) {
    const std::string_view digits = number("a whole number");
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
      refuse("found " + std::string(digits) + ", expected a whole number in range");
    }
    std::array<char, 32> again;
    check_same(digits, {again.data(), std::to_chars(again.data(), again.data() + 32, v).ptr});
  }

  void check_same(std::string_view found, std::string_view written) const {
    if (found != written) {
      refuse("found " + std::string(found) + ", expected it as " + std::string(written));
    }
  }

  template <class Enum, std::size_t N>
  void one_of(Enum& v, const std::array<std::string_view, N>& names, const char* what) {
    const std::string_view name = take_name();
    for (std::size_t i = 0; i < N; ++i) {
      if (names[i] == name) {
        v = static_cast<Enum>(i);
        return;
      }
    }
    refuse("unknown " + std::string(what) + " '" + std::string(name) + "'");
  }

  std::string_view rest_;
  std::size_t number_;
  const std::string& label_;
};

template <class F>
F members_of(Line& line) {
  F f;
  const auto read = [&](const auto& member) {
    line.take(member.lead);
    line.value(f.*member.place, member.range);
  };
  std::apply([&](const auto&... member) { (read(member), ...); }, tape_file::Kind<F>::members);
  line.take("}");
  line.take_end();
  return f;
}

// Appends the fact if its name is that of alternative I of the variant, or of a later one.
template <std::size_t I = 0>
bool add_fact(Tape& tape, std::string_view name, Line& line) {
  if constexpr (I < std::variant_size_v<Fact>) {
    using F = std::variant_alternative_t<I, Fact>;
    if (name != tape_file::Kind<F>::name) return add_fact<I + 1>(tape, name, line);
    tape.facts.emplace_back(members_of<F>(line));
    return true;
  }
  return false;
}

// Reads one line into `tape`; true when it was End.
bool read_line(Tape& tape, Line& line, bool first) {
  line.take("{\"f\":");
  const std::string_view name = line.take_name();
  if (first) {
    if (name != tape_file::Kind<fact::Start>::name) line.refuse("the first fact is not 'start'");
    line.take(tape_file::kFormat);
    tape.start = members_of<fact::Start>(line);
    return false;
  }
  if (name == tape_file::Kind<fact::End>::name) {
    tape.end = members_of<fact::End>(line);
    return true;
  }
  if (name == tape_file::Kind<fact::Control>::name) {
    tape.controls.push_back(members_of<fact::Control>(line));
    const fact::Control& control = tape.controls.back();
    if (control.timed_out > control.sent) line.refuse("more messages timed out than were sent");
    return false;
  }
  if (!tape.controls.empty()) line.refuse("'" + std::string(name) + "' after a 'control'");
  if (name == tape_file::Kind<fact::Wire>::name) {
    tape.wires.push_back(members_of<fact::Wire>(line));
    return false;
  }
  if (name == tape_file::Kind<fact::Start>::name) line.refuse("a second 'start'");
  if (!add_fact(tape, name, line)) line.refuse("unknown fact '" + std::string(name) + "'");
  if (!tape.wires.empty()) line.refuse("'" + std::string(name) + "' after a 'wire'");
  return false;
}

}  // namespace

Tape tape_from_jsonl(const std::string& text, const std::string& label) {
  Tape tape;
  std::string_view rest = text;
  std::size_t number = 1;
  for (bool ended = false; !ended; ++number) {
    const std::size_t size = rest.find('\n');
    Line line(rest.substr(0, size), number, label);
    if (rest.empty()) line.refuse("the tape stops without 'end'");
    if (size == std::string_view::npos) line.refuse("the line does not end");
    ended = read_line(tape, line, number == 1);
    rest.remove_prefix(size + 1);
  }
  if (!rest.empty()) Line(rest, number, label).refuse("something follows 'end'");
  return tape;
}

}  // namespace skerry

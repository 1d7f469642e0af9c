// What is not a tape is refused with its line, whatever the bytes.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "tests/sim/tape/random_tape.hpp"

using namespace skerry;
using namespace skerry::test;

namespace {

const std::string kStart =
    R"({"f":"start","skerry":"tape/1","protocol":"p","seed":1,"scenario_hash":"h","horizon_steps":9})"
    "\n";
const std::string kSteps =
    R"({"f":"steps","t0":0,"t1":7,"compute_s":7,"straggler_wait_s":0,"exposed_s":0,"tokens":5,)"
    R"("first":1,"n":1,"learner":0,"slices_away":0})"
    "\n";
const std::string kPhase =
    R"({"f":"phase","t0":7,"t1":9,"learner":0,"slices_away":0,"cause":"down"})"
    "\n";
const std::string kFault = R"({"f":"fault","t":7,"until":null,"factor":1,"kind":"slice_down",)"
                           R"("target":{"kind":"slice","index":0,"part":1},"source":0})"
                           "\n";
const std::string kWire = R"({"f":"wire","name":"a.up","bytes":1,"capacity_bytes":null})"
                          "\n";
const std::string kControl = R"({"f":"control","name":"a>b","sent":3,"timed_out":3})"
                             "\n";
const std::string kEnd = R"({"f":"end","t":9,"tokens":5,"reason":"tokens"})"
                         "\n";
const std::string kGood = kStart + kSteps + kPhase + kFault + kWire + kEnd;

std::string refusal(const std::string& text) {
  try {
    tape_from_jsonl(text, "run/tape.jsonl");
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

// kGood with the one place `from` replaced.
std::string edited(const std::string& from, const std::string& to) {
  const std::size_t at = kGood.find(from);
  REQUIRE(at != std::string::npos);
  return kGood.substr(0, at) + to + kGood.substr(at + from.size());
}

void check_refused(const std::string& text, const std::string& place, const std::string& part) {
  const std::string message = refusal(text);
  INFO(message);
  CHECK(message.find("run/tape.jsonl: " + place + ": ") == 0);
  CHECK(message.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("the tape that the refusals are made from is good") {
  CHECK(refusal(kGood) == "");
  CHECK(tape_from_jsonl(kGood, "t").facts.size() == 3);
  CHECK(tape_to_jsonl(tape_from_jsonl(kGood, "t")) == kGood);
}

TEST_CASE("a file that is cut, continued or begun elsewhere") {
  check_refused("", "line 1", "stops without 'end'");
  check_refused("\n", "line 1", "expected {\"f\":");
  check_refused(kStart, "line 2", "stops without 'end'");
  check_refused(kStart + kSteps, "line 3", "stops without 'end'");
  check_refused(kStart + kEnd.substr(0, kEnd.size() - 1), "line 2", "does not end");
  check_refused(kGood + "\n", "line 7", "follows 'end'");
  check_refused(kGood + kEnd, "line 7", "follows 'end'");
  check_refused(kSteps + kEnd, "line 1", "not 'start'");
  check_refused(kEnd, "line 1", "not 'start'");
  check_refused(kStart + kStart + kEnd, "line 2", "second 'start'");
  check_refused(kStart + kWire + kSteps + kEnd, "line 3", "after a 'wire'");
  check_refused(kStart + kControl + kWire + kEnd, "line 3", "after a 'control'");
  check_refused(kStart + kControl + kSteps + kEnd, "line 3", "after a 'control'");
  check_refused(kStart + R"({"f":"control","name":"a>b","sent":3,"timed_out":4})" + "\n" + kEnd,
                "line 2", "more messages timed out");
  CHECK(refusal(kStart + kWire + kControl + kControl + kEnd) == "");
  check_refused(kStart + "\n" + kEnd, "line 2", "the end of the line");
  check_refused("\xef\xbb\xbf" + kGood, "line 1", "expected");
  check_refused(edited("tape/1", "tape/2"), "line 1", "tape/1");
}

TEST_CASE("facts, members and their order") {
  check_refused(edited("\"phase\"", "\"phases\""), "line 3", "unknown fact 'phases'");
  check_refused(edited("\"t0\":0,\"t1\":7,", "\"t1\":7,\"t0\":0,"), "line 2", "expected ,\"t0\":");
  check_refused(edited("\"t0\":0,", ""), "line 2", "expected ,\"t0\":");
  check_refused(edited("\"n\":1", "\"n\":1,\"x\":2"), "line 2", "expected ,\"learner\":");
  check_refused(edited("\"t0\":0", "\"t0\": 0"), "line 2", "found");
  check_refused(edited("\"slices_away\":0}", "\"slices_away\":0} "), "line 2", "after the end");
  check_refused(edited("\"slices_away\":0}", "\"slices_away\":0"), "line 2", "found");
  check_refused(edited("\"slices_away\":0}", "\"slices_away\":0}\r"), "line 2", "after the end");
}

TEST_CASE("numbers: finite, in the one form, of the right kind and sign") {
  const auto t1 = [](const std::string& v) { return edited("\"t1\":7", "\"t1\":" + v); };
  for (const char* v : {"1e999", "nan", "inf", "-inf", "infinity", "NaN"}) {
    check_refused(t1(v), "line 2", "finite number");
  }
  for (const char* v : {"", "\"7\"", "true", "0x7", "7 ", " 7", "+7", "[7]", "--7"}) {
    check_refused(t1(v), "line 2", "expected");
  }
  check_refused(t1("null"), "line 2", "finite number");  // only where the format allows it
  for (const char* v : {"7.0", "07", "7e0", "70e-1", ".5", "5.", "1e+05"}) {
    check_refused(t1(v), "line 2", "expected it as");
  }
  check_refused(t1("0.1000000000000000055511151231257827"), "line 2", "expected a number");

  const auto learner = [](const std::string& v) {
    return edited("\"learner\":0", "\"learner\":" + v);
  };
  check_refused(learner("-1"), "line 2", "-1 is negative");
  check_refused(learner("2147483648"), "line 2", "whole number in range");
  check_refused(learner("1.5"), "line 2", "whole number");
  check_refused(learner("1e3"), "line 2", "whole number");
  check_refused(learner("null"), "line 2", "whole number");
  check_refused(learner("00"), "line 2", "expected it as 0");
  check_refused(learner("-0"), "line 2", "expected it as 0");
  check_refused(edited("\"n\":1", "\"n\":9223372036854775808"), "line 2", "in range");
  check_refused(edited("\"seed\":1", "\"seed\":-1"), "line 1", "whole number");
  check_refused(edited("\"seed\":1", "\"seed\":18446744073709551616"), "line 1", "in range");
  check_refused(edited("\"source\":0", "\"source\":-1"), "line 4", "negative");
  check_refused(edited("\"index\":0", "\"index\":-1"), "line 4", "negative");
}

TEST_CASE("names of causes, kinds and targets; truth values; text") {
  check_refused(edited("\"down\"", "\"downn\""), "line 3", "unknown cause 'downn'");
  check_refused(edited("\"down\"", "3"), "line 3", "expected");
  check_refused(edited("\"down\"", "\"down"), "line 3", "does not end");
  check_refused(edited("\"slice_down\"", "\"slice\""), "line 4", "unknown kind of fault");
  check_refused(edited("{\"kind\":\"slice\"", "{\"kind\":\"pod\""), "line 4",
                "kind of target 'pod'");
  check_refused(edited("\"a.up\"", "\"a\\u0041\""), "line 5", "does not end");
  check_refused(edited("\"a.up\"", "\"a\tup\""), "line 5", "does not end");
  check_refused(edited("\"a.up\"", "\"\xc3\xa4\""), "line 5", "does not end");
  const std::string cut = R"({"f":"cut_step","t0":0,"t1":1,"learner":0,"slices_away":0,"lost":)";
  CHECK(refusal(kStart + cut + "true}\n" + kEnd) == "");
  check_refused(kStart + cut + "1}\n" + kEnd, "line 2", "expected false");
  check_refused(kStart + cut + "True}\n" + kEnd, "line 2", "expected false");
}

TEST_CASE("messages stay printable and short whatever stands in the file") {
  const std::string message = refusal(kStart + std::string(10'000, '\x01') + "\n");
  CHECK(message.size() < 200);
  for (const char c : message)
    CHECK((c >= ' ' && c <= '~'));
}

TEST_CASE("damaged tapes: refused, or read as exactly what they say") {
  RandomStream random(5, "damage", 0);
  int accepted = 0, refused = 0;
  for (std::uint64_t round = 0; round < 4000; ++round) {
    std::string text = tape_to_jsonl(any_tape(round % 50, 25));
    for (std::uint64_t damage = 1 + random.below(3); damage > 0; --damage) {
      const std::size_t at = random.below(text.size());
      switch (random.below(4)) {
        case 0:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          text.erase(at, 1 + random.below(40));
          break;
        case 2:
          text.insert(at, text.substr(random.below(text.size()), random.below(40)));
          break;
        default:
          text[at] = static_cast<char>('0' + random.below(10));
      }
    }
    Tape tape;
    try {
      tape = tape_from_jsonl(text, "t");
    } catch (const BadInput&) {
      refused += 1;
      continue;
    }
    accepted += 1;
    CHECK(tape_to_jsonl(tape) == text);
  }
  CHECK(accepted > 10);  // a digit became another: still a tape
  CHECK(refused > 1000);
}

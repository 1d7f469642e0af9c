// Writing and reading give the same bits; the text is as the format says.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "tests/sim/tape/random_tape.hpp"

using namespace skerry;
using namespace skerry::test;

namespace {

// Bytes that the members of a fact should occupy if none is forgotten: checks the lists of
// members.hpp against fact.hpp, whose structs hold nothing else. Padding is at most 7 bytes at each
// member.
template <class F>
void check_no_member_forgotten() {
  const std::size_t members =
      std::apply([](const auto&... m) { return (sizeof(std::declval<F>().*m.place) + ...); },
                 tape_file::Kind<F>::members);
  CHECK_MESSAGE(sizeof(F) - members < 8, tape_file::Kind<F>::name);
}

template <std::size_t... I>
void check_all(std::index_sequence<I...>) {
  (check_no_member_forgotten<std::variant_alternative_t<I, Fact>>(), ...);
}

}  // namespace

TEST_CASE("one short tape, line by line") {
  Tape tape;
  tape.start = {"decoupled_diloco", 18446744073709551615ULL, "1f2e3d4c", 2250.5};
  tape.add(fact::Steps{0, 69.9, 6.99, 0, 0.25, 917504, 1, 10, 3, 0});
  tape.add(fact::Phase{69.9, 100000, 3, 1, Cause::kSliceDown});
  tape.add(fact::CutStep{1e-7, 2, 0, 0, false});
  tape.add(fact::FaultHit{7200, kNever, 1, FaultKind::kRegionDark, {TargetKind::kRegion, 1, 0}, 4});
  tape.add(fact::Close{1, 0.5, 0.125, 9, -1, 8});
  tape.add(fact::Overwrite{3, 24, 25, -1, 7, 23, true});
  tape.wires.push_back({"us-east5>us-west1", 1e15, kUnlimited});
  tape.controls.push_back({"us-east5>us-west1", 3400, 12});
  tape.end = {86400, 1.65e10, "tokens"};
  CHECK(tape_to_jsonl(tape) ==
        R"({"f":"start","skerry":"tape/1","protocol":"decoupled_diloco",)"
        R"("seed":18446744073709551615,"scenario_hash":"1f2e3d4c","horizon_steps":2250.5})"
        "\n"
        R"({"f":"steps","t0":0,"t1":69.9,"compute_s":6.99,"straggler_wait_s":0,"exposed_s":0.25,)"
        R"("tokens":917504,"first":1,"n":10,"learner":3,"slices_away":0})"
        "\n"
        R"({"f":"phase","t0":69.9,"t1":100000,"learner":3,"slices_away":1,"cause":"slice_down"})"
        "\n"
        R"({"f":"cut_step","t0":1e-07,"t1":2,"learner":0,"slices_away":0,"lost":false})"
        "\n"
        R"({"f":"fault","t":7200,"until":null,"factor":1,"kind":"region_dark",)"
        R"("target":{"kind":"region","index":1,"part":0},"source":4})"
        "\n"
        R"({"f":"close","t":1,"waited_s":0.5,"grace_s":0.125,"clock":9,"fragment":-1,)"
        R"("participants":8})"
        "\n"
        R"({"f":"overwrite","t":3,"clock":24,"step":25,"pulled_step":-1,"learner":7,)"
        R"("fragment":23,"participated":true})"
        "\n"
        R"({"f":"wire","name":"us-east5>us-west1","bytes":1000000000000000,"capacity_bytes":null})"
        "\n"
        R"({"f":"control","name":"us-east5>us-west1","sent":3400,"timed_out":12})"
        "\n"
        R"({"f":"end","t":86400,"tokens":16500000000,"reason":"tokens"})"
        "\n");
  CHECK(same_tape(tape_from_jsonl(tape_to_jsonl(tape), "t"), tape));
}

TEST_CASE("random tapes of all kinds come back bit for bit, and their text too") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Tape tape = any_tape(seed, seed);
    const std::string text = tape_to_jsonl(tape);
    const Tape again = tape_from_jsonl(text, "t");
    REQUIRE(same_tape(again, tape));
    REQUIRE(tape_to_jsonl(again) == text);
  }
}

TEST_CASE("no member of a fact is missing from the file") {
  check_all(std::make_index_sequence<std::variant_size_v<Fact>>());
  check_no_member_forgotten<fact::Start>();
  check_no_member_forgotten<fact::Wire>();
  check_no_member_forgotten<fact::Control>();
  check_no_member_forgotten<fact::End>();
}

TEST_CASE("every number is the shortest that reads back the same; whole ones have no exponent") {
  const auto text = [](double v) {
    char digits[32];
    return std::string(digits, tape_file::write_double(digits, v));
  };
  CHECK(text(0.0) == "0");
  CHECK(text(-0.0) == "-0");
  CHECK(text(0.1) == "0.1");
  CHECK(text(1.0 / 3.0) == "0.3333333333333333");
  CHECK(text(100000.0) == "100000");
  CHECK(text(-3.0) == "-3");
  CHECK(text(9007199254740991.0) == "9007199254740991");  // 2^53 − 1
  CHECK(text(5e-324) == "5e-324");
  CHECK(text(1.7976931348623157e308) == "1.7976931348623157e+308");
}

TEST_CASE("what a tape cannot say is a bug when it is written") {
  Tape tape;
  CHECK_NOTHROW(tape_to_jsonl(tape));
  const auto refuses = [&](const Fact& f) {
    Tape one = tape;
    one.facts.push_back(f);
    CHECK_THROWS_AS(tape_to_jsonl(one), Bug);
  };
  refuses(fact::Save{kNever, 1});
  refuses(fact::Save{-kNever, 1});
  refuses(fact::Save{std::nan(""), 1});
  refuses(fact::Save{1, -1});
  refuses(fact::FaultHit{0, std::nan(""), 1, FaultKind::kSliceDown, {}, 0});
  refuses(fact::FaultHit{0, -kNever, 1, FaultKind::kSliceDown, {}, 0});
  refuses(fact::Pull{0, 0, 0, -1, 0});
  refuses(fact::Copy{0, 0, 0, -2});
  tape.end.reason = "tok\"ens";
  CHECK_THROWS_AS(tape_to_jsonl(tape), Bug);
}

TEST_CASE("the fingerprint follows every bit of the tape") {
  Tape tape = any_tape(1, 40);
  const std::string before = tape_fingerprint(tape);
  CHECK(before.size() == 16);
  CHECK(before.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(tape_fingerprint(any_tape(1, 40)) == before);
  CHECK(tape_fingerprint(any_tape(2, 40)) != before);
  tape.end.t = std::nextafter(tape.end.t, kNever);
  CHECK(tape_fingerprint(tape) != before);
}

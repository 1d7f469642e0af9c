// A tape must speak of what the scenario has.
#include <string>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/tape/tape.hpp"

using namespace skerry;

namespace {

Scenario two_learners_of_three() {
  Scenario scenario;
  scenario.regions.resize(2);
  scenario.links = {{0, 1, 0.0, kUnlimited}, {1, 0, 0.0, kUnlimited}};
  scenario.learners.resize(3);
  for (Learner& learner : scenario.learners)
    learner.slices = 4;
  scenario.protocols.resize(1);
  scenario.protocols[0].name = "decoupled";
  scenario.protocols[0].learners = {0, 2};
  scenario.protocols[0].fragments = 24;
  scenario.faults.resize(2);
  scenario.plan.resize(1);
  return scenario;
}

std::string refusal(const Fact& f) {
  Tape tape;
  tape.start.protocol = "decoupled";
  tape.facts.push_back(f);
  try {
    check_tape_fits(tape, two_learners_of_three(), "tape.jsonl");
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

Fact hit(TargetKind kind, int index, int part, int source = 0) {
  return fact::FaultHit{0, 1, 1, FaultKind::kSliceDown, {kind, index, part}, source};
}

}  // namespace

TEST_CASE("indices inside the scenario pass") {
  CHECK(refusal(fact::Pull{0, 0, 0, 2, 23}) == "");
  CHECK(refusal(fact::Close{0, 0, 0, 0, -1, 8}) == "");
  CHECK(refusal(fact::Copy{0, 0, 2, -1}) == "");
  CHECK(refusal(fact::Phase{0, 1, 0, 4, Cause::kDown}) == "");
  CHECK(refusal(hit(TargetKind::kSlice, 1, 3, 2)) == "");  // a fault may hit who takes no part
  CHECK(refusal(hit(TargetKind::kPort, 1, 1)) == "");
  CHECK(refusal(hit(TargetKind::kLink, 1, 0)) == "");
}

TEST_CASE("indices outside it are refused by name") {
  CHECK(refusal(fact::Join{0, 0, 3}) ==
        "tape.jsonl: the tape has learner 3, the scenario has 3 (counted from 0)");
  CHECK(refusal(fact::Join{0, 0, 1}) ==
        "tape.jsonl: the tape has learner 1, which takes no part in decoupled");
  CHECK(refusal(fact::Pull{0, 0, 0, 0, 24}).find("fragment 24") != std::string::npos);
  CHECK(refusal(fact::Copy{0, 0, 2, 1}).find("learner 1") != std::string::npos);
  CHECK(refusal(fact::Phase{0, 1, 0, 5, Cause::kDown}).find("slices away 5") != std::string::npos);
  CHECK(refusal(hit(TargetKind::kSlice, 1, 4)).find("slice 4") != std::string::npos);
  CHECK(refusal(hit(TargetKind::kLearner, 3, 0)).find("learner 3") != std::string::npos);
  CHECK(refusal(hit(TargetKind::kRegion, 2, 0)).find("region 2") != std::string::npos);
  CHECK(refusal(hit(TargetKind::kPort, 2, 0)).find("region 2") != std::string::npos);
  CHECK(refusal(hit(TargetKind::kPort, 0, 2)).find("port 2") != std::string::npos);
  CHECK(refusal(hit(TargetKind::kLink, 2, 0)).find("link 2") != std::string::npos);
  CHECK(refusal(hit(TargetKind::kRegion, 0, 0, 3)).find("fault 3") != std::string::npos);
}

TEST_CASE("amounts that no run can have are refused") {
  const double full = two_learners_of_three().charged.tokens_per_learner_step;
  const auto steps = [](double tokens) { return fact::Steps{0, 1, 1, 0, 0, tokens, 1, 1, 0, 0}; };
  CHECK(refusal(steps(full)) == "");
  CHECK(refusal(steps(0)) == "");
  CHECK(refusal(steps(2 * full + 1)).find("tokens of a step, allowed 0 to") != std::string::npos);
  CHECK(refusal(steps(-1)).find("-1 tokens of a step") != std::string::npos);
  CHECK(refusal(fact::Lost{1, 2, 3, 4, 0}) == "");
  CHECK(refusal(fact::Lost{1, -2, 3, 4, 0}).find("-2 lost steps") != std::string::npos);
  CHECK(refusal(fact::Lost{1, 2, -3, 4, 0}).find("-3 lost chip-seconds") != std::string::npos);
  CHECK(refusal(fact::Lost{1, 2, 3, -4, 0}).find("-4 lost tokens") != std::string::npos);
}

TEST_CASE("a protocol that the scenario does not have") {
  Tape tape;
  tape.start.protocol = "other";
  CHECK_THROWS_AS(check_tape_fits(tape, two_learners_of_three(), "t"), BadInput);
}

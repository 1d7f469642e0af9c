// The readers of the tree that people see: schema, explain, reference page.
#include <cstdlib>

#include <doctest/doctest.h>

#include "sim/scenario/metrics.hpp"
#include "sim/scenario/spec.hpp"
#include "tests/sim/scenario/helpers.hpp"

using namespace skerry;
using namespace skerry::testing;

TEST_CASE("scenarios/README.md is the page that the program writes") {
  const bool same =
      file_text(std::string(SKERRY_SOURCE) + "/scenarios/README.md") == reference_page_markdown();
  CHECK_MESSAGE(
      same, "write it again: run this program with SKERRY_WRITE=FOLDER and copy FOLDER/README.md");
}

TEST_CASE("the schema knows every key of the tree") {
  const Json schema = Json::parse(scenario_schema_json());
  CHECK(schema["$schema"] == "http://json-schema.org/draft-07/schema#");
  CHECK(schema["additionalProperties"] == false);
  CHECK(schema["required"].size() == 5);
  for (const reader::Field& field : reader::scenario_spec().fields) {
    CAPTURE(field.key);
    CHECK(schema["properties"].contains(field.key));
  }
  const Json& stop = schema["properties"]["stop"]["properties"];
  CHECK(stop["simulated_h"]["maximum"].get<double>() == doctest::Approx(1e12 / 3600.0));
}

TEST_CASE("explain: meaning, range, default, presets, alternatives") {
  const std::string quorum = explain_pointer("/protocols/*/quorum");
  CHECK(has(quorum, "K: reports that close a collection"));
  CHECK(has(quorum, "decoupled_diloco: 1"));
  CHECK(has(quorum, "allowed: an integer >= 1"));
  CHECK(has(explain_pointer("/faults/*/away/mean"), "mean_ms, mean_s, mean_min, mean_h"));
  CHECK(has(explain_pointer("/faults/dark/away/mean_min"), "default: none; required unless the law"));
  CHECK(has(explain_pointer("/recovery/slice_down_s"), "default: 13.0 s (assumed, not measured)"));
  CHECK(has(explain_pointer("/training/model/width"), "the preset's"));
  CHECK(has(explain_pointer("/expect/*/why"), "required"));
  CHECK(has(explain_pointer(""), "keys:    skerry, name, seeds"));
  CHECK_THROWS_WITH_AS(
      explain_pointer("protocols"),
      "explain: protocols: found no JSON pointer, allowed such as /protocols/*/quorum", BadInput);
  try {
    explain_pointer("/protocols/*/qourum");
    FAIL("accepted");
  } catch (const BadInput& error) {
    CHECK(has(error.what(), "did you mean 'quorum'?"));
  }
}

TEST_CASE("metrics: plain names, causes, rows of learners") {
  CHECK(is_known_metric("goodput"));
  CHECK(is_known_metric("chip_seconds.lost.down"));
  CHECK(is_known_metric("by_learner.west.1.goodput"));
  CHECK_FALSE(is_known_metric("chip_seconds.lost"));
  CHECK_FALSE(is_known_metric("by_learner.west.1.name"));
  CHECK(needs_training("loss.final"));
  CHECK_FALSE(needs_training("tokens"));
}

// Not a check: with SKERRY_WRITE=FOLDER, README.md and schema.json (for tests/bad/check_schema.py)
// are written there.
TEST_CASE("page and schema can be written to a folder") {
  const char* folder = std::getenv("SKERRY_WRITE");
  if (folder == nullptr) return;
  std::ofstream(std::string(folder) + "/README.md") << reference_page_markdown();
  std::ofstream(std::string(folder) + "/schema.json") << scenario_schema_json();
}

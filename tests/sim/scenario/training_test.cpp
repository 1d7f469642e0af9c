// What is trained: tokens, corpora, and how the trained model falls into fragments.
#include <algorithm>
#include <filesystem>
#include <set>

#include <doctest/doctest.h>

#include "kernels/model.hpp"
#include "sim/scenario/balanced.hpp"
#include "sim/scenario/catalog.hpp"
#include "sim/scenario/corpus.hpp"
#include "tests/sim/scenario/helpers.hpp"

using namespace skerry;
using namespace skerry::testing;

namespace {

// Parameters that each fragment of the trained model holds, and all of them.
std::vector<double> held(const TrainedModel& m, int fragments, double& all) {
  std::vector<double> sizes, sums(static_cast<std::size_t>(fragments));
  for (const auto& tensor :
       kernels::tensors({m.layers, m.width, m.heads, m.context, m.vocabulary, m.batch})) {
    sizes.push_back(static_cast<double>(tensor.size));
  }
  const std::vector<int> of = balanced_fragments(sizes, fragments);
  all = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sums[static_cast<std::size_t>(of[i])] += sizes[i];
    all += sizes[i];
  }
  return sums;
}

}  // namespace

TEST_CASE("fragments24: each of 24 fragments holds 2 to 7 % of the parameters") {
  Json document = base();
  document["training"] = {{"model", "fragments24"}};
  const Scenario scenario = load(document).scenario;
  REQUIRE(scenario.protocols[1].fragments == 24);
  CHECK_FALSE(warns(scenario, "W20"));
  double all = 0;
  const std::vector<double> sums = held(scenario.training.model, 24, all);
  // 256·48 + 64·48 + 6·(12·48² + 13·48) + 2·48; the embedding alone is 12288, 6.6 %.
  CHECK(all == 185088);
  CHECK(*std::max_element(sums.begin(), sums.end()) == 12288);
  CHECK(*std::min_element(sums.begin(), sums.end()) >= 0.02 * all);
  CHECK(*std::max_element(sums.begin(), sums.end()) <= 0.07 * all);
}

TEST_CASE("fragments of biases alone are warned of") {
  Json document = base();
  document["training"] = Json::object();  // 2 layers × 64
  const Scenario scenario = load(document).scenario;
  const auto warning =
      std::find_if(scenario.warnings.begin(), scenario.warnings.end(),
                   [](const std::string& text) { return text.rfind("W20", 0) == 0; });
  REQUIRE(warning != scenario.warnings.end());
  double all = 0;
  const std::vector<double> sums = held(scenario.training.model, 24, all);
  CHECK(all == 120576);  // (256 + 64 + 2)·64 + 2·(12·64² + 13·64)
  // 28 tensors, of which 10 are matrices. The other 18 (two of 256, two of 192, fourteen of 64)
  // fall into 14 fragments: the last four join four of 64, six stay alone.
  CHECK(*std::min_element(sums.begin(), sums.end()) == 64);
  CHECK(*warning ==
        "W20: /protocols/decoupled_diloco: of 24 fragments of the trained model the smallest holds "
        "0.0530786 % of its parameters, under a fifth of the mean: train \"model\": "
        "\"fragments24\" or use fewer fragments");

  document["protocols"]["decoupled_diloco"]["fragments"] = 4;
  CHECK_FALSE(warns(load(document).scenario, "W20"));
  document["protocols"]["decoupled_diloco"].erase("fragments");
  document["training"] = false;
  CHECK_FALSE(warns(load(document).scenario, "W20"));
  document["training"] = Json::object();
  document["protocols"] = {{"data_parallel", Json::object()}};
  CHECK_FALSE(warns(load(document).scenario, "W20"));
}

TEST_CASE("a vocabulary beyond the bytes is a number of tokens that the text can give") {
  Json document = base();
  document["training"] = {{"model", {{"vocabulary", 700}}}};
  const Loaded loaded = load(document);
  CHECK(loaded.scenario.training.model.vocabulary == 700);
  CHECK(load(Json::parse(loaded.resolved_json)).hash8 == loaded.hash8);
  document["training"]["corpus"] = "LICENSE";
  document["training"]["held_out_share"] = 0.3;
  CHECK_NOTHROW(load_scenario_text(document.dump(), "t.json", SKERRY_SOURCE));
  document["training"]["model"]["vocabulary"] = 1024;
  try {
    load_scenario_text(document.dump(), "t.json", SKERRY_SOURCE);
    FAIL("accepted");
  } catch (const BadInput& error) {
    CHECK(has(error.what(), "/training/model/vocabulary: found 1024, allowed at most 7"));
  }
}

TEST_CASE("a corpus from a file: its bytes make the hash, and the resolved copy finds it") {
  const std::string top = std::filesystem::temp_directory_path() / "skerry-training-test";
  Json document = base();
  document["training"] = {{"corpus", "text.txt"}};
  const auto hash_in = [&](const std::string& folder, const std::string& line) {
    std::filesystem::create_directories(folder);
    std::ofstream file(folder + "/text.txt");
    for (int i = 0; i < 100; ++i)
      file << line;
    file.close();
    const Loaded loaded = load_scenario_text(document.dump(), "t.json", folder);
    CHECK(loaded.scenario.training.corpus == folder + "/text.txt");
    const Loaded again = load_scenario_text(loaded.resolved_json, "t.json", "/");
    CHECK(again.hash8 == loaded.hash8);
    CHECK(again.resolved_json == loaded.resolved_json);
    CHECK(again.scenario.training.corpus_label == "text.txt");
    return loaded.hash8;
  };
  const std::string one = hash_in(top + "/a", "seven words a line, more or less.\n");
  CHECK(hash_in(top + "/b", "seven words a line, more or less.\n") == one);
  CHECK(hash_in(top + "/a", "other words, and just as many bytes.\n") != one);
  std::filesystem::remove_all(top);
}

TEST_CASE("jargon: read when its package is installed, else refused with its name") {
  Json document = base();
  document["training"] = {{"corpus", "jargon"}};
  if (!std::filesystem::exists(kJargonPath)) {
    CHECK(has(refusal(document),
              "t.json: /training/corpus: found jargon, but no /usr/share/doc/jargon-text/"
              "jargon.txt.gz: install Debian's package jargon-text"));
    return;
  }
  const Loaded loaded = load(document);
  CHECK(loaded.scenario.training.corpus == "jargon");
  CHECK(Json::parse(loaded.resolved_json)["training"]["corpus"] == "jargon");
}

TEST_CASE("short runs and texts that are read too often are warned about") {
  // Two learners; a step of default trains 8 x 64 = 512 tokens of each, a byte a token.
  const auto warnings = [](double steps, int period) {
    Json document = base();
    document["training"] = {{"model", "default"}, {"warm_start_steps", 0}};
    document["protocols"] = {{"diloco", {{"sync_period_steps", period}}}};
    const Scenario plain = load(document).scenario;
    document["stop"] = {{"tokens", steps * plain.charged.tokens_per_learner_step *
                                       static_cast<double>(plain.learners.size())}};
    std::string all;
    for (const std::string& warning : load(document).scenario.warnings)
      all += warning + "\n";
    return all;
  };
  // 490 steps with H = 10: 49 rounds; 500: 50.
  CHECK(has(warnings(490, 10), "W35: /protocols/diloco: a short run, about 49 outer rounds"));
  CHECK(!has(warnings(500, 10), "W35"));
  // The first MiB of the King James Bible, 95 % of it to train on: 996,147 bytes. So many learners
  // x 512 tokens a step: four times the text, and a tenth more.
  const double learners = static_cast<double>(load(base()).scenario.learners.size());
  const double four = 4.0 * 1048576 * 0.95 / (512 * learners);
  CHECK(!has(warnings(std::floor(four), 1), "W36"));
  CHECK(has(warnings(std::ceil(1.1 * four), 1),
            "W36: /training/corpus: diloco reads the text 4.4 times"));
}

namespace {

// The rate of a row when it is asked to be tuned, and what is warned of it.
double tuned(const Json& model, const std::string& row, const Json& settings, int learners,
             std::string& warning) {
  Json document = base();
  document["islands"] = {{"pod", {{"region", "us-west1"}, {"count", learners}, {"step_s", 1}}}};
  document["protocols"] = {{row, settings}};
  document["training"] = {{"model", model}, {"inner", {{"rate", "tuned"}}}};
  const Scenario scenario = load(document).scenario;
  warning.clear();
  for (const std::string& one : scenario.warnings) {
    if (one.starts_with("W40")) warning += one;
  }
  CHECK(scenario.training.of_protocol[0].inner.tuned);
  return scenario.training.of_protocol[0].inner.rate;
}

}  // namespace

TEST_CASE("the table of tuned rates: each entry is the best of its own grid") {
  const Json table = Json::parse(reader::kRatesJson);
  const std::vector<double> grid = table["entries"][0]["grid"];
  REQUIRE(table["entries"].size() >= 10);
  std::set<std::string> places;
  for (const Json& entry : table["entries"]) {
    CAPTURE(entry.dump());
    CHECK(entry["grid"] == Json(grid));  // one grid for all
    const std::vector<double> losses = entry["losses"];
    REQUIRE(losses.size() == grid.size());
    const auto best = std::min_element(losses.begin(), losses.end()) - losses.begin();
    CHECK(entry["rate"] == grid[static_cast<std::size_t>(best)]);
    CHECK(table["models"].contains(entry["model"].get<std::string>()));
    Json place = entry;
    for (const char* key : {"rate", "grid", "losses", "seeds"})
      place.erase(key);
    CHECK(places.insert(place.dump()).second);
  }
}

TEST_CASE("a tuned rate is the entry's of model, batch, kind, learners, period and merge") {
  const Json table = Json::parse(reader::kRatesJson);
  std::string warning;
  for (const Json& entry : table["entries"]) {
    CAPTURE(entry.dump());
    const std::vector<int> shape = table["models"][entry["model"].get<std::string>()];
    const Json model = {{"layers", shape[0]},  {"width", shape[1]},      {"heads", shape[2]},
                        {"context", shape[3]}, {"vocabulary", shape[4]}, {"batch", shape[5]}};
    const bool in_step = entry["protocol"] == "data_parallel";
    Json settings = Json::object();
    if (!in_step) settings["sync_period_steps"] = entry["sync_period_steps"];
    Json document = base();
    document["islands"] = {
        {"pod", {{"region", "us-west1"}, {"count", entry["learners"]}, {"step_s", 1}}}};
    document["protocols"] = {{entry["protocol"], settings}};
    document["training"] = {{"model", model}, {"inner", {{"rate", "tuned"}}}};
    if (!in_step) document["training"]["merge"] = entry["merge"];
    const Scenario scenario = load(document).scenario;
    CHECK(scenario.training.of_protocol[0].inner.rate == entry["rate"]);
    const bool edge =
        entry["rate"] == entry["grid"].front() || entry["rate"] == entry["grid"].back();
    CHECK(warns(scenario, "W40") == edge);
  }
  // No entry: the default, and the warning. What is set by hand is never warned of.
  CHECK(tuned("large", "data_parallel", Json::object(), 8, warning) == 2e-3);
  CHECK(has(
      warning,
      "W40: /training/protocols/data_parallel/inner/rate: rate not tuned, 0.002 is the default"));
  CHECK(tuned({{"preset", "quick"}, {"batch", 7}}, "diloco", {{"sync_period_steps", 24}}, 8,
              warning) == 4e-3);
  CHECK(has(warning, "rate not tuned"));
}

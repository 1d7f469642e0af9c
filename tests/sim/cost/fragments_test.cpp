// Fragments: whole tensors, balanced, and their bytes.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/cost/anatomy.hpp"
#include "sim/cost/cost.hpp"
#include "sim/scenario/balanced.hpp"

using namespace skerry;

namespace {

std::vector<double> loads(const std::vector<double>& sizes, int fragments) {
  const std::vector<int> fragment_of = balanced_fragments(sizes, fragments);
  REQUIRE(fragment_of.size() == sizes.size());
  std::vector<double> load(static_cast<std::size_t>(fragments), 0.0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    REQUIRE(fragment_of[i] >= 0);
    REQUIRE(fragment_of[i] < fragments);
    load[static_cast<std::size_t>(fragment_of[i])] += sizes[i];
  }
  return load;
}

double most(const std::vector<double>& v) {
  return *std::max_element(v.begin(), v.end());
}

std::vector<double> bytes_of(const ChargedModel& model, int fragments, const WireFormat& wire) {
  Protocol row;
  row.fragments = fragments;
  std::vector<double> bytes;
  for (const double parameters : fragment_parameters(model, row)) {
    bytes.push_back(wire_bytes(wire, parameters));
  }
  return bytes;
}

// The least possible maximum, by trying every placement of tensor `i` and those after it.
double best_maximum(const std::vector<double>& sizes, std::vector<double>& load, std::size_t i) {
  if (i == sizes.size()) return most(load);
  double best = kUnlimited;
  for (double& l : load) {
    l += sizes[i];
    best = std::min(best, best_maximum(sizes, load, i + 1));
    l -= sizes[i];
    if (l == 0.0) break;  // the empty fragments are alike
  }
  return best;
}

// The charged model of the four-region job, spelt out: 38 layers × 5120, ffn 20480, 32,000 words,
// tied.
ChargedModel model_12b() {
  ChargedModel model;
  const auto add = [&](double parameters, bool embedding = false) {
    model.tensors.push_back({std::to_string(model.tensors.size()) + "t", parameters, embedding});
    model.parameters += parameters;
  };
  add(32000.0 * 5120.0, true);
  for (int layer = 0; layer < 38; ++layer) {
    for (int square = 0; square < 4; ++square)
      add(5120.0 * 5120.0);
    add(5120.0 * 20480.0);
    add(20480.0 * 5120.0);
    add(5120.0);
    add(5120.0);
  }
  add(5120.0);
  return model;
}

}  // namespace

TEST_CASE("largest first, each into the least loaded, ties to the lowest index") {
  // Sorted: 7(a) 5(b) 5(c) 4(d) 3(e) 3(f). a→0, b→1, c→2, d→1 (5, tie with 2: lower), e→2 (5), f→0
  // (7). Loads 10, 9, 8.
  CHECK(balanced_fragments({5, 3, 7, 4, 5, 3}, 3) == std::vector<int>{1, 2, 0, 1, 2, 0});
  // Equal sizes go round in tensor order.
  CHECK(balanced_fragments({2, 2, 2, 2, 2}, 2) == std::vector<int>{0, 1, 0, 1, 0});
  CHECK(balanced_fragments({3, 1, 2}, 1) == std::vector<int>{0, 0, 0});
  CHECK(balanced_fragments({3, 1, 2}, 3) == std::vector<int>{0, 2, 1});
}

TEST_CASE("as many fragments as tensors at most, and one at least") {
  CHECK_THROWS_AS(balanced_fragments({1, 2}, 3), Bug);
  CHECK_THROWS_AS(balanced_fragments({1, 2}, 0), Bug);
  CHECK_THROWS_AS(balanced_fragments({}, 1), Bug);
}

TEST_CASE("Graham: at most 4/3 − 1/3m of the best possible maximum, and it is reached") {
  // Graham's own worst case for m = 2: 3 3 2 2 2. Best 6 (3+3 | 2+2+2); largest first gives 3+2+2
  // = 7.
  CHECK(most(loads({3, 3, 2, 2, 2}, 2)) == 7.0);

  RandomStream random(1, "graham", 0);
  for (int round = 0; round < 300; ++round) {
    const int m = 2 + static_cast<int>(random.below(3));
    std::vector<double> sizes(static_cast<std::size_t>(m) + random.below(6));
    for (double& s : sizes)
      s = 1.0 + static_cast<double>(random.below(20));
    std::vector<double> empty(static_cast<std::size_t>(m), 0.0);
    const double best = best_maximum(sizes, empty, 0);
    CHECK(most(loads(sizes, m)) <= best * (4.0 / 3.0 - 1.0 / (3.0 * m)) + 1e-9);
  }
}

TEST_CASE(
    "every fragment gets a tensor, none is lost, and the spread is at most the largest tensor") {
  RandomStream random(2, "spread", 0);
  for (int round = 0; round < 200; ++round) {
    const int m = 1 + static_cast<int>(random.below(40));
    std::vector<double> sizes(static_cast<std::size_t>(m) + random.below(400));
    for (double& s : sizes)
      s = std::ceil(1e6 * random.exponential());
    const std::vector<double> load = loads(sizes, m);
    CHECK(std::accumulate(load.begin(), load.end(), 0.0) ==
          std::accumulate(sizes.begin(), sizes.end(), 0.0));
    const double least = *std::min_element(load.begin(), load.end());
    CHECK(least > 0.0);
    CHECK(most(load) - least <= most(sizes));
  }
}

TEST_CASE("12.12B parameters in 24 fragments of about 505 M each") {
  const ChargedModel model = model_12b();
  // Per layer 4 × 5120² + 2 × 5120 × 20480 = 12 u with u = 5120² = 26,214,400, and two norms of
  // 5,120. Embedding 32,000 × 5,120 = 163,840,000 = 6.25 u. In all (38 × 12 + 6.25) u + 77 × 5,120
  // = 462.25 u + 394,240 = 12,117,606,400 + 394,240 = 12,118,000,640.
  CHECK(model.parameters == 12'118'000'640.0);
  CHECK(model.tensors.size() == 1 + 38 * 8 + 1);

  // In units of u: embedding 6.25 into fragment 0. 76 tensors of 4: one each to 1…23 (now 4), again
  // (now 8), fragment 0 (10.25), 1…23 (now 12), fragment 0 (14.25), the last five to 1…5 (now 16).
  // 152 tensors of 1 fill up from below: 6…23 from 12 to 19 takes 18 × 7 = 126, 1…5 from 16 to 19
  // takes 15, fragment 0 from 14.25 to 19.25 takes 5; the last 6 go to 1…6 (now 20). 77 norms go to
  // the seventeen at 19, 7…23: nine of them get five, eight get four.
  const double u = 26'214'400.0;
  std::vector<double> expected(24, 20.0 * u);
  expected[0] = 19.25 * u;
  for (std::size_t f = 7; f < 24; ++f)
    expected[f] = 19.0 * u + (f < 16 ? 5.0 : 4.0) * 5120.0;

  std::vector<double> sizes;
  for (const Tensor& t : model.tensors)
    sizes.push_back(t.parameters);
  CHECK(loads(sizes, 24) == expected);

  // bf16: two bytes a parameter. Mean 12,118,000,640 / 24 = 504.9 M; the largest is 524.288 M, 3.8
  // % above.
  const std::vector<double> bytes = bytes_of(model, 24, {});
  for (std::size_t f = 0; f < 24; ++f)
    CHECK(bytes[f] == 2.0 * expected[f]);
  CHECK(most(bytes) == 1'048'576'000.0);
  CHECK(most(bytes) / (model_wire_bytes(model) / 24.0) == doctest::Approx(1.03836).epsilon(1e-5));
}

TEST_CASE("bytes follow the wire's bits; a model without tensors has equal fragments") {
  ChargedModel model;
  model.parameters = 12e9;
  // 12e9 × 16 / 8 = 24e9 bytes, 1e9 in each of 24; recovery 3 × 24e9.
  CHECK(model_wire_bytes(model) == 24e9);
  CHECK(recovery_bytes(model) == 72e9);
  CHECK(bytes_of(model, 24, {}) == std::vector<double>(24, 1e9));
  model.wire_bits_per_parameter = 4.0;
  CHECK(model_wire_bytes(model) == 6e9);
  const WireFormat int4{.bits_per_parameter = 4.0};
  CHECK(bytes_of(model, 24, int4) == std::vector<double>(24, 2.5e8));

  const std::vector<double> bytes = bytes_of(model_12b(), 7, int4);
  CHECK(std::accumulate(bytes.begin(), bytes.end(), 0.0) == 12'118'000'640.0 / 2.0);
}

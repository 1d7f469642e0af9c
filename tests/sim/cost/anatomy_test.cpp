// Anatomy of a step: what leaves when, and what needs it.
#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

#include "sim/base/random.hpp"
#include "sim/cost/anatomy.hpp"

using namespace skerry;

namespace {

ChargedModel equal_layers(int layers, double parameters) {
  ChargedModel model;
  model.parameters = parameters;
  model.layers = layers;
  for (int i = 0; i < layers; ++i) {
    model.tensors.push_back({"layer" + std::to_string(i), parameters / layers, false, i});
  }
  return model;
}

ChargedModel transformer(int layers, bool tied) {
  ChargedModel model;
  model.layers = layers;
  model.tensors = transformer_tensors(layers, 4, 16, 10, tied);
  for (const Tensor& tensor : model.tensors) model.parameters += tensor.parameters;
  return model;
}

Protocol data_parallel(Anatomy anatomy) {
  Protocol row;
  row.family = Family::kDataParallel;
  row.anatomy = anatomy;
  row.wire.bits_per_parameter = 8.0;
  return row;
}

double sum_of(const std::vector<Piece>& pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), 0.0,
                         [](double sum, const Piece& piece) { return sum + piece.parameters; });
}

}  // namespace

TEST_CASE("three equal layers: 3L - 1 = 8 equal slices") {
  // Forward 0 1 2, then backward: a2 w2 a1 w1 w0. Layer 2 is ready after slice 5, 1 after 7, 0 after 8.
  Protocol row = data_parallel(Anatomy::kLayers);
  row.backward_share = equal_slices_backward_share(3);
  CHECK(row.backward_share == 5.0 / 8.0);
  const auto pieces = exchange_pieces(equal_layers(3, 3e6), row);
  REQUIRE(pieces.size() == 1);
  REQUIRE(pieces[0].size() == 3);
  const double ready[] = {5.0 / 8, 7.0 / 8, 1.0}, needed[] = {2.0 / 8, 1.0 / 8, 0.0};
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(pieces[0][k].ready == doctest::Approx(ready[k]).epsilon(1e-15));
    CHECK(pieces[0][k].needed == doctest::Approx(needed[k]).epsilon(1e-15));
    CHECK(pieces[0][k].bytes == 1e6);
  }
}

TEST_CASE("four buckets over two thirds of a step, and the last of two passes") {
  Protocol row = data_parallel(Anatomy::kBuckets);
  row.buckets = 4;
  row.accumulate_steps = 2;   // the second half of the step makes them
  const auto pieces = exchange_pieces(equal_layers(1, 4e6), row).front();
  REQUIRE(pieces.size() == 4);
  for (int k = 1; k <= 4; ++k) {
    const double alone = 1.0 / 3 + 2.0 / 3 * k / 4;
    CHECK(pieces[static_cast<std::size_t>(k - 1)].ready == doctest::Approx((1 + alone) / 2));
    CHECK(pieces[static_cast<std::size_t>(k - 1)].needed == 0.0);
  }
}

TEST_CASE("embedding with the first layer, head and last norm with the last") {
  // Width 4, ffn 16, 10 words: a layer has 4 x 16 + 2 x 64 + 2 x 4 = 200 parameters, the embedding and the
  // head 40 each, the last norm 4.
  Protocol row = data_parallel(Anatomy::kLayers);
  const auto pieces = exchange_pieces(transformer(3, false), row).front();
  CHECK(pieces[0].parameters == 200.0 + 40.0 + 4.0);
  CHECK(pieces[1].parameters == 200.0);
  CHECK(pieces[2].parameters == 200.0 + 40.0);
}

TEST_CASE("strided and consecutive layers") {
  Protocol row;
  row.anatomy = Anatomy::kLayers;
  row.fragments = 2;
  row.fragmentation = Fragmentation::kStridedLayers;
  auto pieces = exchange_pieces(equal_layers(5, 5.0), row);   // 0 2 4 and 1 3
  CHECK(pieces[0].size() == 3);
  CHECK(pieces[1].size() == 2);
  CHECK(pieces[0].back().needed == 0.0);
  row.fragmentation = Fragmentation::kConsecutiveLayers;      // 0 1 2 and 3 4: floor(2l/5)
  pieces = exchange_pieces(equal_layers(5, 5.0), row);
  CHECK(pieces[0].size() == 3);
  CHECK(pieces[1].back().needed > pieces[0].front().needed);
  // With an embedding outside: it is fragment 0, with head and norm, and the layers are the others.
  row.fragments = 3;
  const auto parameters = fragment_parameters(transformer(4, false), row);
  CHECK(parameters == std::vector<double>{84.0, 400.0, 400.0});
}

TEST_CASE("fragments that fall due together travel together, and no parameter is lost") {
  RandomStream random(11, "tests/anatomy", 0);
  for (int i = 0; i < 300; ++i) {
    const int layers = 2 + static_cast<int>(random.below(30));
    const int asked = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(layers)));
    const int period = 1 + static_cast<int>(random.below(20));
    Protocol row;
    row.anatomy = static_cast<Anatomy>(random.below(3));
    row.fragmentation = static_cast<Fragmentation>(random.below(3));
    row.backward_share = random.uniform();
    row.buckets = 1 + static_cast<int>(random.below(9));
    for (int p = 0; p < asked; ++p) {
      const int slot = p * period / asked;
      if (row.due_slots.empty() || row.due_slots.back() != slot) {
        row.due_slots.push_back(slot);
        row.due_together.emplace_back();
      }
      row.due_together.back().push_back(p);
    }
    row.fragments = static_cast<int>(row.due_slots.size());
    const ChargedModel model = equal_layers(layers, 1e6 * layers);
    const auto pieces = exchange_pieces(model, row);
    const auto parameters = fragment_parameters(model, row);
    REQUIRE(std::ssize(pieces) == row.fragments);
    double all = 0;
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      CHECK(sum_of(pieces[p]) == doctest::Approx(parameters[p]).epsilon(1e-12));
      CHECK(std::is_sorted(pieces[p].begin(), pieces[p].end(),
                           [](const Piece& a, const Piece& b) { return a.ready < b.ready; }));
      CHECK(pieces[p].back().ready <= 1.0);
      all += parameters[p];
    }
    CHECK(all == doctest::Approx(model.parameters).epsilon(1e-12));
    if (asked % period == 0 && layers % asked == 0) {   // H divides P: equal to P = H
      CHECK(*std::max_element(parameters.begin(), parameters.end()) ==
            doctest::Approx(*std::min_element(parameters.begin(), parameters.end())));
    }
  }
}

TEST_CASE("an exchange by itself against the published calculator's closed form") {
  // stall = max(0, V/W - (2T/3)(1 - 1/K) - tau T, V/(KW) - tau T)
  RandomStream random(12, "tests/anatomy", 0);
  for (int i = 0; i < 300; ++i) {
    Protocol row = data_parallel(Anatomy::kBuckets);
    row.buckets = 1 + static_cast<int>(random.below(200));
    const double k = row.buckets, step_s = 0.1 + random.uniform(), s_per_byte = random.uniform();
    const int tau = static_cast<int>(random.below(4));
    ChargedModel model;
    model.parameters = 10.0 * random.uniform();
    const double whole_s = model.parameters * s_per_byte;
    const double stall = std::max({0.0, whole_s - 2 * step_s / 3 * (1 - 1 / k) - tau * step_s,
                                   whole_s / k - tau * step_s});
    CHECK(late_s(exchange_pieces(model, row).front(), row.wire, step_s, tau, {0, 0, s_per_byte}) ==
          doctest::Approx(stall).epsilon(1e-9));
  }
}

TEST_CASE("what stands beside the wire") {
  // 8e6 parameters, int4 with 25 % overhead: 4e6 x 1.25 bytes. Copy at 8e6/s 1 s, quantise at 16e6/s 0.5 s
  // each way, merge at 4e6/s 2 s.
  const WireFormat wire{.bits_per_parameter = 4.0, .overhead_bytes_share = 0.25, .sync_fixed_s = 3.0,
                        .quantise_per_s = 16e6, .host_copy_per_s = 8e6, .merge_per_s = 4e6};
  CHECK(wire_bytes(wire, 8e6) == 5e6);
  CHECK(before_wire_s(wire, 8e6) == 1.5);
  CHECK(behind_wire_s(wire, 8e6) == 2.5);
  Protocol row;
  row.anatomy = Anatomy::kWholeStep;
  row.fragments = 1;
  row.wire = wire;
  ChargedModel model;
  model.parameters = 8e6;
  // Ready at 10 s; 3 fixed, 1.5 before, lead 0.25, 5 MB at 1 MB/s, 2.5 behind: 22.25 s. tau = 1: needed at 20.
  CHECK(late_s(exchange_pieces(model, row).front(), wire, 10.0, 1, {0.25, 0.0, 1e-6}) ==
        doctest::Approx(2.25));
}

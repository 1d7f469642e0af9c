// Against PyTorch in float64: golden.txt, made by make_golden.py.
#include <fstream>
#include <sstream>
#include <string>

#include "kernels/optimizer.hpp"
#include "tests/kernels/support.hpp"

using namespace support;

namespace {

struct Gradient {
  std::string name;
  double most = 0.0, norm = 0.0;
  std::vector<std::pair<std::size_t, double>> samples;
};

struct Golden {
  ModelShape shape;
  double loss = 0.0;
  std::vector<Gradient> gradients;
  std::vector<double> steps;
};

Gradient read_gradient(std::istringstream& line) {
  Gradient g;
  line >> g.name >> g.most >> g.norm;
  std::size_t index = 0;
  double value = 0.0;
  while (line >> index >> value)
    g.samples.emplace_back(index, value);
  return g;
}

std::vector<Golden> read_golden() {
  std::ifstream file(SKERRY_GOLDEN);
  REQUIRE(file);
  std::vector<Golden> list;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string word;
    line >> word;
    if (word == "config") {
      ModelShape s;
      line >> s.L >> s.C >> s.H >> s.T >> s.V >> s.B;
      list.emplace_back().shape = s;
    } else if (word == "loss") {
      line >> list.back().loss;
    } else if (word == "gradient") {
      list.back().gradients.push_back(read_gradient(line));
    } else if (word == "step") {
      line >> list.back().steps.emplace_back();
    }
  }
  return list;
}

void check_gradient(const Golden& golden, const Floats& g) {
  const std::vector<TensorInfo> list = tensors(golden.shape);
  REQUIRE(golden.gradients.size() == list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Gradient& good = golden.gradients[i];
    CAPTURE(good.name);
    REQUIRE(good.name == list[i].name);
    REQUIRE(good.samples.size() >= 10);
    const float* mine = g.data() + list[i].offset;
    double squares = 0.0, most = 0.0;
    for (std::size_t j = 0; j < list[i].size; ++j) {
      const double v = static_cast<double>(mine[j]);
      squares += v * v;
      most = std::max(most, std::abs(v));
    }
    CHECK(std::abs(std::sqrt(squares) - good.norm) <= 1e-5 * good.norm);
    CHECK(std::abs(most - good.most) <= 1e-5 * good.most);
    for (const auto& [index, value] : good.samples) {
      CHECK(std::abs(static_cast<double>(mine[index]) - value) <= 1e-5 * good.most);
    }
  }
}

}  // namespace

TEST_CASE("loss, gradients and ten AdamW steps agree with PyTorch in float64") {
  const std::vector<Golden> list = read_golden();
  REQUIRE(list.size() == 2);
  for (const Golden& golden : list) {
    const ModelShape& s = golden.shape;
    const auto rows = static_cast<std::size_t>(s.B * s.T);
    const Tokens in = hashed_tokens(11, rows, s.V), target = hashed_tokens(12, rows, s.V);
    for (const Isa isa : builds()) {
      CAPTURE(isa_name(isa));
      const Selected selected(isa);
      Floats p = hashed_parameters(s), g(p.size()), m(p.size()), v(p.size());
      Workspace w(s);
      const float loss = forward_backward(s, p, in, target, g, w);
      CHECK(std::abs(static_cast<double>(loss) - golden.loss) <= 2e-6);
      check_gradient(golden, g);
      REQUIRE(golden.steps.size() == 10);
      for (std::size_t step = 0; step < 10; ++step) {
        adamw_step(AdamW{}, 3e-3f, static_cast<std::int64_t>(step) + 1, g, p, m, v);
        const double after = static_cast<double>(forward_backward(s, p, in, target, g, w));
        CHECK(std::abs(after - golden.steps[step]) <= 1e-5);
      }
    }
  }
}

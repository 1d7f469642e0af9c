#include "kernels/model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/scalar.hpp"
#include "kernels/shape.hpp"

namespace skerry::kernels {

namespace {

constexpr double kWeightDeviation = 0.02;

// SplitMix64's finaliser (Steele, Lea, Flood 2014) over a counter.
std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

double signed_unit(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-52 - 1.0;
}

// Two independent normals (Marsaglia, Bray 1964), a function of the key alone.
void normal_pair(std::uint64_t key, double& a, double& b) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    const std::uint64_t k = mix(key + attempt);
    const double x = signed_unit(k), y = signed_unit(mix(k));
    const double s = x * x + y * y;
    if (s >= 1.0 || s == 0.0) continue;
    const double scale = std::sqrt(-2.0 * natural_log(s) / s);
    a = x * scale;
    b = y * scale;
    return;
  }
}

void fill_normal(std::uint64_t key, double deviation, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); i += 2) {
    double a = 0.0, b = 0.0;
    normal_pair(mix(key ^ mix(i)), a, b);
    out[i] = static_cast<float>(deviation * a);
    if (i + 1 < out.size()) out[i + 1] = static_cast<float>(deviation * b);
  }
}

}  // namespace

void check_shape(const ModelShape& s) {
  const auto require = [](bool good, const char* name, int found, const std::string& allowed) {
    if (good) return;
    throw std::invalid_argument(std::string("model shape: ") + name + " is " +
                                std::to_string(found) + ", must be " + allowed);
  };
  require(s.L >= 1 && s.L <= 1000, "L", s.L, "in 1 … 1000");
  require(s.C >= 1 && s.C <= 65536, "C", s.C, "in 1 … 65536");
  require(s.H >= 1 && s.C % s.H == 0, "H", s.H, "a positive divisor of C = " + std::to_string(s.C));
  require(s.T >= 1 && s.T <= 65536, "T", s.T, "in 1 … 65536");
  require(s.V >= 1 && s.V <= 1 << 20, "V", s.V, "in 1 … 1048576");
  require(s.B >= 1 && s.B <= (1 << 24) / s.T, "B", s.B,
          "in 1 … 2^24 / T = " + std::to_string((1 << 24) / s.T));
}

void require_size(const char* what, std::size_t found, std::size_t wanted) {
  if (found == wanted) return;
  throw std::invalid_argument(std::string("kernels: ") + what + " has " + std::to_string(found) +
                              " elements, wanted " + std::to_string(wanted));
}

std::vector<TensorInfo> tensors(const ModelShape& shape) {
  check_shape(shape);
  std::vector<TensorInfo> list;
  std::size_t offset = 0;
  const auto add = [&](std::string name, std::size_t size, bool embedding = false) {
    list.push_back({std::move(name), offset, size, embedding});
    offset += size;
  };
  const auto C = static_cast<std::size_t>(shape.C);
  add("wte", static_cast<std::size_t>(shape.V) * C, true);
  add("wpe", static_cast<std::size_t>(shape.T) * C, true);
  for (int l = 0; l < shape.L; ++l) {
    const std::string h = std::string("h").append(std::to_string(l)).append(".");
    add(h + "ln1.w", C);
    add(h + "ln1.b", C);
    add(h + "attn.qkv.w", 3 * C * C);
    add(h + "attn.qkv.b", 3 * C);
    add(h + "attn.proj.w", C * C);
    add(h + "attn.proj.b", C);
    add(h + "ln2.w", C);
    add(h + "ln2.b", C);
    add(h + "mlp.fc.w", 4 * C * C);
    add(h + "mlp.fc.b", 4 * C);
    add(h + "mlp.proj.w", 4 * C * C);
    add(h + "mlp.proj.b", C);
  }
  add("lnf.w", C);
  add("lnf.b", C);
  return list;
}

std::size_t parameter_count(const ModelShape& shape) {
  check_shape(shape);
  const auto C = static_cast<std::size_t>(shape.C);
  const std::size_t layer = 12 * C * C + 13 * C;
  return (static_cast<std::size_t>(shape.V) + static_cast<std::size_t>(shape.T) + 2) * C +
         static_cast<std::size_t>(shape.L) * layer;
}

void initialise(const ModelShape& shape, std::uint64_t seed, std::span<float> parameters) {
  require_size("parameters", parameters.size(), parameter_count(shape));
  std::uint64_t index = 0;
  for (const TensorInfo& t : tensors(shape)) {
    const std::span<float> values = parameters.subspan(t.offset, t.size);
    const std::uint64_t key = mix(mix(seed) + index++);
    const bool norm =
        t.name.ends_with("ln1.w") || t.name.ends_with("ln2.w") || t.name.ends_with("lnf.w");
    if (norm || t.name.ends_with(".b")) {
      std::fill(values.begin(), values.end(), norm ? 1.0f : 0.0f);
      continue;
    }
    const double residual = t.name.ends_with(".proj.w") ? 1.0 / std::sqrt(2.0 * shape.L) : 1.0;
    fill_normal(key, kWeightDeviation * residual, values);
  }
}

}  // namespace skerry::kernels

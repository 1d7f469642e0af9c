#include "kernels/isa.hpp"

#include <atomic>
#include <stdexcept>
#include <string>

#include "kernels/ops.hpp"

namespace skerry::kernels {

namespace avx2 {
extern const Ops kOps;
}
namespace avx512 {
extern const Ops kOps;
}

namespace {

Isa best() {
  return supported(Isa::kAvx512) ? Isa::kAvx512 : Isa::kAvx2;
}

std::atomic<Isa>& chosen() {
  static std::atomic<Isa> isa{best()};
  return isa;
}

void require(Isa isa) {
  if (supported(isa)) return;
  throw std::invalid_argument("kernels: this processor or build has no " +
                              std::string(isa_name(isa)));
}

}  // namespace

bool supported(Isa isa) {
  if (isa == Isa::kAvx2) return __builtin_cpu_supports("x86-64-v3") != 0;
#ifdef SKERRY_HAS_AVX512
  return __builtin_cpu_supports("x86-64-v4") != 0;
#else
  return false;
#endif
}

Isa current_isa() {
  return chosen().load(std::memory_order_relaxed);
}

void select_isa(Isa isa) {
  require(isa);
  chosen().store(isa, std::memory_order_relaxed);
}

std::string_view isa_name(Isa isa) {
  return isa == Isa::kAvx2 ? "avx2" : "avx512";
}

const Ops& ops(Isa isa) {
  require(isa);
#ifdef SKERRY_HAS_AVX512
  if (isa == Isa::kAvx512) return avx512::kOps;
#endif
  return avx2::kOps;
}

const Ops& ops() {
  return ops(current_isa());
}

}  // namespace skerry::kernels

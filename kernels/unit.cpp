// The kernels, compiled once for each instruction set (SKERRY_ISA names the build). Nothing here
// may emit an inline symbol of its own or of the standard library: the linker would keep one copy
// for both builds.
#include "kernels/attention.hpp"
#include "kernels/gemm.hpp"
#include "kernels/layers.hpp"
#include "kernels/ops.hpp"
#include "kernels/update.hpp"

namespace skerry::kernels::SKERRY_ISA {

extern const Ops kOps;
constinit const Ops kOps = {
    .product = product,
    .pack_transposed = pack_transposed,
    .pack = pack,
    .add_rows = add_rows,
    .embed = embed,
    .embed_backward = embed_backward,
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .attention = attention,
    .attention_backward = attention_backward,
    .gelu = gelu,
    .cross_entropy = cross_entropy,
    .sum_of_squares = sum_of_squares,
    .multiply = multiply,
    .adamw = adamw,
    .add_scaled = add_scaled,
    .combine = combine,
    .nesterov = nesterov,
};

}  // namespace skerry::kernels::SKERRY_ISA

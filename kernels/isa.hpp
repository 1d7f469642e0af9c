// Which build of the kernels runs. Both give the same bits; the choice is speed alone.
#pragma once

#include <string_view>

namespace skerry::kernels {

enum class Isa { kAvx2, kAvx512 };

bool supported(Isa isa);             // by this processor and operating system
Isa current_isa();                   // best supported one, until select_isa
void select_isa(Isa isa);            // requires supported(isa)
std::string_view isa_name(Isa isa);  // "avx2", "avx512"

}  // namespace skerry::kernels

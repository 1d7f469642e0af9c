#pragma once

namespace skerry {

// Moves when golden numbers move: results of sweeps that were stored under another one count as
// missing.
inline constexpr int kNumbersVersion = 3;

}  // namespace skerry

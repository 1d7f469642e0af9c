// What a preset of `protocols` stands for. Sources: DiLoCo arXiv 2311.08105 (H = 500), Streaming
// DiLoCo arXiv 2501.18512 (H = 100, τ = 1), Decoupled DiLoCo arXiv 2604.21428 (H = P = 24, τ = 2, K
// = 1, grace).
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/json.hpp"

namespace skerry::reader {

const std::vector<std::string>& preset_names();

bool is_data_parallel(const std::string& preset);  // the family; else DiLoCo

// Keys of `protocols/*` that the preset fixes unless they are written: resolved JSON. "quorum" may
// be "all". fragments and overlap_steps are upper ends: the reader takes less when H or the tensors
// are few.
const Json& preset_values(const std::string& preset);

// Why the preset refuses a key of `protocols/*`; "" when it takes it.
std::string refused_key(const std::string& preset, const std::string& key);

}  // namespace skerry::reader

// The summary as a JSON tree; shared by the files of this folder alone.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/report/record.hpp"

namespace skerry {

nlohmann::ordered_json summary_tree(const RunRecord& record);

}  // namespace skerry

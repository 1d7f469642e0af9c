// The numbers of summary.json that `expect` may name.
#pragma once

#include <string>
#include <vector>

namespace skerry {

// Dotted paths: "goodput", "chip_seconds.lost.down", "loss.final"; '*' stands for a name
// ("by_learner.*.goodput").
const std::vector<std::string>& known_metrics();

bool is_known_metric(const std::string& metric);

// Metrics that exist only when the protocol was trained.
bool needs_training(const std::string& metric);

}  // namespace skerry

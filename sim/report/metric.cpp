#include <nlohmann/json.hpp>

#include "sim/report/number_text.hpp"
#include "sim/report/record.hpp"
#include "sim/report/summary_tree.hpp"

namespace skerry {

using Json = nlohmann::ordered_json;

namespace {

// The value at a dotted path; the longest key that fits goes first, since names may hold dots.
const Json* walk(const Json& tree, const std::string& path) {
  if (path.empty()) return &tree;
  if (!tree.is_object()) return nullptr;
  for (std::size_t end = path.size(); end != std::string::npos && end > 0;
       end = path.rfind('.', end - 1)) {
    const auto child = tree.find(path.substr(0, end));
    if (child != tree.end()) {
      return walk(*child, end == path.size() ? std::string() : path.substr(end + 1));
    }
  }
  return nullptr;
}

void flatten(const Json& tree, const std::string& prefix,
             std::vector<std::pair<std::string, std::string>>& out) {
  for (const auto& [key, value] : tree.items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    if (value.is_object()) {
      flatten(value, path, out);
    } else if (value.is_string()) {
      out.emplace_back(path, value.get<std::string>());
    } else if (value.is_number_float()) {
      out.emplace_back(path, shortest(value.get<double>()));
    } else {
      out.emplace_back(path, value.is_null() ? std::string() : value.dump());
    }
  }
}

}  // namespace

Metric metric_of(const RunRecord& record, const std::string& path) {
  const Json tree = summary_tree(record);
  const Json* value = walk(tree, path);
  if (value == nullptr || !(value->is_number() || value->is_null())) return {};
  return {true, value->is_null() ? std::nullopt : std::optional<double>(value->get<double>())};
}

std::vector<std::pair<std::string, std::string>> scalars_of(const RunRecord& record) {
  Json tree = summary_tree(record);
  for (const char* key : {"skerry", "by_learner", "by_device", "warnings", "failure"})
    tree.erase(key);
  for (const char* by_pair : {"links", "control"}) {
    if (tree.contains("wan")) tree["wan"].erase(by_pair);
  }
  std::vector<std::pair<std::string, std::string>> out;
  flatten(tree, "", out);
  return out;
}

}  // namespace skerry

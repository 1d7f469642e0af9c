#include "sim/report/sweep_record.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/summary_tree.hpp"

namespace skerry {

using Json = nlohmann::ordered_json;

namespace {

std::string compact(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The value below a dotted path of keys without dots.
const Json* at_path(const Json& tree, std::string_view path) {
  const Json* place = &tree;
  while (!path.empty()) {
    if (!place->is_object()) return nullptr;
    const std::size_t dot = path.find('.');
    const auto found = place->find(std::string(path.substr(0, dot)));
    if (found == place->end()) return nullptr;
    place = &*found;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return place;
}

std::string cell_text(const Json* value) {
  if (value == nullptr || value->is_null()) return {};
  if (value->is_string()) return value->get<std::string>();
  if (value->is_number_float()) return shortest(value->get<double>());
  return value->dump();
}

// The text of a column's value; a line with a value of another type is damaged.
std::string checked_cell(const Json* value, const Column& column) {
  const bool fits = value == nullptr || value->is_null() ||
                    (column.is_number ? value->is_number() : !value->is_structured());
  if (!fits) throw BadInput("runs.jsonl", "", "holds a line with a bad " + column.name);
  return cell_text(value);
}

double or_nan(const Json& value) {
  return value.is_null() ? std::nan("") : value.get<double>();
}

}  // namespace

std::string point_result_json(const RunRecord& record, const std::vector<LossPoint>& curve) {
  Json out{{"summary", summary_tree(record)}};
  if (record.loss) {
    Json points = Json::array();
    for (const LossPoint& p : curve)
      points.push_back({p.simulated_s, p.tokens, p.trained_tokens,
                        std::isfinite(p.loss) ? Json(p.loss) : Json(nullptr)});
    out["curve"] = std::move(points);
  }
  return compact(out);
}

std::string point_line(const PointLine& line) {
  std::string point;
  for (const auto& [axis, value] : line.point)
    point += (point.empty() ? "" : ",") + compact(axis) + ":" + value;
  std::string out = fmt::format(
      R"({{"id":"{}","status":"{}","protocol":{},"seed":{},"point":{{{}}},"wall_s":{},)", line.id,
      line.result.empty() ? "failed" : "ok", compact(line.protocol), line.seed, point,
      shortest(std::round(1e6 * line.wall_s) / 1e6));
  // A result is an object of its own: its members go in without its braces.
  out += line.result.empty() ? R"("summary":null)" : line.result.substr(1, line.result.size() - 2);
  out += ",\"failure\":" + (line.failure.empty() ? "null" : compact(line.failure));
  out += ",\"log\":" + (line.log.empty() ? "null" : compact(line.log));
  return out + "}\n";
}

std::optional<PointHead> point_head(std::string_view line) {
  constexpr std::string_view kId = "{\"id\":\"", kStatus = "\",\"status\":\"";
  if (!line.starts_with(kId) || !line.ends_with("}")) return std::nullopt;
  // Blocks that a crashed machine left empty; no control character stands in what was written.
  if (line.find('\0') != std::string_view::npos) return std::nullopt;
  PointHead head;
  const char* digits = line.data() + kId.size();
  line.remove_prefix(kId.size());
  if (line.size() < 16 + kStatus.size()) return std::nullopt;
  const auto parsed = std::from_chars(digits, digits + 16, head.id, 16);
  if (parsed.ptr != digits + 16) return std::nullopt;
  line.remove_prefix(16);
  if (!line.starts_with(kStatus)) return std::nullopt;
  line.remove_prefix(kStatus.size());
  head.ok = line.starts_with("ok\"");
  if (!head.ok && !line.starts_with("failed\"")) return std::nullopt;
  return head;
}

const std::vector<Column>& point_columns() {
  static const std::vector<Column> columns = [] {
    RunRecord whole;
    whole.loss = TrainedLoss{};
    whole.loss->bytes_per_token = 1.0;
    whole.loss->tuned_rate = 1.0;
    std::vector<Column> out;
    for (const auto& [name, text] : scalars_of(whole)) {
      if (name == "protocol" || name == "seed" || name == "status") continue;
      const bool is_text = name == "preset" || name == "flagged" || name == "wan.busiest_port" ||
                           name.ends_with("fingerprint");
      out.push_back({name, !is_text});
    }
    return out;
  }();
  return columns;
}

int column_of(const std::string& metric) {
  static const std::map<std::string, int> known = [] {
    std::map<std::string, int> out;
    for (std::size_t i = 0; i < point_columns().size(); ++i)
      out[point_columns()[i].name] = int(i);
    return out;
  }();
  const auto found = known.find(metric);
  return found == known.end() ? -1 : found->second;
}

PointCells point_cells(std::string_view line) {
  try {
    const Json tree = Json::parse(line.begin(), line.end());
    PointCells out;
    out.wall_s = tree.at("wall_s");
    out.cells.resize(point_columns().size());
    if (tree.at("status") != "ok") {
      out.status = "failed";
      return out;
    }
    const Json& summary = tree.at("summary");
    out.status = summary.at("status");
    for (std::size_t i = 0; i < out.cells.size(); ++i)
      out.cells[i] = checked_cell(at_path(summary, point_columns()[i].name), point_columns()[i]);
    out.warnings = summary.at("warnings").get<std::vector<std::string>>();
    if (tree.contains("curve")) {
      for (const Json& p : tree["curve"])
        out.curve.push_back({or_nan(p.at(0)), or_nan(p.at(1)), or_nan(p.at(2)), or_nan(p.at(3))});
    }
    return out;
  } catch (const Json::exception& error) {
    throw BadInput("runs.jsonl", "", std::string("holds a line that is no point: ") + error.what());
  }
}

std::optional<double> metric_in(const std::string& result, const std::string& metric) {
  const Json tree = Json::parse(result);
  const Json* value = at_path(tree.at("summary"), metric);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

}  // namespace skerry

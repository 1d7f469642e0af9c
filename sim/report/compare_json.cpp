// What `compare` and `diff` say, for scripts.
#include <nlohmann/json.hpp>

#include "sim/report/compare.hpp"
#include "sim/report/diff.hpp"

namespace skerry {

using Json = nlohmann::ordered_json;

namespace {

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json moved_json(const Moved& m) {
  Json out{{"row", m.row}, {"seed", m.seed}, {"metric", m.metric}, {"outside", m.outside}};
  if (m.metric == "status") {
    out["old"] = m.status_before;
    out["new"] = m.status_now;
    return out;
  }
  out["old"] = or_null(m.before);
  out["new"] = or_null(m.now);
  out["tolerance"] = tolerance_text(m.tolerance);
  return out;
}

std::string whole(const Json& out) {
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string compared_json(const std::vector<Compared>& all) {
  Json out{{"skerry", "compare/1"}, {"comparisons", Json::array()}};
  for (const Compared& compared : all) {
    constexpr const char* kVerdicts[] = {"inside", "outside", "not comparable"};
    Json moved = Json::array();
    for (const Moved& m : compared.moved)
      moved.push_back(moved_json(m));
    out["comparisons"].push_back({{"scenario", compared.name},
                                  {"baseline", compared.baseline},
                                  {"result", compared.result},
                                  {"verdict", kVerdicts[exit_code_of(compared)]},
                                  {"differs", compared.differs},
                                  {"runs", compared.runs},
                                  {"values", compared.values},
                                  {"outside", outside_of(compared)},
                                  {"moved", std::move(moved)}});
  }
  return whole(out);
}

std::string diff_json(const Numbers& a, const Numbers& b) {
  Json out{{"skerry", "diff/1"},
           {"a", a.label},
           {"b", b.label},
           {"scenario", {a.scenario, b.scenario}},
           {"hash", {a.hash, b.hash}},
           {"inputs", nullptr},
           {"rows", Json::array()}};
  if (!a.inputs.empty() && !b.inputs.empty()) {
    out["inputs"] = Json::array();
    for (const ChangedInput& input : changed_inputs(a.inputs, b.inputs))
      out["inputs"].push_back({{"pointer", input.pointer}, {"a", input.a}, {"b", input.b}});
  }
  for (const ChangedRow& row : changed_rows(a, b)) {
    Json metrics = Json::array();
    for (const ChangedMetric& m : row.changed) {
      const Interval& d = m.difference;
      metrics.push_back({{"metric", m.metric},
                         {"n", d.n},
                         {"a", d.n > 0 ? Json(m.a) : Json(nullptr)},
                         {"b", d.n > 0 ? Json(m.b) : Json(nullptr)},
                         {"difference", d.n > 0 ? Json(d.mean) : Json(nullptr)},
                         {"interval", d.low && d.high ? Json{*d.low, *d.high} : Json(nullptr)},
                         {"relative", or_null(m.relative)},
                         {"null_in_a", m.null_in_a},
                         {"null_in_b", m.null_in_b}});
    }
    out["rows"].push_back({{"row", row.row},
                           {"seeds", row.seeds},
                           {"notes", row.notes},
                           {"metrics", std::move(metrics)}});
  }
  return whole(out);
}

}  // namespace skerry

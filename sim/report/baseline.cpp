#include "sim/report/baseline.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <sstream>
#include <tuple>

#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/report/sweep_record.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/text.hpp"

namespace skerry {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kBaseline = "baseline/1";

void flatten(const Json& tree, const std::string& prefix, KeptRun& out) {
  for (const auto& [key, value] : tree.items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    if (value.is_object()) {
      flatten(value, path, out);
    } else if (value.is_number()) {
      out.metrics.emplace_back(path, value.get<double>());
    } else if (value.is_null()) {
      out.metrics.emplace_back(path, std::nullopt);
    }
  }
}

// `tree`: a summary.
KeptRun kept_run(Json tree, const std::string& row) {
  if (tree.at("skerry") != "summary/1") {
    throw BadInput(row, "/skerry",
                   "found " + reader::shown(tree["skerry"]) + ", allowed summary/1");
  }
  KeptRun out;
  out.row = row;
  out.seed = tree.at("seed");
  out.status = tree.at("status");
  if (out.status == "failed") return out;
  out.tape = tree.at("tape_fingerprint");
  for (const char* key : {"seed", "by_learner", "by_device", "fingerprint"})
    tree.erase(key);
  for (const char* by_pair : {"links", "control"})
    tree.at("wan").erase(by_pair);
  flatten(tree, "", out);
  return out;
}

Tolerance read_tolerance(const Json& value, const std::string& label, const std::string& pointer) {
  const std::string allowed =
      "found " + reader::shown(value) +
      ", allowed \"exact\", {\"absolute\": x} or {\"relative\": x} with x ≥ 0";
  if (value == "exact") return {};
  if (!value.is_object() || value.size() != 1) throw BadInput(label, pointer, allowed);
  const std::string key = value.begin().key();
  const Json& size = value.begin().value();
  if ((key != "absolute" && key != "relative") || !size.is_number() || size.get<double>() < 0) {
    throw BadInput(label, pointer, allowed);
  }
  return {key == "absolute" ? ToleranceKind::kAbsolute : ToleranceKind::kRelative,
          size.get<double>()};
}

Tolerances read_tolerances(const Json& tree, const std::string& label, const std::string& pointer) {
  if (!tree.is_object()) {
    throw BadInput(label, pointer, "found " + reader::shown(tree) + ", allowed an object");
  }
  Tolerances out;
  for (const auto& [metric, value] : tree.items()) {
    out.emplace_back(metric, read_tolerance(value, label, reader::under(pointer, metric)));
  }
  return out;
}

Json tolerances_tree(const Tolerances& tolerances) {
  Json out = Json::object();
  for (const auto& [metric, tolerance] : tolerances) {
    if (tolerance.kind == ToleranceKind::kExact) {
      out[metric] = "exact";
    } else {
      const char* kind = tolerance.kind == ToleranceKind::kAbsolute ? "absolute" : "relative";
      out[metric] = {{kind, tolerance.size}};
    }
  }
  return out;
}

KeptRun read_run(const Json& tree, const std::string& row, std::uint64_t seed,
                 const std::string& label, const std::string& pointer) {
  KeptRun run;
  run.row = row;
  run.seed = seed;
  for (const auto& [metric, value] : tree.items()) {
    if (metric == "status" && value.is_string()) {
      run.status = value;
    } else if (value.is_number()) {
      run.metrics.emplace_back(metric, value.get<double>());
    } else if (value.is_null()) {
      run.metrics.emplace_back(metric, std::nullopt);
    } else {
      throw BadInput(label, reader::under(pointer, metric),
                     "found " + reader::shown(value) + ", allowed a number or null");
    }
  }
  if (run.status.empty()) throw BadInput(label, pointer, "has no status");
  return run;
}

void read_rows(const Json& rows, Numbers& out) {
  for (const auto& [row, runs] : rows.items()) {
    const std::string at = reader::under("/rows", row);
    if (!runs.is_object()) throw BadInput(out.label, at, "is no object of seeds");
    for (const std::uint64_t seed : out.seeds) {
      const std::string name = fmt::format("seed-{}", seed);
      if (!runs.contains(name)) continue;  // a sweep may have points of few seeds
      if (!runs[name].is_object()) throw BadInput(out.label, at + "/" + name, "is no object");
      out.runs.push_back(read_run(runs[name], row, seed, out.label, at + "/" + name));
    }
    for (const auto& [name, run] : runs.items()) {
      const bool known = std::any_of(out.seeds.begin(), out.seeds.end(), [&](std::uint64_t seed) {
        return name == fmt::format("seed-{}", seed);
      });
      if (!known) throw BadInput(out.label, reader::under(at, name), "is not one of /seeds");
    }
  }
}

}  // namespace

Tolerance default_tolerance(const std::string& metric) {
  for (const char* count :
       {"learner_steps", "syncer_steps", "recoveries.count", "loss.n", "faults.*"}) {
    if (reader::matches(count, metric)) return {};
  }
  if (metric.starts_with("closure_")) return {ToleranceKind::kAbsolute, 1e-9};
  const bool loss = metric.starts_with("loss.") || metric == "target_loss";
  return {ToleranceKind::kRelative, loss ? 1e-6 : 1e-9};
}

std::string tolerance_text(const Tolerance& tolerance) {
  if (tolerance.kind == ToleranceKind::kExact) return "exact";
  return fmt::format("{} {:g}", tolerance.kind == ToleranceKind::kAbsolute ? "abs" : "rel",
                     tolerance.size);
}

std::vector<std::string> runs_of_comparison(const std::string& comparison_json,
                                            const std::string& label) {
  std::vector<std::string> out;
  try {
    const Json tree = Json::parse(comparison_json);
    for (const auto& [protocol, row] : tree.at("protocols").items()) {
      for (const std::uint64_t seed : tree.at("seeds").get<std::vector<std::uint64_t>>())
        out.push_back(fmt::format("{}/seed-{}", protocol, seed));
    }
  } catch (const Json::exception& error) {
    throw BadInput(label, "", std::string("not a comparison that Skerry wrote: ") + error.what());
  }
  return out;
}

Numbers numbers_of_run(const std::string& comparison_json,
                       const std::vector<std::string>& summaries, const std::string& inputs,
                       const std::string& folder) {
  Numbers out;
  out.label = folder;
  out.schema = "run/1";
  out.inputs = inputs;
  try {
    const Json tree = Json::parse(comparison_json);
    out.scenario = tree.at("scenario");
    out.hash = tree.at("hash");
    out.seeds = tree.at("seeds").get<std::vector<std::uint64_t>>();
    for (const std::string& text : summaries) {
      const Json summary = Json::parse(text);
      out.runs.push_back(kept_run(summary, summary.at("protocol")));
    }
    if (!Json::accept(inputs)) throw BadInput(folder, "", "holds no resolved scenario");
  } catch (const Json::exception& error) {
    throw BadInput(folder, "", std::string("not a run that Skerry wrote: ") + error.what());
  }
  return out;
}

namespace {

// Rows of a CSV with quotes; without the line break at the end of each.
std::vector<std::vector<std::string>> csv_rows(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row(1);
  bool quotes = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quotes && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      row.back() += text[++i];
    } else if (c == '"') {
      quotes = !quotes;
    } else if (!quotes && c == ',') {
      row.emplace_back();
    } else if (!quotes && c == '\n') {
      rows.push_back(std::move(row));
      row.assign(1, {});
    } else {
      row.back() += c;
    }
  }
  return rows;
}

// One row of table.csv: a point of the design as it is now, under the name of its combination.
struct TableRow {
  std::string id, row;
  std::uint64_t seed = 0;
};

std::vector<TableRow> table_rows(const std::string& table_csv, const std::string& folder) {
  const std::vector<std::vector<std::string>> rows = csv_rows(table_csv);
  const std::vector<std::string> head = rows.empty() ? std::vector<std::string>() : rows[0];
  const auto protocol = std::size_t(std::find(head.begin(), head.end(), "protocol") - head.begin());
  if (head.empty() || head[0] != "id" || protocol + 2 >= head.size()) {
    throw BadInput(folder + "/table.csv", "", "is no table of a sweep");
  }
  std::vector<TableRow> out;
  for (std::size_t r = 1; r < rows.size(); ++r) {
    const std::vector<std::string>& cells = rows[r];
    TableRow one;
    const std::string& seed = cells.size() == head.size() ? cells[protocol + 1] : cells[0];
    const auto parsed = std::from_chars(seed.data(), seed.data() + seed.size(), one.seed);
    if (cells.size() != head.size() || parsed.ptr != seed.data() + seed.size()) {
      throw BadInput(folder + "/table.csv", "",
                     fmt::format("row {} is no row of a sweep's table", r));
    }
    one.id = cells[0];
    for (std::size_t a = 1; a < protocol; ++a)
      one.row += head[a] + "=" + cells[a] + " ";
    one.row += cells[protocol];
    out.push_back(std::move(one));
  }
  return out;
}

// Of one id the last line with status "ok" counts, else its last line.
std::map<std::string, Json> records_of(const std::vector<TableRow>& rows,
                                       const std::string& lines) {
  std::map<std::string, Json> records;
  for (const TableRow& row : rows)
    records.emplace(row.id, Json());
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const std::optional<PointHead> head = point_head(line);
    if (!head) continue;  // cut short or damaged: its point is done again
    const auto place = records.find(fmt::format("{:016x}", head->id));
    if (place == records.end()) continue;  // of an earlier design
    Json record = Json::parse(line, nullptr, false);
    if (!record.is_object()) continue;
    if (place->second.is_null() || head->ok || place->second.at("status") == "failed") {
      place->second = std::move(record);
    }
  }
  return records;
}

std::vector<KeptRun> points_of(const std::string& table_csv, const std::string& lines,
                               const std::string& folder) {
  const std::vector<TableRow> rows = table_rows(table_csv, folder);
  const std::map<std::string, Json> records = records_of(rows, lines);
  std::vector<KeptRun> out;
  for (const TableRow& row : rows) {
    const Json& record = records.at(row.id);
    if (record.is_null()) continue;
    if (record.at("status") == "ok") {
      out.push_back(kept_run(record.at("summary"), row.row));
      continue;
    }
    KeptRun failed;
    failed.row = row.row;
    failed.seed = row.seed;
    failed.status = "failed";
    out.push_back(std::move(failed));
  }
  return out;
}

}  // namespace

Numbers numbers_of_sweep(const std::string& manifest_json, const std::string& sweep_json,
                         const std::string& table_csv, const std::string& lines,
                         const std::string& folder) {
  Numbers out;
  out.label = folder;
  out.schema = "sweep/1";
  out.inputs = sweep_json;
  try {
    const Json manifest = Json::parse(manifest_json);
    out.scenario = manifest.at("sweep");
    if (manifest.contains("ended") && manifest["ended"].is_null()) {
      throw BadInput(folder, "",
                     "is a sweep that is still running or was killed, so that its table may be of "
                     "an earlier design: run the same `skerry sweep` again first");
    }
    Json sweep = Json::parse(sweep_json);
    sweep.erase("about");
    out.hash = fmt::format("{:08x}", hash64(sweep.dump()) & 0xffffffffU);
    out.runs = points_of(table_csv, lines, folder);
  } catch (const Json::exception& error) {
    throw BadInput(folder, "", std::string("not a sweep that Skerry wrote: ") + error.what());
  }
  // Shards and interrupted sweeps finish in another order.
  std::stable_sort(out.runs.begin(), out.runs.end(), [](const KeptRun& a, const KeptRun& b) {
    return std::tie(a.row, a.seed) < std::tie(b.row, b.seed);
  });
  for (const KeptRun& run : out.runs)
    out.seeds.push_back(run.seed);
  std::sort(out.seeds.begin(), out.seeds.end());
  out.seeds.erase(std::unique(out.seeds.begin(), out.seeds.end()), out.seeds.end());
  return out;
}

std::string baseline_to_json(const Numbers& numbers) {
  Json out;
  out["skerry"] = kBaseline;
  out["scenario"] = numbers.scenario;
  out["hash"] = numbers.hash;
  out["seeds"] = numbers.seeds;
  out["rows"] = Json::object();
  for (const KeptRun& run : numbers.runs) {
    Json& kept = out["rows"][run.row][fmt::format("seed-{}", run.seed)];
    kept["status"] = run.status;
    for (const auto& [metric, value] : run.metrics)
      kept[metric] = value ? Json(*value) : Json(nullptr);
  }
  out["tolerances"] = tolerances_tree(numbers.tolerances);
  return out.dump(1) + "\n";
}

Numbers baseline_from_json(const std::string& text, const std::string& label) {
  const Json tree = reader::parse_strict(text, label);
  Numbers out;
  out.label = label;
  if (!tree.is_object() || !tree.contains("skerry")) {
    throw BadInput(label, "", "is neither a baseline nor a folder of results");
  }
  if (tree["skerry"] != kBaseline) {
    throw BadInput(label, "/skerry",
                   "found " + reader::shown(tree["skerry"]) + ", allowed \"baseline/1\"");
  }
  const std::vector<std::string> known{"skerry", "scenario", "hash", "seeds", "rows", "tolerances"};
  for (const auto& [key, value] : tree.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw BadInput(label, reader::under("", key),
                     "unknown key" + reader::did_you_mean(key, known));
    }
  }
  try {
    out.schema = kBaseline;
    out.scenario = tree.at("scenario");
    out.hash = tree.at("hash");
    out.seeds = tree.at("seeds").get<std::vector<std::uint64_t>>();
    read_rows(tree.at("rows"), out);
    if (tree.contains("tolerances")) {
      out.tolerances = read_tolerances(tree["tolerances"], label, "/tolerances");
    }
  } catch (const Json::exception& error) {
    throw BadInput(label, "", std::string("not a baseline that Skerry wrote: ") + error.what());
  }
  return out;
}

Tolerances tolerances_from_json(const std::string& text, const std::string& label) {
  return read_tolerances(reader::parse_strict(text, label), label, "");
}

std::string schema_of_json(const std::string& text) {
  const Json tree = Json::parse(text, nullptr, false);
  if (!tree.is_object() || !tree.contains("skerry") || !tree["skerry"].is_string()) return "";
  return tree["skerry"];
}

}  // namespace skerry

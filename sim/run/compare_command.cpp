#include "sim/run/compare_command.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <unistd.h>

#include "sim/base/error.hpp"
#include "sim/report/compare.hpp"
#include "sim/report/layout.hpp"
#include "sim/run/folder.hpp"
#include "sim/scenario/load.hpp"

namespace skerry {

namespace {

namespace fs = std::filesystem;

// Standard output and error are written through; anything else that is there and no regular file
// is left alone.
void write_by_rename(const std::string& path, const std::string& text) {
  for (const auto& [name, stream] : {std::pair{"/dev/stdout", stdout}, {"/dev/stderr", stderr}}) {
    if (path != name) continue;
    if (std::fwrite(text.data(), 1, text.size(), stream) == text.size()) return;
    throw BadInput(path, "", "cannot be written");
  }
  const fs::path target(path);
  const fs::file_status there = fs::symlink_status(target);
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    throw BadInput(path, "", "is there already and is no regular file");
  }
  const std::string name = fmt::format(".{}.tmp-{}", target.filename().string(), getpid());
  const fs::path temporary = target.parent_path() / name;
  try {
    write_text(temporary.string(), text);
    fs::rename(temporary, target);
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw BadInput(path, "", std::string("cannot be written: ") + error.what());
  }
}

// The baseline that stands at `path`, if any; anything else there is left alone.
std::optional<Numbers> standing_baseline(const std::string& path) {
  if (!fs::exists(fs::symlink_status(path))) return {};
  if (!fs::is_regular_file(path)) {
    throw BadInput(path, "", "is no baseline file, so --update does not write there");
  }
  return baseline_from_json(read_text(path), path);
}

// What --update is about to do, all of it checked.
struct Update {
  std::string path, text;
  bool exists = false, same = false;
  std::string moved;  // against the baseline that stands there
};

Update prepared(const std::string& path, Numbers now, const Tolerances& extra) {
  for (const KeptRun& run : now.runs) {
    if (run.status == "failed") {
      throw BadInput(
          now.label, "",
          fmt::format("{}/seed-{} failed: no baseline is made of it", run.row, run.seed));
    }
  }
  if (now.runs.empty()) throw BadInput(now.label, "", "has no finished run");
  const std::optional<Numbers> before = standing_baseline(path);
  Update out{path, {}, before.has_value(), false, {}};
  if (before) {
    out.moved = compared_text(compare_numbers(*before, now, extra));
    now.tolerances = before->tolerances;
  }
  if (!extra.empty()) now.tolerances = extra;
  out.text = baseline_to_json(now);
  if (out.text.size() > kMaxFileBytes) {
    throw BadInput(now.label, "",
                   fmt::format("gives a baseline of {} bytes, allowed at most {}: compare the "
                               "folders themselves",
                               out.text.size(), kMaxFileBytes));
  }
  out.same = before && read_text(path) == out.text;
  return out;
}

void carry_out(const Update& update) {
  fmt::print("{}", update.moved);
  if (!update.same) write_by_rename(update.path, update.text);
  fmt::print("{}: {}\n", update.path,
             update.same     ? "stands as it is"
             : update.exists ? "rewritten"
                             : "written");
}

std::vector<Numbers> results_below(const std::string& root) {
  std::vector<std::string> folders;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (entry.path().filename().string().starts_with('.')) continue;  // still being written
    if (is_result_folder(entry.path().string())) folders.push_back(entry.path().string());
  }
  if (folders.empty()) throw BadInput(root, "", "holds no folder of a finished run or sweep");
  std::sort(folders.begin(), folders.end());
  std::vector<Numbers> out;
  for (const std::string& folder : folders)
    out.push_back(read_numbers(folder));
  return out;
}

// Files of the folder by name; a bench/1 file beside them belongs to tools/bench.
std::map<std::string, Numbers> baselines_below(const std::string& root) {
  std::map<std::string, Numbers> out;
  for (const auto& entry : fs::directory_iterator(root)) {
    const fs::path& path = entry.path();
    if (!entry.is_regular_file() || path.extension() != ".json") continue;
    const std::string text = read_text(path.string());
    if (schema_of_json(text) == "bench/1") continue;
    out.emplace(path.stem().string(), baseline_from_json(text, path.string()));
  }
  return out;
}

Compared missing(const std::string& name, const std::string& sentence) {
  Compared out;
  out.name = name;
  out.differs = {sentence};
  return out;
}

// Of several results with the baseline's name the one with its hash counts.
Compared compare_named(const std::string& name, const Numbers& baseline,
                       const std::vector<Numbers>& results, const Tolerances& extra) {
  std::vector<const Numbers*> found, same_hash;
  for (const Numbers& result : results) {
    if (result.scenario != baseline.scenario) continue;
    found.push_back(&result);
    if (result.hash == baseline.hash) same_hash.push_back(&result);
  }
  if (same_hash.size() == 1) found = same_hash;
  if (found.size() == 1) return compare_numbers(baseline, *found.front(), extra);
  if (found.empty()) return missing(name, "no result of " + baseline.scenario);
  return missing(name, fmt::format("{} results of {}, among them {} and {}", found.size(),
                                   baseline.scenario, found[0]->label, found[1]->label));
}

int finish(const std::vector<Compared>& all, const CompareOptions& options) {
  int code = 0;
  for (const Compared& compared : all) {
    if (!options.json) fmt::print("{}", compared_text(compared));
    code = std::max(code, exit_code_of(compared));
  }
  if (options.json) fmt::print("{}", compared_json(all));
  if (!options.junit.empty()) write_by_rename(options.junit, compared_junit(all));
  return code;
}

int compare_folders(const CompareOptions& options, const Tolerances& extra) {
  const std::vector<Numbers> results = results_below(options.result);
  const std::map<std::string, Numbers> baselines = baselines_below(options.baseline);
  if (baselines.empty()) throw BadInput(options.baseline, "", "holds no baseline");
  std::vector<Compared> all;
  for (const auto& [name, baseline] : baselines)
    all.push_back(compare_named(name, baseline, results, extra));
  const int code = finish(all, options);
  if (options.json) return code;
  for (const Numbers& result : results) {
    const bool known = std::any_of(baselines.begin(), baselines.end(), [&](const auto& entry) {
      return entry.second.scenario == result.scenario;
    });
    if (!known) fmt::print("no baseline: {}\n", result.label);
  }
  std::array<std::size_t, 3> counts{};
  for (const Compared& compared : all)
    ++counts.at(std::size_t(exit_code_of(compared)));
  fmt::print("{} baselines: {} inside, {} outside, {} not comparable\n", all.size(), counts[0],
             counts[1], counts[2]);
  return code;
}

int update_folder(const CompareOptions& options, const Tolerances& extra) {
  std::map<std::string, Numbers> by_name;
  for (Numbers& result : results_below(options.result)) {
    const std::string name = result.scenario, label = result.label;
    const auto [at, fresh] = by_name.emplace(name, std::move(result));
    if (!fresh) {
      throw BadInput(options.result, "",
                     "two results of " + name + ": " + at->second.label + " and " + label);
    }
  }
  std::vector<Update> updates;  // all are read and checked before the first is written
  for (auto& [name, result] : by_name) {
    const std::string path = (fs::path(options.baseline) / (name + ".json")).string();
    updates.push_back(prepared(path, std::move(result), extra));
  }
  for (const Update& update : updates)
    carry_out(update);
  return 0;
}

bool holds_several(const std::string& path) {
  return fs::is_directory(path) && !is_result_folder(path);
}

}  // namespace

int compare_command(const CompareOptions& options) {
  Tolerances extra;
  if (!options.tolerances.empty()) {
    extra = tolerances_from_json(read_text(options.tolerances), options.tolerances);
  }
  if (holds_several(options.baseline)) {
    if (!holds_several(options.result)) {
      throw BadInput(options.result, "",
                     "is no folder of results, but the baseline is a folder of baselines");
    }
    return options.update ? update_folder(options, extra) : compare_folders(options, extra);
  }
  const Numbers now = read_numbers(options.result);
  if (options.update) {
    carry_out(prepared(options.baseline, now, extra));
    return 0;
  }
  return finish({compare_numbers(read_numbers(options.baseline), now, extra)}, options);
}

}  // namespace skerry

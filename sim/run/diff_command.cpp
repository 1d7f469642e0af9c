// Reading of what `compare` and `diff` take, and `diff` itself.
#include <filesystem>
#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/report/diff.hpp"
#include "sim/run/compare_command.hpp"
#include "sim/run/folder.hpp"
#include "sim/run/sweep_store.hpp"

namespace skerry {

namespace {

namespace fs = std::filesystem;

Numbers numbers_of_folder(const std::string& folder) {
  const std::string comparison = read_text(folder + "/comparison.json");
  std::vector<std::string> summaries;
  for (const std::string& run : runs_of_comparison(comparison, folder + "/comparison.json"))
    summaries.push_back(read_text(folder + "/" + run + "/summary.json"));
  return numbers_of_run(comparison, summaries, read_text(folder + "/scenario.resolved.json"),
                        folder);
}

// runs.jsonl, or runs-I-of-N-HOST.jsonl of every shard, one after the other.
std::string lines_of_sweep(const std::string& folder) {
  std::string lines;
  for (const std::string& file : record_files(folder)) {
    lines += read_text(file);
    if (!lines.empty() && lines.back() != '\n') lines += '\n';
  }
  return lines;
}

}  // namespace

bool is_result_folder(const std::string& path) {
  return fs::is_regular_file(fs::path(path) / "manifest.json");
}

Numbers read_numbers(const std::string& path) {
  if (!fs::exists(path)) throw BadInput(path, "", "does not exist");
  if (!fs::is_directory(path)) return baseline_from_json(read_text(path), path);
  if (!is_result_folder(path)) {
    throw BadInput(path, "", "holds no manifest.json: it is no folder of a finished run or sweep");
  }
  const std::string manifest = read_text(path + "/manifest.json");
  const std::string schema = schema_of_json(manifest);
  if (schema == "run/1") return numbers_of_folder(path);
  if (schema != "sweep-run/1") {
    throw BadInput(path + "/manifest.json", "/skerry",
                   "found '" + schema + "', allowed run/1 and sweep-run/1");
  }
  const std::string table = path + "/table.csv";
  if (!fs::is_regular_file(table)) {
    throw BadInput(path, "", "holds no table.csv yet: run the same `skerry sweep` again first");
  }
  return numbers_of_sweep(manifest, read_text(path + "/sweep.json"), read_text(table),
                          lines_of_sweep(path), path);
}

int diff_command(const std::string& a, const std::string& b, bool json) {
  const Numbers left = read_numbers(a), right = read_numbers(b);
  fmt::print("{}", json ? diff_json(left, right) : diff_text(left, right));
  return 0;
}

}  // namespace skerry

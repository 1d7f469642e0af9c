// `skerry test`: scenarios that carry `expect`, as tests.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include "sim/base/error.hpp"
#include "sim/run/commands.hpp"
#include "sim/run/folder.hpp"

namespace skerry {

namespace {

namespace fs = std::filesystem;

struct Verdicts {
  std::string path;
  int code = 0;  // 0, 1 missed, 2 bad input, 3, 4
  std::size_t expects = 0;
  std::string text;  // what was missed or went wrong
  double wall_s = 0;
};

std::vector<std::string> scenario_files(const TestOptions& options) {
  std::vector<std::string> files;
  for (const std::string& path : options.paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      const std::string name = entry.path().string();
      if (name.ends_with(".json") && !name.ends_with(".sweep.json")) found.push_back(name);
    }
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  std::erase_if(files, [&options](const std::string& file) {
    return file.find(options.only) == std::string::npos;
  });
  return files;
}

void say(std::string& text, const std::string& line) {
  text += "  " + line + "\n";
}

// Runs one scenario; an empty path in the answer: it expects nothing, so it is no test.
Verdicts test_one(const std::string& path, const std::string& folder, const Shared& shared) {
  Verdicts out{path, 0, 0, "", 0};
  const auto began = std::chrono::steady_clock::now();
  try {
    if (load_scenario(path, shared.run.load).scenario.expect.empty()) return {};
    RunOptions options = shared.run;
    options.out = folder;
    const Outcome outcome = run_scenario(path, options);
    out.code = exit_code_of(outcome);
    for (const Failure& failure : outcome.failures)
      say(out.text, failure.run + ": " + failure.message);
    const Results& results = outcome.results;
    out.expects = results.scenario.expect.size();
    if (!outcome.written) return out;
    for (const Judged& judged : judge(results.scenario, results.records, results.expect_applied)) {
      if (judged.verdict != Verdict::kMet) say(out.text, judged_line(judged));
    }
  } catch (const BadInput& error) {
    out.code = 2;
    say(out.text, error.what());
  }
  out.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return out;
}

std::string xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

std::string junit(const std::vector<Verdicts>& tests) {
  std::size_t failures = 0;
  double wall_s = 0;
  std::string cases;
  for (const Verdicts& test : tests) {
    failures += test.code != 0 ? 1 : 0;
    wall_s += test.wall_s;
    cases += fmt::format("  <testcase classname=\"skerry\" name=\"{}\" time=\"{:.3f}\"",
                         xml(test.path), test.wall_s);
    cases += test.code == 0
                 ? "/>\n"
                 : fmt::format(">\n    <failure message=\"exit {}\">{}</failure>\n  </testcase>\n",
                               test.code, xml(test.text));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"skerry\" tests=\"{}\" failures=\"{}\" time=\"{:.3f}\">\n{}</testsuite>\n",
      tests.size(), failures, wall_s, cases);
}

// Holds the run folders of the tests and takes them away again.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "skerry-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

int test_command(const TestOptions& options, const Shared& shared) {
  const Scratch scratch;
  const std::string keep = shared.run.out.empty() ? scratch.path() : shared.run.out;
  std::vector<Verdicts> tests;
  std::size_t expects = 0;
  int code = 0;
  for (const std::string& file : scenario_files(options)) {
    const std::string folder =
        keep + "/" + fs::path(file).stem().string() + "-" + std::to_string(tests.size());
    Verdicts test = test_one(file, folder, shared);
    if (test.path.empty()) continue;
    fmt::print("{} {} ({} expects, {:.1f} s)\n{}", test.code == 0 ? "ok    " : "FAILED", file,
               test.expects, test.wall_s, test.text);
    std::fflush(stdout);
    code = std::max(code, test.code);
    expects += test.expects;
    tests.push_back(std::move(test));
    if (code != 0 && options.stop_at_first) break;
  }
  if (tests.empty()) throw BadInput("test", "", "no scenario with `expect` matches");
  if (!options.junit.empty()) write_text(options.junit, junit(tests));
  const auto failures = std::count_if(tests.begin(), tests.end(),
                                      [](const Verdicts& test) { return test.code != 0; });
  fmt::print("{} scenarios with {} expects: {} passed, {} failed\n", tests.size(), expects,
             tests.size() - std::size_t(failures), failures);
  return code;
}

}  // namespace skerry

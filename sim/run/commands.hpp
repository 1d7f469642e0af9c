// The commands of the program. Results go to stdout; each returns the exit code and throws
// BadInput.
#pragma once

#include <string>
#include <vector>

#include "sim/run/run_scenario.hpp"

namespace skerry {

struct Shared {  // what several commands understand
  RunOptions run;
  bool json = false;
  std::string program;  // as it was called, for the line that names the next command
};

int run_command(const std::string& scenario, const Shared& shared);
int train_command(const std::string& run, const Shared& shared, bool resume);
int check_command(const std::vector<std::string>& scenarios, const LoadOptions& options,
                  bool print_resolved);
int plan_command(const std::string& scenario, const LoadOptions& options, double hours);
int estimate_command(const std::string& scenario, const LoadOptions& options, bool json);
// 1 when a judgement was missed (probe.hpp); the first seed unless seeds are given.
int probe_command(const std::string& scenario, const RunOptions& options);
int show_command(const std::string& run, const std::string& format);

struct TestOptions {
  std::vector<std::string> paths;  // scenario files and folders of them
  std::string only;                // a word that the file's path must hold
  bool stop_at_first = false;
  std::string junit;  // file to write; empty: none
};
int test_command(const TestOptions& options, const Shared& shared);

}  // namespace skerry

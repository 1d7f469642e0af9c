// `skerry compare` and `skerry diff`: stored results beside each other.
#pragma once

#include <string>

#include "sim/report/baseline.hpp"

namespace skerry {

struct CompareOptions {
  std::string baseline, result;  // run folder, sweep folder or baseline file; or a folder of each
  std::string tolerances;        // file; empty: those of the baseline
  std::string junit;             // file to write; empty: none
  bool update = false;           // rewrite the baseline file from the result
  bool json = false;             // compared_json or diff_json on stdout instead of text
};

// 0 inside, 1 outside, 2 not comparable; of several the worst. BadInput for what cannot be read.
int compare_command(const CompareOptions& options);

int diff_command(const std::string& a, const std::string& b, bool json);  // 0

// Of a complete run folder, a sweep folder or a baseline file. BadInput for anything else.
Numbers read_numbers(const std::string& path);

// A folder with a manifest.json: what a run or a sweep wrote.
bool is_result_folder(const std::string& path);

}  // namespace skerry

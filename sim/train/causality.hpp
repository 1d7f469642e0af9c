// What no tape may do, whoever wrote or edited it.
#pragma once

#include <cstddef>
#include <string>

#include "sim/tape/tape.hpp"

namespace skerry::train {

inline constexpr double kDateRounding = 1e-9;  // relative: ends of steps are sums

// BadInput "label: line N: the tape does not fit together: what" for the fact with that index; the
// first stands on the file's line 2.
[[noreturn]] void refuse_fact(const std::string& label, std::size_t fact, const std::string& what);

// Refuses a date before that of an earlier line, a span that ends before it begins, and steps of a
// learner that begin before its last ones have ended.
void check_dates(const Tape& tape, const std::string& label);

}  // namespace skerry::train

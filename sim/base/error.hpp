// The three kinds of error (a simulated failure is a value and has no type here).
//
//   BadInput     what the user wrote cannot be meant        → exit 2, nothing written
//   CannotGoOn   the simulation cannot end (deadlock, limit) → exit 3
//   Bug          an invariant of ours is broken              → exit 4
#pragma once

#include <stdexcept>
#include <string>

namespace skerry {

// Bad input with its place. `what()` is "file: /json/pointer: message"; parts that are empty are left out.
// The message says what was found, what is allowed and, where one is near, the nearest known name.
class BadInput : public std::runtime_error {
 public:
  BadInput(const std::string& file, const std::string& pointer, const std::string& message);
};

// The simulation ended with work left: who waits for whom, or which limit was passed.
class CannotGoOn : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A broken invariant; stays on in every build.
class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void raise_bug(const char* condition, const char* file, int line,
                            const std::string& detail);

}  // namespace skerry

// SKERRY_CHECK(x >= 0, "x is " + std::to_string(x)); throws Bug. The detail is built only on failure.
#define SKERRY_CHECK(condition, detail)                                  \
  do {                                                                   \
    if (!(condition)) {                                                  \
      ::skerry::raise_bug(#condition, __FILE__, __LINE__, (detail));     \
    }                                                                    \
  } while (false)

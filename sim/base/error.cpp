#include "sim/base/error.hpp"

namespace skerry {

namespace {

std::string place(const std::string& file, const std::string& pointer, const std::string& message) {
  std::string text;
  if (!file.empty()) text += file + ": ";
  if (!pointer.empty()) text += pointer + ": ";
  return text + message;
}

}  // namespace

BadInput::BadInput(const std::string& file, const std::string& pointer, const std::string& message)
    : std::runtime_error(place(file, pointer, message)) {}

void raise_bug(const char* condition, const char* file, int line, const std::string& detail) {
  throw Bug(std::string(file) + ":" + std::to_string(line) + ": broken invariant '" + condition +
            "': " + detail);
}

}  // namespace skerry

#include "sim/report/number_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace skerry {

std::string shortest(double value) {
  if (!std::isfinite(value)) return "";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

std::string thousands(double value) {
  const std::string digits = fmt::format("{:.0f}", std::abs(value));
  std::string text = value < 0 && digits != "0" ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string three_digits(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value)) return "-";
  if (size >= 99.95) return thousands(value);
  return size >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string small_digits(double value) {
  return value > 0 && value < 0.1 ? fmt::format("{:.2g}", value) : three_digits(value);
}

std::string giga(double value) {
  static constexpr std::array<std::pair<double, const char*>, 4> kSteps{
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [step, letter] : kSteps) {
    if (std::abs(value) >= step) return fmt::format("{:.4g} {}", value / step, letter);
  }
  return fmt::format("{:.4g}", value);
}

}  // namespace skerry

// Names of wire formats, their bits a parameter and what they leave of a number.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "kernels/quantise.hpp"

namespace skerry::reader {

struct NamedFormat {
  const char* name;
  double bits;
  kernels::Precision precision;
};

inline constexpr std::array<NamedFormat, 8> kWireFormats = {
    {{"fp32", 32.0, kernels::Precision::kFp32},
     {"bf16", 16.0, kernels::Precision::kBf16},
     {"fp16", 16.0, kernels::Precision::kFp16},
     {"int8", 8.0, kernels::Precision::kInt8},
     {"int4", 4.0, kernels::Precision::kInt4},
     {"fp4", 4.0, kernels::Precision::kFp4},
     {"int2", 2.0, kernels::Precision::kInt2},
     {"int1", 1.0, kernels::Precision::kInt1}}};

inline std::vector<std::string> wire_format_names() {
  std::vector<std::string> names;
  for (const auto& format : kWireFormats)
    names.emplace_back(format.name);
  return names;
}

// By its name; empty for another.
inline std::optional<NamedFormat> wire_format(const std::string& name) {
  for (const auto& format : kWireFormats) {
    if (format.name == name) return format;
  }
  return std::nullopt;
}

// Bits alone: the first of the list that has as many (16: bf16, 4: int4); empty when none has.
inline std::optional<NamedFormat> wire_format(double bits) {
  for (const auto& format : kWireFormats) {
    if (format.bits == bits) return format;
  }
  return std::nullopt;
}

}  // namespace skerry::reader

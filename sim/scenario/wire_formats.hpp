// Names of wire formats and their bits a parameter.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace skerry::reader {

inline constexpr std::array<std::pair<const char*, double>, 8> kWireFormats = {{{"fp32", 32.0},
                                                                                {"bf16", 16.0},
                                                                                {"fp16", 16.0},
                                                                                {"int8", 8.0},
                                                                                {"fp4", 4.0},
                                                                                {"int4", 4.0},
                                                                                {"int2", 2.0},
                                                                                {"int1", 1.0}}};

inline std::vector<std::string> wire_format_names() {
  std::vector<std::string> names;
  for (const auto& format : kWireFormats) names.emplace_back(format.first);
  return names;
}

}  // namespace skerry::reader

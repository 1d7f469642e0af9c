// Units. JSON speaks people's units (Gbit/s, ms, days), code speaks SI (bytes/s, seconds); the factors
// stand here and nowhere else.
#pragma once

#include <array>
#include <limits>
#include <string_view>

namespace skerry {

inline constexpr double kNever = std::numeric_limits<double>::infinity();  // a date that never comes
inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();  // a rate without bound

inline constexpr double bytes_per_s_from_gbps(double gbps) { return gbps * 1e9 / 8.0; }
inline constexpr double gbps_from_bytes_per_s(double rate) { return rate * 8.0 / 1e9; }

// Suffixes of a duration key; a year is 365 days.
struct DurationUnit {
  std::string_view suffix;
  double seconds;
};
inline constexpr std::array<DurationUnit, 6> kDurationUnits{{{"_ms", 1e-3},
                                                            {"_s", 1.0},
                                                            {"_min", 60.0},
                                                            {"_h", 3600.0},
                                                            {"_days", 86400.0},
                                                            {"_years", 365.0 * 86400.0}}};

}  // namespace skerry

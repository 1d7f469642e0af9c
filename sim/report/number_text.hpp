// Numbers as text: shortest round-trip for files, a fixed look for people.
#pragma once

#include <string>

namespace skerry {

std::string shortest(double value);      // "0.1", "1e+20"; empty for anything not finite
std::string thousands(double value);     // "1,234,567"
std::string three_digits(double value);  // "0.12", "1.56", "34.8", "1,234"
std::string small_digits(double value);  // the same, but "0.0042" below 0.1
std::string giga(double value);          // "12.1 B" style: value with k, M, G or T behind it

}  // namespace skerry

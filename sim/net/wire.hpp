// What one port or one link can do and has done. No SimGrid, no time of its own.
#pragma once

#include <string>

#include "sim/base/units.hpp"

namespace skerry {

struct Wire {
  std::string name;
  double nominal_Bps = kUnlimited;
  double factor = 1.0;
  bool is_link = false;
  bool used = false;                   // a transfer went over it
  double bytes = 0.0;                  // of flows that have ended or were cut
  double marked = 0.0;                 // total at the last mark()
  double moved = 0.0;                  // between mark() and note_moved()
  double since_s = 0.0;                // date of the last change of `factor`
  double capacity_bytes_before = 0.0;  // ∫ capacity dt up to since_s

  bool limited() const { return nominal_Bps < kUnlimited; }
  double capacity_Bps() const { return factor * nominal_Bps; }
  double capacity_bytes(double now) const {
    if (!limited()) return kUnlimited;
    return capacity_bytes_before + capacity_Bps() * (now - since_s);
  }
  void change(double now, double new_factor) {
    if (limited()) capacity_bytes_before = capacity_bytes(now);
    since_s = now;
    factor = new_factor;
  }
};

}  // namespace skerry

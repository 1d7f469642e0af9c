// Readers of failure and capacity traces: text → dated events, in the trace's own time. Each
// refuses what it does not understand as BadInput(label, place, …), place being a line or an event.
#pragma once

#include <string>
#include <vector>

namespace skerry {

struct Outage {
  int node = 0;  // from 0
  double start_s = 0.0;
  double end_s = 0.0;  // kNever: no end in the trace
};

struct Outages {
  int nodes = 0;
  std::vector<Outage> list;  // in order of start
};

// InfiniteHBD (arXiv 2502.03885): a JSON array of {node_id, event_time in days, event_type
// fault_start or fault_end, fault_type}, in order of date. Nodes count in order of first
// appearance; an end belongs to the earliest open start of its node and fault_type.
Outages infinitehbd_outages(const std::string& text, const std::string& label);

// LANL LA-UR-05-7318: CSV with System, nodenumz, Prob Started and Prob Fixed (m/d/yyyy h:mm) among
// its columns. Records of one system; seconds since its first; nodes are nodenumz, 0 … its highest.
Outages lanl_outages(const std::string& text, const std::string& label, int system);

// CSV with at_<unit> and share: from each date on, the share of a capacity that is there.
struct SharePoint {
  double at_s = 0.0;
  double share = 1.0;
};
std::vector<SharePoint> capacity_shares(const std::string& text, const std::string& label);

// One column of numbers ≥ 0 of a CSV.
std::vector<double> number_column(const std::string& text, const std::string& label,
                                  const std::string& column);

// The text of a file's bytes: unpacked when `path` ends in .xz. BadInput when it is not xz or has
// more than `limit` bytes.
std::string unpacked(std::string bytes, const std::string& path, std::size_t limit);

}  // namespace skerry

#include "sim/scenario/traces.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <lzma.h>
#include <map>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"
#include "sim/scenario/csv_table.hpp"
#include "sim/scenario/parse.hpp"

namespace skerry {

namespace {

using reader::Json;
using reader::member;

constexpr double kDay_s = 86400.0;

class InfinitehbdReader {
 public:
  InfinitehbdReader(const Json& events, const std::string& label)
      : events_(events), label_(label) {}

  Outages read() {
    if (!events_.is_array()) throw BadInput(label_, "", "found no array of events");
    for (event_ = 0; event_ < events_.size(); ++event_)
      add(events_[event_]);
    std::stable_sort(out_.list.begin(), out_.list.end(),
                     [](const Outage& a, const Outage& b) { return a.start_s < b.start_s; });
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const {
    throw BadInput(label_, "event " + std::to_string(event_ + 1), message);
  }

  std::string text(const Json& event, const char* key) const {
    const Json* found = event.is_object() ? member(event, key) : nullptr;
    if (found == nullptr || !found->is_string()) refuse(std::string("lacks the text ") + key);
    return found->get<std::string>();
  }

  double date(const Json& event) const {
    const Json* found = event.is_object() ? member(event, "event_time") : nullptr;
    if (found == nullptr || !found->is_number()) refuse("lacks the number event_time (days)");
    const double days = found->get<double>();
    if (!std::isfinite(days) || days < 0.0) refuse("event_time is negative or not finite");
    return days * kDay_s;
  }

  void add(const Json& event) {
    const std::string node = text(event, "node_id");
    const std::string type = text(event, "event_type");
    const double at_s = date(event);
    if (at_s < last_s_) refuse("trace out of order: event_time is before that of the last event");
    last_s_ = at_s;
    const auto [place, is_new] = nodes_.try_emplace(node, out_.nodes);
    if (is_new) ++out_.nodes;
    const Json* fault = member(event, "fault_type");
    const auto key = std::make_pair(place->second, fault == nullptr ? "" : fault->dump());
    if (type == "fault_start") {
      open_[key].push_back(out_.list.size());
      out_.list.push_back({place->second, at_s, kNever});
      return;
    }
    if (type != "fault_end") {
      refuse("event_type is '" + printable(type) + "', allowed fault_start, fault_end");
    }
    auto& open = open_[key];
    if (open.empty()) {
      refuse("fault_end of node '" + printable(node) +
             "' without a fault_start: a repair without a fault");
    }
    out_.list[open.front()].end_s = at_s;
    open.erase(open.begin());
  }

  const Json& events_;
  const std::string& label_;
  std::size_t event_ = 0;
  double last_s_ = 0.0;
  Outages out_;
  std::map<std::string, int> nodes_;
  std::map<std::pair<int, std::string>, std::vector<std::size_t>> open_;  // indices of out_.list
};

// Days since the first of January of year 1 (Gregorian); -1 when there is no such day.
int days_of(int year, int month, int day) {
  constexpr std::array<int, 13> kBefore{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
  if (year < 1 || month < 1 || month > 12 || day < 1) return -1;
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  const auto m = static_cast<std::size_t>(month);
  if (day > kBefore[m] - kBefore[m - 1] + (leap && month == 2 ? 1 : 0)) return -1;
  const int past = year - 1;
  return 365 * past + past / 4 - past / 100 + past / 400 + kBefore[m - 1] +
         (leap && month > 2 ? 1 : 0) + day - 1;
}

// "6/21/2005 10:54" → minutes since year 1; refuses anything else.
double minutes_of(const CsvTable& table, int column) {
  const std::string& text = table.cell(column);
  const auto refuse = [&] {
    table.refuse(table.header()[static_cast<std::size_t>(column)] + " is '" + printable(text) +
                 "', expected month/day/year hour:minute");
  };
  int parts[5] = {};
  const char marks[] = {'/', '/', ' ', ':', '\0'};
  const char* at = text.data();
  const char* const last = text.data() + text.size();
  for (std::size_t i = 0; i < 5; ++i) {
    const auto [end, error] = std::from_chars(at, last, parts[i]);
    const bool ends = i == 4 ? end == last : end != last && *end == marks[i];
    if (error != std::errc{} || parts[i] < 0 || parts[i] > 9999 || !ends) refuse();
    at = i == 4 ? end : end + 1;
  }
  const int days = days_of(parts[2], parts[0], parts[1]);
  if (days < 0 || parts[3] > 23 || parts[4] > 59) refuse();
  return days * 1440.0 + parts[3] * 60.0 + parts[4];
}

std::string known_systems(const std::map<int, int>& systems) {
  std::string text;
  for (const auto& [system, records] : systems)
    text += (text.empty() ? "" : ", ") + std::to_string(system);
  return text;
}

}  // namespace

Outages infinitehbd_outages(const std::string& text, const std::string& label) {
  const Json events = reader::parse_strict(text, label);
  return InfinitehbdReader(events, label).read();
}

Outages lanl_outages(const std::string& text, const std::string& label, int system) {
  CsvTable table(text, label);
  const int of_system = table.needs("System"), of_node = table.needs("nodenumz");
  const int started = table.needs("Prob Started"), fixed = table.needs("Prob Fixed");
  Outages out;
  std::map<int, int> systems;
  double first_min = kNever;
  while (table.next()) {
    const int of = table.whole_number(of_system);
    systems[of] += 1;
    if (of != system) continue;
    const double start_min = minutes_of(table, started);
    const bool open = table.cell(fixed).empty();
    const double end_min = open ? kNever : minutes_of(table, fixed);
    if (end_min < start_min) table.refuse("Prob Fixed is before Prob Started");
    const int node = table.whole_number(of_node);
    if (node >= 1000000) table.refuse("nodenumz is above a million");
    out.list.push_back({node, start_min, end_min});
    out.nodes = std::max(out.nodes, node + 1);
    first_min = std::min(first_min, start_min);
  }
  if (out.list.empty()) {
    throw BadInput(label, "",
                   "has no record of system " + std::to_string(system) + ", allowed " +
                       known_systems(systems));
  }
  for (Outage& outage : out.list) {
    outage.start_s = (outage.start_s - first_min) * 60.0;
    outage.end_s = (outage.end_s - first_min) * 60.0;
  }
  std::stable_sort(out.list.begin(), out.list.end(),
                   [](const Outage& a, const Outage& b) { return a.start_s < b.start_s; });
  return out;
}

std::vector<SharePoint> capacity_shares(const std::string& text, const std::string& label) {
  CsvTable table(text, label);
  double seconds = 1.0;
  const int at = find_duration(table, "at", seconds);
  if (at < 0) table.refuse("lacks a column at_<unit>");
  const int share = table.needs("share");
  if (table.header().size() != 2) table.refuse("found other columns than at_<unit> and share");
  std::vector<SharePoint> points;
  while (table.next()) {
    const SharePoint point{table.number(at) * seconds, table.number(share)};
    if (point.share > 1.0) table.refuse("share is '" + table.cell(share) + "', allowed 0 to 1");
    if (!points.empty() && point.at_s <= points.back().at_s) {
      table.refuse("trace out of order: its date is not after that of the line before");
    }
    points.push_back(point);
  }
  if (points.empty()) throw BadInput(label, "", "has no line but its header");
  return points;
}

std::vector<double> number_column(const std::string& text, const std::string& label,
                                  const std::string& column) {
  CsvTable table(text, label);
  const int index = table.needs(column);
  std::vector<double> values;
  while (table.next())
    values.push_back(table.number(index));
  if (values.empty()) throw BadInput(label, "", "has no line but its header");
  return values;
}

std::string unpacked(std::string bytes, const std::string& path, std::size_t limit) {
  if (!path.ends_with(".xz")) return bytes;
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, 256u << 20, LZMA_CONCATENATED) != LZMA_OK) {
    throw BadInput(path, "", "the xz decoder does not start");
  }
  std::string text;
  std::string block(1u << 16, '\0');
  stream.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
  stream.avail_in = bytes.size();
  lzma_ret state = LZMA_OK;
  while (state == LZMA_OK && text.size() <= limit) {
    stream.next_out = reinterpret_cast<std::uint8_t*>(block.data());
    stream.avail_out = block.size();
    state = lzma_code(&stream, LZMA_FINISH);
    text.append(block, 0, block.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (text.size() > limit) {
    throw BadInput(path, "",
                   "unpacks to more than " + std::to_string(limit) + " bytes, which is the limit");
  }
  if (state != LZMA_STREAM_END) throw BadInput(path, "", "is not a whole xz file");
  return text;
}

}  // namespace skerry

#include "sim/report/timeline_links.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "sim/cost/cost.hpp"

namespace skerry {

namespace {

constexpr double kBytesShown = 1e3;  // undated, of a link; less is rounding

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

struct Span {
  double t0 = 0.0, t1 = 0.0;
};

// Means of the capacities over the bins of time.
class Capacities {
 public:
  Capacities(const Scenario& scenario, const Tape& tape, const std::vector<double>& edges)
      : s_(scenario), edges_(edges) {
    std::map<int, Live> live;
    for (const WireChange& change : wire_changes(tape)) {
      for (const int wire : wires_of(change.line)) {
        Live& of = live[wire];
        add(wire, of, change.line.at_s);
        const double factor = change.line.kind == FaultKind::kLinkSlow ? change.line.factor : 0.0;
        if (change.by > 0) {
          of.factors.push_back(factor);
        } else {
          of.factors.erase(std::find(of.factors.begin(), of.factors.end(), factor));
        }
      }
    }
    for (auto& [wire, of] : live)
      add(wire, of, edges_.back());
  }

  // Up, itself and down: numbers of wires, which are up and down of each region, then the links.
  std::array<int, 3> path(int link) const {
    const Link& way = s_.links[at(link)];
    return {2 * way.from, first_link() + link, 2 * way.to + 1};
  }

  double mean_Bps(int wire, std::size_t bin) const {
    const bool port = wire < first_link();
    const Region* region = port ? &s_.regions[at(wire / 2)] : nullptr;
    const double nominal = !port           ? s_.links[at(wire - first_link())].capacity_Bps
                           : wire % 2 == 0 ? region->up_Bps
                                           : region->down_Bps;
    const auto found = factors_.find(wire);
    const double factor = found == factors_.end() ? 1.0 : found->second[bin];
    return factor <= 1e-12 ? 0.0 : nominal * factor;
  }

 private:
  int first_link() const { return 2 * static_cast<int>(s_.regions.size()); }
  struct Live {
    std::vector<double> factors;
    double since = 0.0;
  };

  std::vector<int> wires_of(const PlanLine& line) const {
    if (line.kind == FaultKind::kShardLost) return {};
    if (line.target.kind == TargetKind::kRegion)
      return {2 * line.target.index, 2 * line.target.index + 1};
    if (line.target.kind == TargetKind::kPort) return {2 * line.target.index + line.target.part};
    return {first_link() + line.target.index};
  }

  // Its factor until t.
  void add(int wire, Live& of, double t) {
    double factor = 1.0;
    for (const double f : of.factors)
      factor *= f;
    auto& mean = factors_.try_emplace(wire, edges_.size() - 1, 1.0).first->second;
    const double since = std::exchange(of.since, t);
    if (factor == 1.0) return;
    auto edge = std::upper_bound(edges_.begin(), edges_.end(), since);
    for (auto bin = at(static_cast<int>(edge - edges_.begin())) - 1;
         bin + 1 < edges_.size() && edges_[bin] < t; ++bin) {
      const double overlap = std::min(t, edges_[bin + 1]) - std::max(since, edges_[bin]);
      mean[bin] =
          std::max(0.0, mean[bin] - (1.0 - factor) * overlap / (edges_[bin + 1] - edges_[bin]));
    }
  }

  const Scenario& s_;
  const std::vector<double>& edges_;
  std::map<int, std::vector<double>> factors_;  // by wire and bin; none: all 1
};

class Spread {
 public:
  Spread(const Scenario& scenario, const Tape& tape, std::vector<double> edges)
      : edges_(std::move(edges)), capacities_(scenario, tape, edges_) {}

  // As evenly over the seconds of the spans as the capacities allow → what found no room.
  double put(int link, double bytes, const std::vector<Span>& spans) {
    std::array<std::vector<double>*, 3> used{};  // of the wires of its path
    const std::array<int, 3> path = capacities_.path(link);
    for (std::size_t i = 0; i < path.size(); ++i) {
      used[i] = &used_.try_emplace(path[i], edges_.size() - 1, 0.0).first->second;
    }
    std::vector<double>& moved_bytes =
        bins_.try_emplace(link, edges_.size() - 1, 0.0).first->second;
    std::vector<Part>& parts = parts_;
    parts.clear();
    for (const Span& span : spans)
      add_parts(span);
    if (spans.size() > 1) unite();
    for (Part& part : parts) {
      part.room = kUnlimited;
      for (std::size_t i = 0; i < path.size(); ++i) {
        const double most_Bps = capacities_.mean_Bps(path[i], part.bin);
        if (most_Bps == kUnlimited) continue;
        part.room = std::min({part.room, most_Bps * part.seconds,
                              std::max(0.0, most_Bps * width(part.bin) - (*used[i])[part.bin])});
      }
    }
    while (bytes > 0.0) {
      double seconds = 0.0;
      for (const Part& part : parts)
        seconds += part.room > 0.0 ? part.seconds : 0.0;
      if (seconds <= 0.0) return bytes;
      const double rate = bytes / seconds;
      bool full = false;
      for (Part& part : parts)
        full = full || (part.room > 0.0 && part.room < rate * part.seconds);
      for (Part& part : parts) {
        if (part.room <= 0.0 || (full && part.room >= rate * part.seconds)) continue;
        const double moved = full ? part.room : rate * part.seconds;
        moved_bytes[part.bin] += moved;
        for (std::vector<double>* wire : used)
          (*wire)[part.bin] += moved;
        part.room = 0.0;
        bytes -= moved;
      }
      if (!full) return 0.0;
    }
    return 0.0;
  }

  double placed(int link) const {
    const auto found = bins_.find(link);
    double sum = 0.0;
    if (found != bins_.end()) {
      for (const double b : found->second)
        sum += b;
    }
    return sum;
  }
  void scale(int link, double factor) {
    for (double& b : bins_[link])
      b *= factor;
  }
  const std::map<int, std::vector<double>>& bins() const { return bins_; }
  const std::vector<double>& edges() const { return edges_; }

 private:
  struct Part {
    std::size_t bin = 0;
    double seconds = 0.0, room = 0.0;
  };
  double width(std::size_t bin) const { return edges_[bin + 1] - edges_[bin]; }

  void add_parts(const Span& span) {
    const auto after = std::upper_bound(edges_.begin(), edges_.end(), span.t0);
    auto bin = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, after - edges_.begin() - 1));
    bin = std::min(bin, edges_.size() - 2);
    const bool at_once = !(span.t1 > span.t0);
    for (; bin + 1 < edges_.size() && (edges_[bin] < span.t1 || at_once); ++bin) {
      const double seconds = std::min(span.t1, edges_[bin + 1]) - std::max(span.t0, edges_[bin]);
      if (seconds > 0.0 || at_once) parts_.push_back({bin, at_once ? width(bin) : seconds});
      if (at_once) return;
    }
  }

  void unite() {
    std::sort(parts_.begin(), parts_.end(),
              [](const Part& a, const Part& b) { return a.bin < b.bin; });
    std::size_t last = 0;
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      if (parts_[i].bin == parts_[last].bin) {
        parts_[last].seconds += parts_[i].seconds;
      } else {
        parts_[++last] = parts_[i];
      }
    }
    if (!parts_.empty()) parts_.resize(last + 1);
    for (Part& part : parts_)
      part.seconds = std::min(part.seconds, width(part.bin));
  }

  std::vector<double> edges_;
  Capacities capacities_;
  std::map<int, std::vector<double>> bins_, used_;  // by link; by wire
  std::vector<Part> parts_;
};

// Feeds the facts to a Spread, and keeps the spans in which undated bytes can have moved.
class Traffic {
 public:
  Traffic(const Scenario& scenario, const Protocol& row, const Tape& tape, const RingDates& ring,
          std::vector<double> edges)
      : s_(scenario),
        p_(row),
        tape_(tape),
        ring_(ring),
        exchanges_(scenario, row, ring),
        spread_(scenario, tape, std::move(edges)),
        into_(scenario.regions.size()) {
    if (p_.recovery.cut_transfer != CutTransfer::kRestart) return;
    for (const WireChange& change : wire_changes(tape))
      cuts_.push_back(change.line.at_s);
  }

  LinkRates rates() {
    if (p_.ideal_network || s_.regions.empty()) return {};
    for (const Fact& any : tape_.facts) {
      std::visit([&](const auto& f) { read(f); }, any);
    }
    for (std::size_t r = 0; r < into_.size(); ++r) {
      for (const AwayFromRing& away : ring_.away(static_cast<int>(r))) {
        if (away.back < kNever) into_[r].push_back({away.back, std::min(away.joined, tape_.end.t)});
      }
    }
    for (const auto& unknown : exchanges_.unknown(tape_.end.t))
      spans_.push_back({unknown.t0, unknown.t1});
    control_messages();
    for (const fact::Wire& wire : tape_.wires)
      close_link(wire);
    out_.bytes = spread_.bins();
    out_.edges_s = spread_.edges();
    tell();
    return std::move(out_);
  }

 private:
  void read(const fact::Close& f) { exchanges_.read(f); }
  void read(const fact::Weigh& f) { exchanges_.read(f); }
  void read(const fact::Abandon& f) { exchanges_.read(f); }
  void read(const fact::Merge& f) {
    const Exchanges::Ended ended = exchanges_.read(f);
    put(*ended.bytes, 1.0, {ended.began, f.t});
  }
  void read(const fact::Reduce& f) {
    members_.clear();
    missing_ = f.learners;
  }
  // The members of a reduction, one after the other.
  void read(const fact::Steps& f) {
    if (p_.family != Family::kDataParallel || missing_ == 0) return;
    members_.push_back(f.learner);
    if (--missing_ == 0) put(exchanges_.gradient(members_), static_cast<double>(f.n), {f.t0, f.t1});
  }
  void read(const fact::CutStep& f) {
    if (p_.family == Family::kDataParallel) spans_.push_back({f.t0, f.t1});
  }
  // In which a learner may be sent a state.
  void read(const fact::Phase& f) {
    const bool lock_step = p_.family == Family::kDataParallel;
    const int region = s_.learners[at(f.learner)].region;
    if (f.cause == (lock_step ? Cause::kScaleUp : Cause::kInfrastructureRecovery) && region >= 0) {
      into_[at(region)].push_back({f.t0, f.t1});
    } else if (lock_step &&
               (f.cause == Cause::kExposedCommunication || f.cause == Cause::kStragglerWait)) {
      spans_.push_back({f.t0, f.t1});  // of a step that was cut
    }
  }
  void read(const fact::Copy& f) {
    if (const auto sent = copy_over_link(s_, p_, f)) {
      put({{sent->first, sent->second}}, 1.0, {f.began, f.t});
    }
  }
  template <class F>
  void read(const F&) {}

  void put(const BytesByLink& bytes, double times, Span span) {
    for (const auto& [link, one] : bytes)
      spread_.put(link, times * one, {span});
    const auto cut = std::upper_bound(cuts_.begin(), cuts_.end(), span.t0);
    if (cut != cuts_.end() && *cut < span.t1) spans_.push_back(span);
  }

  std::string name(int link) const {
    const Link& pair = s_.links[at(link)];
    return s_.regions[at(pair.from)].name + ">" + s_.regions[at(pair.to)].name;
  }
  int link_of(const std::string& text) const {
    for (std::size_t i = 0; i < s_.links.size(); ++i) {
      if (name(static_cast<int>(i)) == text) return static_cast<int>(i);
    }
    return -1;
  }

  // Those that share the ports: their dates are not on the tape, and they are many.
  void control_messages() {
    if (s_.transport.control.rate != ControlRate::kShared) return;
    for (const fact::Control& pair : tape_.controls) {
      const int link = link_of(pair.name);
      const double bytes =
          static_cast<double>(pair.sent - pair.timed_out) * std::ceil(s_.transport.control.bytes);
      if (link < 0 || bytes <= 0.0) continue;
      spread_.put(link, bytes, {{0.0, tape_.end.t}});
      control_bytes_ += bytes;
    }
  }

  // What is dated comes to `placed`; the tape knows the truth.
  void close_link(const fact::Wire& wire) {
    const int link = link_of(wire.name);
    if (link < 0) return;  // a port
    const double placed = spread_.placed(link), rest = wire.bytes - placed;
    if (rest < 0.0) {
      spread_.scale(link, wire.bytes / placed);
      if (-rest > kBytesShown) too_much_.push_back({link, -rest});
      return;
    }
    std::vector<Span> spans = spans_;
    const auto& into = into_[at(s_.links[at(link)].to)];
    spans.insert(spans.end(), into.begin(), into.end());
    const double homeless = spread_.put(link, rest, spans);
    const double lost = spread_.put(link, homeless, {{0.0, tape_.end.t}});
    if (rest > kBytesShown) out_.undated_bytes[link] = rest;
    homeless_bytes_ += homeless;
    lost_bytes_ += lost;
  }

  void tell() {
    std::vector<std::string> parts;
    double undated = 0.0;
    for (const auto& [link, bytes] : out_.undated_bytes)
      undated += bytes;
    if (undated > 0.0) {
      std::string links;
      for (const auto& [link, bytes] : out_.undated_bytes) {
        links += fmt::format("{}{} {:.3f}", links.empty() ? "" : ", ", name(link), bytes / 1e9);
      }
      parts.push_back(
          fmt::format("{:.3f} GB have no date of their own (exchanges begun anew or cut, what "
                      "returning regions and "
                      "learners fetch, what was on the wire at the end); the link counters spread "
                      "them over the spans in "
                      "which they can have moved, GB by link: {}",
                      undated / 1e9, links));
    }
    if (homeless_bytes_ > kBytesShown) {
      parts.push_back(
          fmt::format("{:.3f} GB of these found no room in such spans and are spread over the "
                      "whole run",
                      homeless_bytes_ / 1e9));
    }
    if (lost_bytes_ > kBytesShown) {
      parts.push_back(
          fmt::format("{:.3f} GB of them are not drawn: the links had no room", lost_bytes_ / 1e9));
    }
    if (control_bytes_ > 0.0) {
      parts.push_back(fmt::format("control messages, {:.6f} GB, are spread over the whole run",
                                  control_bytes_ / 1e9));
    }
    for (const auto& [link, bytes] : too_much_) {
      parts.push_back(
          fmt::format("{}: the exchanges of the tape come to {:.3f} GB more than it moved; its "
                      "counter is scaled down",
                      name(link), bytes / 1e9));
    }
    for (const std::string& part : parts)
      out_.about += (out_.about.empty() ? "" : "; ") + part;
  }

  const Scenario& s_;
  const Protocol& p_;
  const Tape& tape_;
  const RingDates& ring_;
  Exchanges exchanges_;
  Spread spread_;
  std::vector<Span> spans_;              // in which any link can have moved undated bytes
  std::vector<std::vector<Span>> into_;  // those into a region
  std::vector<double> cuts_;             // after which transfers begin from zero
  std::vector<int> members_;
  int missing_ = 0;
  double control_bytes_ = 0.0, homeless_bytes_ = 0.0, lost_bytes_ = 0.0;
  std::vector<std::pair<int, double>> too_much_;
  LinkRates out_;
};

// Also what lies before and behind the window, as one part each: bytes that are there are not
// within.
std::vector<double> edges_of(const Tape& tape, double from, double until, int parts) {
  std::vector<double> cuts;
  for (const WireChange& change : wire_changes(tape)) {
    const double t = change.line.at_s;
    if (t > from && t < until && (cuts.empty() || cuts.back() < t)) cuts.push_back(t);
  }
  if (std::ssize(cuts) > parts) cuts.clear();
  std::vector<double> edges{0.0, from, until, tape.end.t};
  for (int i = 1; i < parts; ++i)
    edges.push_back(from + (until - from) * i / parts);
  edges.insert(edges.end(), cuts.begin(), cuts.end());
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

}  // namespace

LinkRates link_rates(const Scenario& scenario, const Protocol& row, const Tape& tape,
                     const RingDates& ring, double from_s, double until_s, int parts) {
  LinkRates rates =
      Traffic(scenario, row, tape, ring, edges_of(tape, from_s, until_s, parts)).rates();
  if (from_s > 0.0 && !rates.edges_s.empty()) {
    rates.edges_s.erase(rates.edges_s.begin());
    for (auto& [link, bytes] : rates.bytes)
      bytes.erase(bytes.begin());
  }
  if (until_s < tape.end.t && !rates.edges_s.empty()) {
    rates.edges_s.pop_back();
    for (auto& [link, bytes] : rates.bytes)
      bytes.pop_back();
  }
  return rates;
}

}  // namespace skerry

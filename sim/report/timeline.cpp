#include "sim/report/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/cost/anatomy.hpp"
#include "sim/cost/cost.hpp"
#include "sim/faults/faults.hpp"
#include "sim/report/number_text.hpp"

namespace skerry {

namespace {

constexpr int kCounterBins = 400;
constexpr int kShardTrack = 1, kLearnerTrack = 1000, kLinkTrack = 100000;  // first thread ids

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string micros(double seconds) { return shortest(std::round(seconds * 1e9) / 1e3); }

// Overlapping slices of one kind get tracks of their own.
class Lanes {
 public:
  int lane(double t0, double t1) {
    for (std::size_t i = 0; i < until_.size(); ++i) {
      if (until_[i] <= t0) {
        until_[i] = t1;
        return static_cast<int>(i);
      }
    }
    until_.push_back(t1);
    return static_cast<int>(until_.size()) - 1;
  }

 private:
  std::vector<double> until_;
};

class Writer {
 public:
  Writer(const Scenario& scenario, const Protocol& protocol, const Tape& tape,
         const TimelineOptions& options, TimelineLevel level, const TapeSink* sink)
      : s_(scenario), p_(protocol), tape_(tape), options_(options), level_(level), sink_(sink) {}

  // → events; with a null sink they are only counted.
  std::size_t write(const std::string& left_out);

 private:
  struct Round {
    double merged = -1.0;
    std::map<int, double> pulled;  // date by learner
    std::map<int, int> track;      // of its merge, by region
  };
  struct Place {                   // of an event's text
    double t = 0.0;
    std::size_t begin = 0, length = 0;
  };

  bool at_least(TimelineLevel level) const { return level_ >= level; }
  bool inside(double t0, double t1) const { return t1 >= options_.from_s && t0 <= options_.until_s; }
  int region_of(int learner) const {
    return std::max(0, s_.learners[static_cast<std::size_t>(learner)].region);
  }
  void event(double t, const std::string& body);
  void name(int process, int track, const char* what, const std::string& text);
  void slice(int process, int track, const std::string& title, double t0, double t1,
             const std::string& arguments);
  void arrow(char phase, int process, int track, double t, const std::string& id);
  void counter(const std::string& title, const std::string& series, double t, double value);

  void names();
  void steps(const fact::Steps& f);
  void span(int learner, const char* title, double t0, double t1, int slices_away);
  void merge(const fact::Merge& f);
  void transfers(const fact::Merge& f);
  void arrows();
  void fault(const fact::FaultHit& f);
  void stepping_share();
  void send(const std::vector<CollectiveFlow>& flows, double copies, double t0, double t1);
  void link_rates();
  double bin_s() const { return (until_s() - options_.from_s) / kCounterBins; }
  double until_s() const { return std::min(options_.until_s, tape_.end.t); }
  std::vector<int> regions_of_learners() const;

  void read(const fact::Steps& f) { steps(f); }
  void read(const fact::Phase& f) {
    span(f.learner, kCauseNames[static_cast<std::size_t>(f.cause)].data(), f.t0, f.t1, f.slices_away);
  }
  void read(const fact::CutStep& f) {
    span(f.learner, f.lost ? "step lost" : "step cut by the end", f.t0, f.t1, f.slices_away);
  }
  void read(const fact::FaultHit& f) { fault(f); }
  void read(const fact::Close& f) {
    if (f.fragment >= 0) counter("participants", "learners", f.t, f.participants);
  }
  void read(const fact::Pull& f) { rounds_[{f.clock, f.fragment}].pulled[f.learner] = f.t; }
  void read(const fact::Merge& f) { merge(f); }
  void read(const fact::Overwrite& f) { overwrites_.push_back(f); }
  template <class F>
  void read(const F&) {}

  const Scenario& s_;
  const Protocol& p_;
  const Tape& tape_;
  const TimelineOptions& options_;
  TimelineLevel level_;
  const TapeSink* sink_;
  std::string text_;
  std::vector<Place> places_;
  std::size_t events_ = 0;
  std::map<int, std::vector<double>> link_bytes_;  // by link, in bins of time
  std::map<std::pair<std::int64_t, int>, Round> rounds_;
  std::vector<fact::Overwrite> overwrites_;
  std::vector<double> fragment_bytes_;
  std::map<int, Lanes> shard_lanes_, link_lanes_;  // by region; by link
  std::map<int, std::set<int>> lanes_used_;        // tracks that were named, by process
};

void Writer::event(double t, const std::string& body) {
  events_ += 1;
  if (sink_ == nullptr) return;
  places_.push_back({t, text_.size(), body.size()});
  text_ += body;
}

void Writer::name(int process, int track, const char* what, const std::string& text) {
  event(-1.0, fmt::format(R"("ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}})", what,
                          process, track, quoted(text)));
}

void Writer::slice(int process, int track, const std::string& title, double t0, double t1,
                   const std::string& arguments) {
  if (!inside(t0, t1)) return;
  event(t0, fmt::format(R"("ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}})",
                        quoted(title), process, track, micros(t0), micros(t1 - t0), arguments));
}

void Writer::arrow(char phase, int process, int track, double t, const std::string& id) {
  event(t, fmt::format(
               R"("ph":"{}","name":"fragment","cat":"sync","id":"{}","pid":{},"tid":{},"ts":{}{})", phase,
               id, process, track, micros(t), phase == 's' ? "" : R"(,"bp":"e")"));
}

void Writer::counter(const std::string& title, const std::string& series, double t, double value) {
  if (!inside(t, t)) return;
  event(t, fmt::format(R"("ph":"C","name":{},"pid":0,"tid":0,"ts":{},"args":{{{}:{}}})", quoted(title),
                       micros(t), quoted(series), shortest(value)));
}

void Writer::names() {
  name(0, 0, "process_name", "run: " + s_.name + ", " + p_.name);
  name(0, 0, "thread_name", "faults");
  const std::size_t regions = std::max<std::size_t>(1, s_.regions.size());
  for (std::size_t r = 0; r < regions; ++r) {
    const auto process = static_cast<int>(r) + 1;
    name(process, 0, "process_name", s_.regions.empty() ? "everywhere" : s_.regions[r].name);
    if (p_.family == Family::kDiloco && p_.exchange) {
      name(process, kShardTrack, "thread_name", "syncer shards");
    }
  }
  for (const int m : p_.learners) {
    name(region_of(m) + 1, kLearnerTrack + m, "thread_name",
         s_.learners[static_cast<std::size_t>(m)].name);
  }
}

std::string away_text(int slices_away) {
  return slices_away > 0 ? fmt::format(R"(,"slices_away":{})", slices_away) : std::string();
}

void Writer::steps(const fact::Steps& f) {
  const int process = region_of(f.learner) + 1, track = kLearnerTrack + f.learner;
  const double length = (f.t1 - f.t0) / static_cast<double>(f.n);
  const std::string parts =
      fmt::format(R"("compute_s":{},"straggler_wait_s":{},"exposed_s":{},"tokens":{}{})",
                  shortest(f.compute_s), shortest(f.straggler_wait_s), shortest(f.exposed_s),
                  shortest(f.tokens), away_text(f.slices_away));
  if (!at_least(TimelineLevel::kSteps)) {
    slice(process, track, f.n == 1 ? "step" : "steps", f.t0, f.t1,
          fmt::format(R"("first":{},"n":{},)", f.first, f.n) + parts);
    return;
  }
  std::int64_t from = 0, upto = f.n;
  if (length > 0) {
    from = std::max<std::int64_t>(0, static_cast<std::int64_t>((options_.from_s - f.t0) / length));
    const double last = std::ceil((options_.until_s - f.t0) / length);
    if (last < static_cast<double>(f.n)) upto = std::max<std::int64_t>(0, static_cast<std::int64_t>(last));
  }
  if (sink_ == nullptr) {  // counting only
    events_ += static_cast<std::size_t>(std::max<std::int64_t>(0, upto - from));
    return;
  }
  for (std::int64_t i = from; i < upto; ++i) {
    const double t0 = f.t0 + static_cast<double>(i) * length;
    const double t1 = i + 1 == f.n ? f.t1 : f.t0 + static_cast<double>(i + 1) * length;
    slice(process, track, "step", t0, t1, fmt::format(R"("step":{},)", f.first + i) + parts);
  }
}

void Writer::span(int learner, const char* title, double t0, double t1, int slices_away) {
  slice(region_of(learner) + 1, kLearnerTrack + learner, title, t0, t1,
        fmt::format(R"("seconds":{}{})", shortest(t1 - t0), away_text(slices_away)));
}

// One slice in every region with learners: each has a shard.
void Writer::merge(const fact::Merge& f) {
  if (!at_least(TimelineLevel::kSyncs)) return;
  rounds_[{f.clock, f.fragment}].merged = f.t;
  if (!inside(f.began, f.t)) return;
  std::set<int> regions;
  for (const int m : p_.learners) regions.insert(region_of(m));
  for (const int region : regions) {
    const int lane = shard_lanes_[region].lane(f.began, f.t);
    const int track = kShardTrack + lane;
    rounds_[{f.clock, f.fragment}].track[region] = track;
    if (lane > 0 && lanes_used_[region + 1].insert(track).second) {
      name(region + 1, track, "thread_name", fmt::format("syncer shards, {}", lane + 1));
    }
    slice(region + 1, track, fmt::format("merge p{}", f.fragment), f.began, f.t,
          fmt::format(R"("clock":{},"fragment":{},"participants":{},"bytes":{})", f.clock, f.fragment,
                      f.participants,
                      shortest(fragment_bytes_[static_cast<std::size_t>(f.fragment)])));
  }
  if (s_.regions.empty() || p_.ideal_network) return;
  if (at_least(TimelineLevel::kTransfers)) transfers(f);
}

// The flows of the collective over the wide area, each over the time of the merge.
void Writer::transfers(const fact::Merge& f) {
  const Collective collective = all_reduce(s_, p_, regions_of_learners(),
                                           fragment_bytes_[static_cast<std::size_t>(f.fragment)]);
  for (const auto* phase : {&collective.first, &collective.second}) {
    for (const CollectiveFlow& flow : *phase) {
      const int link = s_.link_between(flow.from_region, flow.to_region);
      const int lane = link_lanes_[link].lane(f.began, f.t);
      const int track = kLinkTrack + 64 * link + std::min(lane, 63);
      const int process = flow.from_region + 1;
      if (lanes_used_[process].insert(track).second) {
        name(process, track, "thread_name",
             "to " + s_.regions[static_cast<std::size_t>(flow.to_region)].name +
                 (lane > 0 ? fmt::format(", {}", lane + 1) : ""));
      }
      slice(process, track, fmt::format("p{}", f.fragment), f.began, f.t,
            fmt::format(R"("clock":{},"fragment":{},"bytes":{},"mean_gbps":{})", f.clock, f.fragment,
                        shortest(flow.bytes),
                        shortest(f.t > f.began
                                     ? gbps_from_bytes_per_s(flow.bytes / (f.t - f.began))
                                     : 0.0)));
    }
  }
}

// From the copy of a fragment over its merge to the learners that it overwrites.
void Writer::arrows() {
  if (!at_least(TimelineLevel::kSyncs)) return;
  for (const fact::Overwrite& f : overwrites_) {
    const auto found = rounds_.find({f.clock, f.fragment});
    if (found == rounds_.end() || found->second.merged < 0) continue;
    const double merged = found->second.merged;
    const auto pulled = found->second.pulled.find(f.learner);
    const double from = f.participated && pulled != found->second.pulled.end() ? pulled->second : merged;
    if (!inside(from, f.t) || from < options_.from_s || f.t > options_.until_s) continue;
    const int process = region_of(f.learner) + 1, track = kLearnerTrack + f.learner;
    const auto track_of = [&] {
      const auto lane = found->second.track.find(region_of(f.learner));
      return lane == found->second.track.end() ? kShardTrack : lane->second;
    };
    const std::string id = fmt::format("{}.{}.{}", f.clock, f.fragment, f.learner);
    if (f.participated && pulled != found->second.pulled.end()) {
      arrow('s', process, track, pulled->second, id);
      arrow('t', process, track_of(), merged, id);
    } else {
      arrow('s', process, track_of(), merged, id);
    }
    arrow('f', process, track, f.t, id);
  }
}

void Writer::fault(const fact::FaultHit& f) {
  if (!inside(f.t, f.t)) return;
  const auto faults = s_.faults.size();
  const auto source = static_cast<std::size_t>(f.source);
  const std::string entry = source < faults ? s_.faults[source].name : s_.plan[source - faults].source;
  event(f.t, fmt::format(
                 R"("ph":"i","s":"g","name":{},"pid":0,"tid":0,"ts":{},"args":{{"entry":{},"target":{},"for_s":{}}})",
                 quoted(std::string(kind_name(f.kind))), micros(f.t), quoted(entry),
                 quoted(target_name(s_, f.target)),
                 f.until < kNever ? shortest(f.until - f.t) : "null"));
}

// Share of allocated chips that step, over equal parts of the time shown.
void Writer::stepping_share() {
  const double from = options_.from_s, until = until_s(), width = bin_s();
  if (!(width > 0)) return;
  std::vector<double> busy(kCounterBins, 0.0);
  double chips_of_all = 0.0;
  for (const int m : p_.learners) {
    chips_of_all += static_cast<double>(s_.learners[static_cast<std::size_t>(m)].chips);
  }
  for (const Fact& any : tape_.facts) {
    const auto* f = std::get_if<fact::Steps>(&any);
    if (f == nullptr || f->t1 <= from || f->t0 >= until) continue;
    const Learner& learner = s_.learners[static_cast<std::size_t>(f->learner)];
    const double chips = static_cast<double>(learner.chips) *
                         (1.0 - static_cast<double>(f->slices_away) / learner.slices);
    const double compute = f->compute_s / (f->compute_s + f->straggler_wait_s + f->exposed_s);
    const int first = std::max(0, static_cast<int>((f->t0 - from) / width));
    const int last = std::min(kCounterBins - 1, static_cast<int>((f->t1 - from) / width));
    for (int bin = first; bin <= last; ++bin) {
      const double overlap = std::min(f->t1, from + (bin + 1) * width) -
                             std::max(f->t0, from + bin * width);
      if (overlap > 0) busy[static_cast<std::size_t>(bin)] += overlap * chips * compute;
    }
  }
  for (int bin = 0; bin < kCounterBins; ++bin) {
    counter("chips stepping", "share", from + bin * width,
            busy[static_cast<std::size_t>(bin)] / (width * chips_of_all));
  }
}

std::vector<int> Writer::regions_of_learners() const {
  std::vector<int> regions;
  for (const int m : p_.learners) regions.push_back(s_.learners[static_cast<std::size_t>(m)].region);
  return regions;
}

// Bytes of flows, evenly over [t0, t1].
void Writer::send(const std::vector<CollectiveFlow>& flows, double copies, double t0, double t1) {
  const double width = bin_s();
  if (!(width > 0) || !inside(t0, t1)) return;
  for (const CollectiveFlow& flow : flows) {
    auto& bins = link_bytes_[s_.link_between(flow.from_region, flow.to_region)];
    bins.resize(kCounterBins, 0.0);
    const int first = std::clamp(static_cast<int>((t0 - options_.from_s) / width), 0, kCounterBins - 1);
    const int last = std::clamp(static_cast<int>((t1 - options_.from_s) / width), first, kCounterBins - 1);
    for (int bin = first; bin <= last; ++bin) {
      const double begin = options_.from_s + bin * width;
      const double overlap = std::min(t1, begin + width) - std::max(t0, begin);
      const double share = t1 > t0 ? std::max(0.0, overlap) / (t1 - t0) : (bin == first ? 1.0 : 0.0);
      bins[static_cast<std::size_t>(bin)] += copies * flow.bytes * share;
    }
  }
}

// Mean rates. Data-parallel: the gradient of each step over the step.
void Writer::link_rates() {
  if (s_.regions.empty() || p_.ideal_network || !p_.exchange || s_.charged.parameters <= 0.0) return;
  const bool lock_step = p_.family == Family::kDataParallel;
  for (const Fact& any : tape_.facts) {
    double bytes = 0.0, copies = 1.0, t0 = 0.0, t1 = 0.0;
    if (const auto* f = std::get_if<fact::Steps>(&any); f != nullptr && lock_step) {
      if (f->learner != p_.learners.front()) continue;
      bytes = wire_bytes(p_.wire, s_.charged.parameters);
      copies = static_cast<double>(f->n);
      t0 = f->t0;
      t1 = f->t1;
    } else if (const auto* merge = std::get_if<fact::Merge>(&any)) {
      bytes = fragment_bytes_[static_cast<std::size_t>(merge->fragment)];
      t0 = merge->began;
      t1 = merge->t;
    } else {
      continue;
    }
    const Collective collective = all_reduce(s_, p_, regions_of_learners(), bytes);
    send(collective.first, copies, t0, t1);
    send(collective.second, copies, t0, t1);
  }
  for (const auto& [link, bins] : link_bytes_) {
    const Link& pair = s_.links[static_cast<std::size_t>(link)];
    const std::string title = s_.regions[static_cast<std::size_t>(pair.from)].name + ">" +
                              s_.regions[static_cast<std::size_t>(pair.to)].name;
    for (int bin = 0; bin < kCounterBins; ++bin) {
      counter(title, "gbps", options_.from_s + bin * bin_s(),
              gbps_from_bytes_per_s(bins[static_cast<std::size_t>(bin)] / bin_s()));
    }
  }
}

std::size_t Writer::write(const std::string& left_out) {
  if (p_.family == Family::kDiloco) {
    for (const double parameters : fragment_parameters(s_.charged, p_)) {
      fragment_bytes_.push_back(wire_bytes(p_.wire, parameters));
    }
  }
  const std::string head = fmt::format(R"({{"displayTimeUnit":"ms","otherData":{{"scenario":{},"protocol":{},"seed":{},"level":"{}","left_out":{}}},)"
                      R"("traceEvents":[{{"ph":"M","name":"process_sort_index","pid":0,"args":{{"sort_index":0}}}})",
                      quoted(s_.name), quoted(p_.name), tape_.start.seed, level_name(level_),
                      quoted(left_out));
  names();
  for (const Fact& any : tape_.facts) {
    std::visit([&](const auto& f) { read(f); }, any);
  }
  arrows();
  stepping_share();
  link_rates();
  if (sink_ == nullptr) return events_ + 1;
  std::stable_sort(places_.begin(), places_.end(),
                   [](const Place& a, const Place& b) { return a.t < b.t; });
  (*sink_)(head);
  std::string part;
  for (const Place& place : places_) {
    part += ",\n{";
    part.append(text_, place.begin, place.length);
    part += '}';
    if (part.size() < 65536) continue;
    (*sink_)(part);
    part.clear();
  }
  (*sink_)(part + "\n]}\n");
  return events_ + 1;
}

}  // namespace

const char* level_name(TimelineLevel level) {
  constexpr const char* kNames[] = {"faults", "syncs", "steps", "transfers"};
  return kNames[static_cast<std::size_t>(level)];
}

TimelineWritten write_timeline(const Scenario& scenario, const Protocol& protocol, const Tape& tape,
                               const TimelineOptions& options, const TapeSink& sink) {
  for (int level = static_cast<int>(options.level); level >= 0; --level) {
    const auto chosen = static_cast<TimelineLevel>(level);
    const std::size_t events = Writer(scenario, protocol, tape, options, chosen, nullptr).write("");
    if (events > options.most_events) continue;
    TimelineWritten out{chosen, events, ""};
    if (chosen != options.level) {
      out.left_out = fmt::format("level {} instead of {}: more than {} events", level_name(chosen),
                                 level_name(options.level), options.most_events);
    }
    Writer(scenario, protocol, tape, options, chosen, &sink).write(out.left_out);
    return out;
  }
  throw BadInput("", "", fmt::format("the run has more than {} events even at level faults: give --from and --until",
                                     options.most_events));
}

}  // namespace skerry

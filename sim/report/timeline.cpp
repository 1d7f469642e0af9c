#include "sim/report/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/cost/anatomy.hpp"
#include "sim/cost/cost.hpp"
#include "sim/faults/faults.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/timeline_links.hpp"
#include "sim/report/timeline_ring.hpp"
#include "sim/report/timeline_text.hpp"

namespace skerry {

namespace {

constexpr int kCounterBins = 400;
constexpr int kShardTrack = 1, kLearnerTrack = 1000, kLinkTrack = 100000;  // first thread ids

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

// What does not depend on the level.
struct Shown {
  RingDates ring;
  LinkRates rates;
};

// Goes through the run and makes its events: counts them, notes their dates, or writes those of
// [t0, t1).
class Writer {
 public:
  Writer(const Scenario& scenario, const Protocol& protocol, const Tape& tape,
         const TimelineOptions& options, TimelineLevel level, const Shown& run)
      : s_(scenario),
        p_(protocol),
        tape_(tape),
        options_(options),
        level_(level),
        run_(run),
        exchanges_(scenario, protocol, run.ring) {}

  std::size_t count();
  std::vector<double> dates();  // ascending
  void write(double t0, double t1, const TapeSink& sink);

 private:
  struct Round {
    double merged = -1.0;
    std::map<int, double> pulled;  // date by learner
    std::map<int, int> track;      // of its merge, by process
  };

  bool at_least(TimelineLevel level) const { return level_ >= level; }
  bool inside(double t0, double t1) const {
    return t1 >= options_.from_s && t0 <= options_.until_s;
  }
  int region_of(int learner) const {
    return std::max(0, s_.learners[static_cast<std::size_t>(learner)].region);
  }
  template <class Arguments>
  void slice(int process, int track, const std::string& title, double t0, double t1,
             const Arguments& arguments) {
    if (inside(t0, t1)) events_.slice(process, track, title, t0, t1, arguments);
  }
  void counter(const std::string& title, const std::string& series, double t, double value) {
    if (inside(t, t)) events_.counter(title, series, t, value);
  }

  void go_through();
  void names();
  void steps(const fact::Steps& f);
  void span(int learner, const char* title, double t0, double t1, int slices_away);
  void merge(const fact::Merge& f);
  void transfers(const fact::Merge& f, const Exchanges::Ended& ended);
  void state(const fact::Copy& f);
  void transfer(int link, const std::string& title, double t0, double t1, double bytes,
                const std::string& arguments);
  void arrows();
  void fault(const fact::FaultHit& f);
  void stepping_share();
  void link_rates();
  double bin_s() const { return (until_s() - options_.from_s) / kCounterBins; }
  double until_s() const { return std::min(options_.until_s, tape_.end.t); }
  std::optional<std::pair<int, int>> shard_near(const Round& round, int process) const;

  void read(const fact::Steps& f) { steps(f); }
  void read(const fact::Phase& f) {
    span(f.learner, kCauseNames[static_cast<std::size_t>(f.cause)].data(), f.t0, f.t1,
         f.slices_away);
  }
  void read(const fact::CutStep& f) {
    span(f.learner, f.lost ? "step lost" : "step cut by the end", f.t0, f.t1, f.slices_away);
  }
  void read(const fact::FaultHit& f) { fault(f); }
  void read(const fact::Close& f) {
    exchanges_.read(f);
    if (f.fragment >= 0) counter("participants", "learners", f.t, f.participants);
  }
  void read(const fact::Pull& f) { rounds_[{f.clock, f.fragment}].pulled[f.learner] = f.t; }
  void read(const fact::Weigh& f) { exchanges_.read(f); }
  void read(const fact::Abandon& f) { exchanges_.read(f); }
  void read(const fact::Copy& f) { state(f); }
  void read(const fact::Merge& f) { merge(f); }
  void read(const fact::Overwrite& f) { overwrites_.push_back(f); }
  template <class F>
  void read(const F&) {}

  const Scenario& s_;
  const Protocol& p_;
  const Tape& tape_;
  const TimelineOptions& options_;
  TimelineLevel level_;
  const Shown& run_;
  Exchanges exchanges_;
  bool each_step_ = false;  // not only their number is asked for
  TraceEvents events_;
  std::map<std::pair<std::int64_t, int>, Round> rounds_;
  std::vector<fact::Overwrite> overwrites_;
  std::vector<double> fragment_bytes_;
  std::map<int, Lanes> shard_lanes_, link_lanes_;  // by process; by link
  std::map<int, std::set<int>> lanes_used_;        // tracks that were named, by process
};

void Writer::names() {
  events_.name(0, 0, "process_name", "run: " + s_.name + ", " + p_.name);
  events_.name(0, 0, "thread_name", "faults");
  const std::size_t regions = std::max<std::size_t>(1, s_.regions.size());
  for (std::size_t r = 0; r < regions; ++r) {
    const auto process = static_cast<int>(r) + 1;
    events_.name(process, 0, "process_name",
                 s_.regions.empty() ? "everywhere" : s_.regions[r].name);
    if (p_.family == Family::kDiloco && p_.exchange) {
      events_.name(process, kShardTrack, "thread_name", "syncer shards");
    }
  }
  for (const int m : p_.learners) {
    events_.name(region_of(m) + 1, kLearnerTrack + m, "thread_name",
                 s_.learners[static_cast<std::size_t>(m)].name);
  }
}

std::string away_text(int slices_away) {
  return slices_away > 0 ? fmt::format(R"(,"slices_away":{})", slices_away) : std::string();
}

void Writer::steps(const fact::Steps& f) {
  const int process = region_of(f.learner) + 1, track = kLearnerTrack + f.learner;
  const double length = (f.t1 - f.t0) / static_cast<double>(f.n);
  const auto parts = [&f] {
    return fmt::format(R"("compute_s":{},"straggler_wait_s":{},"exposed_s":{},"tokens":{}{})",
                       shortest(f.compute_s), shortest(f.straggler_wait_s), shortest(f.exposed_s),
                       shortest(f.tokens), away_text(f.slices_away));
  };
  if (!at_least(TimelineLevel::kSteps)) {
    slice(process, track, f.n == 1 ? "step" : "steps", f.t0, f.t1,
          [&] { return fmt::format(R"("first":{},"n":{},)", f.first, f.n) + parts(); });
    return;
  }
  std::int64_t from = 0, upto = f.n;
  if (length > 0) {
    from = std::max<std::int64_t>(0, static_cast<std::int64_t>((options_.from_s - f.t0) / length));
    const double last = std::ceil((options_.until_s - f.t0) / length);
    if (last < static_cast<double>(f.n))
      upto = std::max<std::int64_t>(0, static_cast<std::int64_t>(last));
  }
  if (!each_step_) {
    events_.count(static_cast<std::size_t>(std::max<std::int64_t>(0, upto - from)));
    return;
  }
  for (std::int64_t i = from; i < upto; ++i) {
    const double t0 = f.t0 + static_cast<double>(i) * length;
    const double t1 = i + 1 == f.n ? f.t1 : f.t0 + static_cast<double>(i + 1) * length;
    slice(process, track, "step", t0, t1,
          [&] { return fmt::format(R"("step":{},)", f.first + i) + parts(); });
  }
}

void Writer::span(int learner, const char* title, double t0, double t1, int slices_away) {
  slice(region_of(learner) + 1, kLearnerTrack + learner, title, t0, t1, [&] {
    return fmt::format(R"("seconds":{}{})", shortest(t1 - t0), away_text(slices_away));
  });
}

// One slice in every region whose shard took part.
void Writer::merge(const fact::Merge& f) {
  const Exchanges::Ended ended = exchanges_.read(f);
  if (!at_least(TimelineLevel::kSyncs)) return;
  Round& round = rounds_[{f.clock, f.fragment}];
  round.merged = f.t;
  if (!inside(f.began, f.t)) return;
  for (const int region : ended.regions) {
    const double began = run_.ring.in_ring(region, f.began) ? f.began : ended.began;
    const int process = std::max(0, region) + 1;
    const int lane = shard_lanes_[process].lane(began, f.t);
    const int track = kShardTrack + lane;
    round.track[process] = track;
    if (lane > 0 && lanes_used_[process].insert(track).second) {
      events_.name(process, track, "thread_name", fmt::format("syncer shards, {}", lane + 1));
    }
    slice(process, track, fmt::format("merge p{}", f.fragment), began, f.t, [&] {
      return fmt::format(R"("clock":{},"fragment":{},"participants":{},"regions":{},"bytes":{})",
                         f.clock, f.fragment, f.participants, ended.regions.size(),
                         shortest(fragment_bytes_[static_cast<std::size_t>(f.fragment)]));
    });
  }
  if (at_least(TimelineLevel::kTransfers)) transfers(f, ended);
}

// The flows of the collective over the wide area, each over the time of its last attempt.
void Writer::transfers(const fact::Merge& f, const Exchanges::Ended& ended) {
  for (const auto& [link, bytes] : *ended.bytes) {
    transfer(link, fmt::format("p{}", f.fragment), ended.began, f.t, bytes,
             fmt::format(R"("clock":{},"fragment":{},)", f.clock, f.fragment));
  }
}

// Of a returning learner, from one peer in another region.
void Writer::state(const fact::Copy& f) {
  if (!at_least(TimelineLevel::kTransfers)) return;
  const auto sent = copy_over_link(s_, p_, f);
  if (!sent) return;
  transfer(sent->first, "state of " + s_.learners[static_cast<std::size_t>(f.learner)].name,
           f.began, f.t, sent->second, "");
}

void Writer::transfer(int link, const std::string& title, double t0, double t1, double bytes,
                      const std::string& arguments) {
  if (!inside(t0, t1)) return;
  const Link& pair = s_.links[static_cast<std::size_t>(link)];
  const int lane = link_lanes_[link].lane(t0, t1);
  const int track = kLinkTrack + 64 * link + std::min(lane, 63);
  const int process = pair.from + 1;
  if (lanes_used_[process].insert(track).second) {
    events_.name(process, track, "thread_name",
                 "to " + s_.regions[static_cast<std::size_t>(pair.to)].name +
                     (lane > 0 ? fmt::format(", {}", lane + 1) : ""));
  }
  slice(process, track, title, t0, t1, [&] {
    return fmt::format(R"({}"bytes":{},"mean_gbps":{})", arguments, shortest(bytes),
                       shortest(t1 > t0 ? gbps_from_bytes_per_s(bytes / (t1 - t0)) : 0.0));
  });
}

// The merge in the learner's own region; when its shard fetched the result later, in the one it was
// nearest to.
std::optional<std::pair<int, int>> Writer::shard_near(const Round& round, int process) const {
  std::optional<std::pair<int, int>> best;
  double best_latency_s = kNever;
  for (const auto& [other, track] : round.track) {
    if (other == process) return std::pair{other, track};
    const int link = s_.link_between(other - 1, process - 1);
    const double latency_s =
        link < 0 ? kNever : s_.links[static_cast<std::size_t>(link)].latency_one_way_s;
    if (latency_s >= best_latency_s) continue;
    best = {other, track};
    best_latency_s = latency_s;
  }
  return best;
}

// From the copy of a fragment over its merge to the learners that it overwrites.
void Writer::arrows() {
  if (!at_least(TimelineLevel::kSyncs)) return;
  for (const fact::Overwrite& f : overwrites_) {
    const auto found = rounds_.find({f.clock, f.fragment});
    if (found == rounds_.end() || found->second.merged < 0) continue;
    const double merged = found->second.merged;
    const auto pulled = found->second.pulled.find(f.learner);
    const double from =
        f.participated && pulled != found->second.pulled.end() ? pulled->second : merged;
    if (!inside(from, f.t) || from < options_.from_s || f.t > options_.until_s) continue;
    const int process = region_of(f.learner) + 1, track = kLearnerTrack + f.learner;
    const auto shard = shard_near(found->second, process);
    if (!shard) continue;
    const std::string id = fmt::format("{}.{}.{}", f.clock, f.fragment, f.learner);
    if (f.participated && pulled != found->second.pulled.end()) {
      events_.arrow('s', process, track, pulled->second, id);
      events_.arrow('t', shard->first, shard->second, merged, id);
    } else {
      events_.arrow('s', shard->first, shard->second, merged, id);
    }
    events_.arrow('f', process, track, f.t, id);
  }
}

void Writer::fault(const fact::FaultHit& f) {
  if (!inside(f.t, f.t)) return;
  events_.instant(std::string(kind_name(f.kind)), f.t, [&] {
    const auto faults = s_.faults.size(), source = static_cast<std::size_t>(f.source);
    const std::string entry =
        source < faults ? s_.faults[source].name : s_.plan[source - faults].source;
    return fmt::format(R"("entry":{},"target":{},"for_s":{})", quoted(entry),
                       quoted(target_name(s_, f.target)),
                       f.until < kNever ? shortest(f.until - f.t) : "null");
  });
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
      const double overlap =
          std::min(f->t1, from + (bin + 1) * width) - std::max(f->t0, from + bin * width);
      if (overlap > 0) busy[static_cast<std::size_t>(bin)] += overlap * chips * compute;
    }
  }
  for (int bin = 0; bin < kCounterBins; ++bin) {
    counter("chips stepping", "share", from + bin * width,
            busy[static_cast<std::size_t>(bin)] / (width * chips_of_all));
  }
}

void Writer::link_rates() {
  const LinkRates& rates = run_.rates;
  for (const auto& [link, bytes] : rates.bytes) {
    const Link& pair = s_.links[static_cast<std::size_t>(link)];
    const std::string title = s_.regions[static_cast<std::size_t>(pair.from)].name + ">" +
                              s_.regions[static_cast<std::size_t>(pair.to)].name;
    double last = -1.0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const double t0 = rates.edges_s[i];
      const double gbps = gbps_from_bytes_per_s(bytes[i] / (rates.edges_s[i + 1] - t0));
      if (gbps != std::exchange(last, gbps)) counter(title, "gbps", t0, gbps);
    }
    if (last > 0.0) counter(title, "gbps", rates.edges_s.back(), 0.0);
  }
}

void Writer::go_through() {
  if (p_.family == Family::kDiloco) {
    for (const double parameters : fragment_parameters(s_.charged, p_)) {
      fragment_bytes_.push_back(wire_bytes(p_.wire, parameters));
    }
  }
  names();
  for (const Fact& any : tape_.facts) {
    std::visit([&](const auto& f) { read(f); }, any);
  }
  arrows();
  stepping_share();
  link_rates();
}

std::size_t Writer::count() {
  go_through();
  return events_.counted() + 1;  // the order of the processes
}

std::vector<double> Writer::dates() {
  std::vector<double> all;
  each_step_ = true;
  events_.note_dates(&all);
  go_through();
  std::sort(all.begin(), all.end());
  return all;
}

void Writer::write(double t0, double t1, const TapeSink& sink) {
  each_step_ = true;
  events_ = TraceEvents(t0, t1);
  go_through();
  events_.write(sink);
}

// Events come in order of their dates, and are made in no such order: so many are held at once.
constexpr std::size_t kEventsHeld = 100'000;

void write_events(const Scenario& scenario, const Protocol& protocol, const Tape& tape,
                  const TimelineOptions& options, const TimelineWritten& written, const Shown& run,
                  const TapeSink& sink) {
  const auto writer = [&] { return Writer(scenario, protocol, tape, options, written.level, run); };
  sink(fmt::format(
      R"({{"displayTimeUnit":"ms","otherData":{{"scenario":{},"protocol":{},"seed":{},"level":"{}","left_out":{},"about":{}}},)"
      R"("traceEvents":[{{"ph":"M","name":"process_sort_index","pid":0,"args":{{"sort_index":0}}}})",
      quoted(scenario.name), quoted(protocol.name), tape.start.seed, level_name(written.level),
      quoted(written.left_out), quoted(written.about)));
  std::vector<double> begins{-kNever};
  if (written.events > kEventsHeld) {
    const std::vector<double> dates = writer().dates();
    for (std::size_t i = kEventsHeld; i < dates.size(); i += kEventsHeld) {
      if (dates[i] > begins.back()) begins.push_back(dates[i]);
    }
  }
  begins.push_back(kNever);
  for (std::size_t i = 0; i + 1 < begins.size(); ++i)
    writer().write(begins[i], begins[i + 1], sink);
  sink("\n]}\n");
}

const char* what_goes(TimelineLevel level) {
  constexpr const char* kLost[] = {"", "merges and arrows", "every step a slice of its own",
                                   "transfers on links"};
  return kLost[static_cast<std::size_t>(level)];
}

// Of the levels above the chosen one.
std::string left_out_text(TimelineLevel chosen, const TimelineOptions& options) {
  std::string gone;
  for (int level = static_cast<int>(options.level); level > static_cast<int>(chosen); --level) {
    gone += (gone.empty() ? "" : ", ") + std::string(what_goes(static_cast<TimelineLevel>(level)));
  }
  return fmt::format(
      "{} (level {} instead of {}: more than {} events); a part of the run by --from and "
      "--until has room for them",
      gone, level_name(chosen), level_name(options.level), options.most_events);
}

}  // namespace

const char* level_name(TimelineLevel level) {
  constexpr const char* kNames[] = {"faults", "syncs", "steps", "transfers"};
  return kNames[static_cast<std::size_t>(level)];
}

TimelineWritten write_timeline(const Scenario& scenario, const Protocol& protocol, const Tape& tape,
                               const TimelineOptions& options, const TapeSink& sink) {
  if (options.from_s > 0.0 && options.from_s >= tape.end.t) {
    throw BadInput(
        "--from", "",
        fmt::format("found {:g}, the run ends at {} s", options.from_s, shortest(tape.end.t)));
  }
  RingDates ring(scenario, protocol, tape);
  const double until_s = std::min(options.until_s, tape.end.t);
  LinkRates rates;
  if (until_s > options.from_s) {
    rates = link_rates(scenario, protocol, tape, ring, options.from_s, until_s, kCounterBins);
  }
  const Shown run{std::move(ring), std::move(rates)};
  for (int level = static_cast<int>(options.level); level >= 0; --level) {
    const auto chosen = static_cast<TimelineLevel>(level);
    const std::size_t events = Writer(scenario, protocol, tape, options, chosen, run).count();
    if (events > options.most_events) continue;
    TimelineWritten out{chosen, events, "", run.rates.about};
    if (chosen != options.level) out.left_out = left_out_text(chosen, options);
    write_events(scenario, protocol, tape, options, out, run, sink);
    return out;
  }
  throw BadInput(
      "", "",
      fmt::format("the run has more than {} events even at level faults: give --from and --until",
                  options.most_events));
}

}  // namespace skerry

// What can be asked: one scenario, validated and resolved, in SI units (seconds, bytes, bytes/s,
// FLOP/s).
//
// Owner: `load.cpp` makes it from JSON and is the only maker outside tests; everybody else reads
// it. All cross references are indices into the vectors here. Order is the order of the file, so
// that ties everywhere are broken the same way ("learner order" = order of `learners`).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/quantise.hpp"
#include "sim/base/units.hpp"

namespace skerry {

// ---------------------------------------------------------------- places

struct Region {
  std::string name;
  double up_Bps = kUnlimited;    // its port towards the wide area; kUnlimited = ideal
  double down_Bps = kUnlimited;  // and from it
};

// One direction between two regions. Present for every ordered pair that has a route.
struct Link {
  int from = 0;  // index of a region
  int to = 0;
  double latency_one_way_s = 0.0;
  double capacity_Bps = kUnlimited;  // own limit of the pair, beside the two ports
};

enum class TransportKind { kFluid, kTcp };

// What a flow is for; each class may have a cap of its own.
enum class FlowClass : std::uint8_t { kExchange, kRecovery, kControl };
inline constexpr std::array<std::string_view, 3> kFlowClassNames{"exchange", "recovery", "control"};

// How control messages (reports, decisions) travel. kLatencyOnly: they are infinitely thin.
// kReserved: latency + bytes / reserved_Bps, beside the ports and without contention. kShared: a
// flow of class control on the ports and links, given up timeout_s after it was sent.
enum class ControlRate { kLatencyOnly, kReserved, kShared };
struct Control {
  ControlRate rate = ControlRate::kLatencyOnly;
  double bytes = 1024.0;
  double reserved_Bps = kUnlimited;
  double timeout_s = kNever;
};

// fluid: rate = max-min share of ports and links. tcp: besides, a flow never exceeds its window and
// loss caps, and each transfer first pays setup_s.
struct Transport {
  TransportKind kind = TransportKind::kFluid;
  double window_bytes = 0.0;  // of one stream; 0 = no limit
  int streams = 1;
  double setup_s = 0.0;
  double loss_rate = 0.0;  // probability that a packet is lost; 0 = no limit by loss
  double mss_bytes = 1460.0;
  bool rtt_bias = false;  // shares of a bottleneck ∝ 1 / round trip instead of equal
  std::array<double, 3> class_cap_Bps{kUnlimited, kUnlimited, kUnlimited};  // by FlowClass
  Control control = {};

  // What one flow over a round trip of trip_s can reach at most; kUnlimited = no cap. The least of
  // its class's cap and, with tcp and trip_s > 0, of
  //   window: streams × window / trip
  //   loss:   streams × MSS / trip × √(3/2) / √p, p the loss rate (Mathis, Semke, Mahdavi and Ott
  //           1997: periodic loss, every packet acknowledged)
  double cap_Bps(double trip_s, FlowClass of) const;
  double window_cap_Bps(double trip_s) const;
  double loss_cap_Bps(double trip_s) const;
};

// ---------------------------------------------------------------- learners

// Chips of one learner. `west` with count 3 gives learners west.1, west.2, west.3.
struct Learner {
  std::string name;        // "west.1"
  std::string group;       // "west"
  int index_in_group = 0;  // 0-based
  int region = 0;          // index; -1 when the scenario has no regions (ideal)
  std::string device;      // catalog name; empty when step_s was given without a device
  std::int64_t chips = 0;
  int slices = 1;                       // chips % slices == 0
  std::int64_t first_global_slice = 0;  // of its group: slices of west.2 come after those of west.1
  double step_s = 0.0;  // seconds of one inner step at full strength, all factors applied
  double memory_per_chip_bytes = 0.0;  // 0 = not known
  double start_s = 0.0;                // date at which it joins (allocated from then on)
  // Of one chip; empty where neither the island nor the catalog's device says: not known, never 0.
  std::optional<double> usd_per_chip_hour, usd_per_chip_hour_spot;
  std::optional<double> power_w;           // while it steps
  std::optional<double> idle_power_share;  // of power_w, while it is up and does not step
  int spares = 0;  // idle stand-ins for a broken slice of this learner; not counted in chips
};

// ---------------------------------------------------------------- money

enum class Pricing { kOnDemand, kSpot };

struct Prices {
  Pricing pricing = Pricing::kOnDemand;  // which price of a chip-hour the costs are worked out with
  double wan_usd_per_gib = 0.02;         // of what leaves a region; GiB = 2^30 bytes
};

// ---------------------------------------------------------------- the charged model

struct Tensor {
  std::string name;
  double parameters = 0.0;
  bool embedding = false;
  int layer = -1;  // −1: before the first layer (embedding) or after the last (head, final norm)
};

// The large model whose time and bytes are charged. `tensors` is empty when only `parameters` was
// given: fragments are then equal, and the result says so. With `parameters` and `layers` each layer
// is one tensor, all equal.
struct ChargedModel {
  std::vector<Tensor> tensors;
  double parameters = 0.0;  // 0 when the scenario has no charged model: nothing is sent
  int layers = 0;           // 0 when only `parameters` was given; width 0: layers without a shape
  double width = 0.0, ffn = 0.0, vocabulary = 0.0;
  bool tied = true;
  double tokens_per_learner_step = 0.0;
  double wire_bits_per_parameter = 16.0;
  double state_bytes_per_parameter = 16.0;  // weights, gradient and optimizer state on the chips
};

// Tensors of a decoder-only transformer of `layers` × `width`: per layer q, k, v, o (width²), w_in
// (width·ffn), w_out (ffn·width), two norms (width); embedding (vocabulary·width); output head of
// the same size unless tied; final norm. No biases.
std::vector<Tensor> transformer_tensors(int layers, double width, double ffn, double vocabulary,
                                        bool tied);

// ---------------------------------------------------------------- what the system does about
// failures

enum class Resume { kAllSlicesBack, kFromCheckpoint };  // non-elastic data-parallel
enum class StepInProgress { kKept, kLost };             // of a learner that loses a slice
enum class CutTransfer { kResume, kRestart };
enum class CheckpointRule { kNone, kPeriod, kYoung, kDaly };
enum class OnLoss { kWait, kContinue };    // others, when a whole learner is away
enum class RejoinFrom { kPeer, kSyncer };  // state of a learner that lost its own
enum class WhenLate { kAdmit, kFreshInnerState, kRefuse };

struct Recovery {
  double detection_s = 0.0;         // silence until a loss is acted upon
  double hang_detection_s = 600.0;  // the same for a hang, which gives no error
  double spare_swap_s = 90.0;       // until a spare has taken the place of a broken slice
  double slice_down_s =
      13.0;                  // pause of a learner (elastic: of all) that goes on with fewer slices
  double scale_up_s = 13.0;  // pause when slices come back
  double restart_s = 600.0;  // from "all chips are there" to the first restored byte, job restart
  Resume resume = Resume::kFromCheckpoint;
  StepInProgress step_in_progress = StepInProgress::kLost;
  CutTransfer cut_transfer = CutTransfer::kResume;
  CheckpointRule checkpoint_rule = CheckpointRule::kYoung;
  double checkpoint_every_s = 0.0;  // for kPeriod
  double checkpoint_save_s = 30.0;  // blocking part of one save
  double checkpoint_restore_s = 60.0;
  // DiLoCo family: a learner whose state is gone (arXiv 2604.21428, appendix E.3)
  RejoinFrom rejoin_from = RejoinFrom::kPeer;
  int donors = 1;                         // peers that each send a part of the state
  int limit_steps = 0;                    // syncer steps from t_s to joining; 0 = no limit
  WhenLate when_late = WhenLate::kAdmit;  // beyond the limit
  int snapshot_every_steps = 0;           // T_c: the syncer snapshots at these clocks; 0 = never
};

// ---------------------------------------------------------------- protocols

enum class Family { kDataParallel, kDiloco };
enum class AllReduce { kRing, kHierarchicalRing, kStar };
enum class Grace { kOff, kSlack };
enum class LearnerWaits { kNoWait, kAtOverlap };
enum class SyncerPlace { kSharded, kCentral };

// Where in a step the network finds something to send, and what needs the result. kWholeStep: all of
// it at the end of the step. kBuckets: equal parts, one after the other over the backward pass. kLayers:
// the backward pass of a layer (for its activations, then for its weights) makes that layer's part; the
// next forward pass of the layer needs it. Results of the first two are needed before a step begins.
enum class Anatomy { kWholeStep, kBuckets, kLayers };
enum class Fragmentation { kBalanced, kStridedLayers, kConsecutiveLayers };

// What an exchange puts on the wire and what it costs beside it. Rates are parameters a second,
// kUnlimited = no time.
struct WireFormat {
  double bits_per_parameter = 16.0;
  double overhead_bytes_share = 0.0;   // bytes × (1 + this)
  double sync_fixed_s = 0.0;           // once per exchange
  double setup_s = 0.0;                // before the first exchange over a set of regions
  double quantise_per_s = kUnlimited;  // before the wire and again behind it
  double host_copy_per_s = kUnlimited; // from the chips to the host, before the wire
  double merge_per_s = kUnlimited;     // behind it
  // What the format leaves of a number; empty: so many bits are no format that is known.
  std::optional<kernels::Precision> precision = {};
};

struct Protocol {
  std::string name;    // the row's name
  std::string preset;  // data_parallel, data_parallel_elastic, diloco, streaming_diloco,
                       // decoupled_diloco, ideal, best_region
  Family family = Family::kDiloco;
  std::vector<int> learners;   // indices, ascending: the islands that take part
  bool ideal_network = false;  // reference row `ideal`: one place
  bool faults = true;          // reference row `ideal`: none
  bool exchange = true;  // false: nothing is sent and nobody waits for anybody (fault studies)
  AllReduce all_reduce = AllReduce::kHierarchicalRing;
  int star_region = 0;  // hub of kStar
  std::vector<int> ring_order;  // regions of a hierarchical ring in this order; empty: as first seen
  Recovery recovery;
  OnLoss on_loss = OnLoss::kWait;
  WireFormat wire;

  // what a step looks like from the network
  Anatomy anatomy = Anatomy::kWholeStep;
  int buckets = 64;  // of kBuckets
  double backward_share = 2.0 / 3.0;
  bool channel_shared = false;  // pieces flow together; false: one after the other (FIFO)

  // data-parallel
  bool elastic = false;
  int accumulate_steps = 1;  // forward and backward passes before one gradient reduction

  // DiLoCo family (names of the paper)
  int sync_period_steps = 24;  // H, syncer clock
  int fragments = 24;          // P, or the clocks at which one is due when P is more: what falls due
                               // together travels together
  std::vector<std::vector<int>> due_together;  // of the P fragments asked for, per exchanged fragment
  std::vector<int> due_slots;  // per exchanged fragment: due when t mod H is this; ascending
  Fragmentation fragmentation = Fragmentation::kBalanced;
  int overlap_steps = 2;       // τ
  int quorum = 1;              // K, 1 ≤ K ≤ M
  Grace grace = Grace::kSlack;
  double grace_margin = 0.9;           // γ of ξ_grace ≤ γ·ξ_slack
  double grace_limit_steps = 1.0;      // "up to one step"
  double moving_average_weight = 0.1;  // weight of the newest sample in ξ_step, ξ_quorum, ξ_sync
  LearnerWaits learner_waits = LearnerWaits::kNoWait;
  SyncerPlace syncer = SyncerPlace::kSharded;
  int syncer_region = 0;  // of kCentral
  int in_flight = 1;      // fragments on the wire at once
};

// ---------------------------------------------------------------- faults

// kHang: a slice or learner falls silent without an error; noticed after recovery.hang_detection_s,
// then treated like a lost one. kShardLost: the syncer shards of a region lose their memory, chips
// and ports stay. kCorruption: a learner's results are wrong from the date on and found wrong for_s
// later. kStorageSlow: saves and restores take `factor` times as long. kPartition: a pair on the border
// between two sides is cut, and both know it: the smaller side leaves the exchange.
enum class FaultKind {
  kSliceDown,
  kIslandDown,
  kRegionDark,
  kLinkCut,
  kLinkSlow,
  kStraggler,
  kHang,
  kShardLost,
  kCorruption,
  kStorageSlow,
  kPartition
};
enum class TargetKind { kSlice, kLearner, kRegion, kPort, kLink, kStorage };
enum class LawKind {
  kExponential,
  kConstant,
  kWeibull,
  kExponentiatedWeibull,
  kLognormal,
  kGamma,
  kEmpirical
};
enum class Exposure { kWall, kStepping };

// A distribution of positive times, stated by its mean and its form.
struct Law {
  LawKind kind = LawKind::kExponential;
  double mean_s = 0.0;
  double shape = 1.0;  // Weibull, exponentiated Weibull and gamma: k; lognormal: σ of ln
  double power = 1.0;  // exponentiated Weibull: F = (1 − exp(−(x/λ)^k))^power
  std::shared_ptr<const std::vector<double>> values{};  // empirical: ascending, in units of the mean
};

// One thing that can break. slice: (learner, slice) · learner: (learner) · region: (region) ·
// port: (region, up or down) · link: (directed pair = index into `links`) · storage: all of it.
struct Target {
  TargetKind kind = TargetKind::kSlice;
  int index = 0;  // learner, region or link
  int part = 0;   // slice of the learner; 0 = up, 1 = down of a port
};

// One entry of `faults`. Scripted (at_s, for_s on every target) or random (law, away).
// Random: every target has its own renewal stream, drawn from (seed, fault name, group, global
// slice or entity index), so sweeps over learners stay paired. A target of `units` > 1 (chips or
// hosts) breaks when one of them does: `gap.mean_s` is that of one unit. An entry whose targets
// differ in units becomes several Faults of one name; a group is never split, so streams stay
// paired.
struct Fault {
  std::string name;
  FaultKind kind = FaultKind::kSliceDown;
  std::vector<Target> targets;
  bool scripted = true;
  double at_s = 0.0;      // scripted
  double for_s = kNever;  // scripted; kNever = never repaired
  Law gap;                // random: time to the next, on the exposure axis
  Law away;               // random: time until repaired
  Exposure exposure = Exposure::kWall;
  double factor = 1.0;  // link_slow: share of capacity left; straggler, storage_slow: time × this
  double notice_s = 0.0;  // announced so long before the chips go; counted from the drawn date
  int together = 1;  // random: so many consecutive targets of one learner (0: all) fail as one
  std::int64_t units = 1;  // random: chips or hosts in one target, each with the mean gap `gap`
  double offender_share = 0.0;   // random: this share of the units …
  double offender_events = 0.0;  // … carries this share of the faults; both 0: all alike
  double events_per_s_nominal =
      0.0;  // random: expected plan lines a second at full exposure, all targets
};

// A file of plan lines that an entry of `faults` names. The reader has checked that it is a regular
// file of allowed size; its lines are read by plan_from_csv (sim/faults) into Scenario::plan.
struct PlanFile {
  std::string name;  // of the fault entry
  std::string path;  // absolute
};

// One line of a concrete plan (a file {"plan": …} or written by `skerry plan`). Wall dates. It
// takes effect at at_s + notice_s and for for_s from then on.
struct PlanLine {
  double at_s = 0.0;
  double for_s = kNever;
  FaultKind kind = FaultKind::kSliceDown;
  Target target;
  double factor = 1.0;
  std::string source;  // name of the fault entry
  double notice_s = 0.0;
};

// ---------------------------------------------------------------- training

enum class Merge { kMean, kRadialDirectional };

struct TrainedModel {
  std::string preset;  // quick, default, long, large, fragments24; empty when spelt out
  int layers = 2, width = 32, heads = 1, context = 32, vocabulary = 256, batch = 8;
};

// How the rate of a step follows its share of the full tokens, s: × 1, s or √s.
enum class RateRule { kConstant, kLinear, kSquareRoot };

struct InnerOptimizer {
  double rate = 4e-3;
  bool tuned = false;  // `rate` was asked for as "tuned" and comes from the table of tuned rates
  RateRule rate_rule = RateRule::kConstant;
  double final_rate_share = 0.1;  // cosine decay to this share of `rate` over the run's horizon
  int warm_up_steps = 50;         // of full batches, like the horizon: both are counted in tokens
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0.1, clip_norm = 1.0;
};

struct OuterOptimizer {
  double rate = 0.7;
  double momentum = 0.9;  // Nesterov
};

// What one protocol trains with (the shared values after per-protocol overrides).
struct TrainingOfProtocol {
  InnerOptimizer inner;
  OuterOptimizer outer;
  Merge merge_body = Merge::kMean;
  Merge merge_embedding = Merge::kMean;
  kernels::Precision wire = kernels::Precision::kFp32;  // of outer gradients on their way
  bool error_feedback = false;  // what rounding took is added to the learner's next one
  double mixing_alpha = 0.0;    // an overwrite gives alpha × own + (1 − alpha) × global, alpha < 1
};

// Which windows a learner draws from: all of the part to train on, or its own of as many equal
// consecutive parts as the scenario has learners.
enum class Shards { kIid, kContiguous };

struct Training {
  bool on = false;
  TrainedModel model;
  std::string corpus;  // "kjv", "jargon" or an absolute path (from one relative to the scenario)
  std::string corpus_label;  // "kjv", "jargon" or the file's name without folders
  double corpus_bytes = 0.0;     // of the whole text
  double held_out_share = 0.05;  // the end of the text
  int evaluation_windows = 128;
  int evaluations = 40;        // points on the loss curve, evenly spaced in charged tokens
  int warm_start_steps = 100;  // synchronous steps before t = 0, off the clock
  // Of the warm start, whatever the rows have: the shared keys, the default rate if that is
  // "tuned".
  InnerOptimizer warm_inner;
  int seeds = 1;               // how many of the scenario's seeds are trained
  int gradient_shards = 1;
  Shards shards = Shards::kIid;
  std::int64_t steps_at_most = 20000;  // of one learner on a tape to be trained
  std::optional<double> stop_at_loss;  // training ends at the first evaluation at or below it
  std::optional<double> target_loss;            // absolute, nats per byte; else relative to the baseline row:
  double target_loss_over_baseline = 0.05;      // (1 + this) × the baseline's final loss
  std::vector<TrainingOfProtocol> of_protocol;  // one per Scenario::protocols
};

// ---------------------------------------------------------------- the whole

struct Stop {
  std::optional<double> tokens;  // charged, net, over all learners of a protocol
  double simulated_s = kNever;   // stop (tokens absent) or cap (tokens given)
};

struct Expect {
  std::string protocol;
  std::string metric;    // dotted path into summary.json, "loss.final", "chip_seconds.lost.down"
  std::string ratio_to;  // protocol; empty = none
  std::string minus;     // protocol; empty = none
  std::optional<double> min, max, equal;
  double tolerance = 1e-6;  // relative, with `equal`
  std::string why;
};

struct Scenario {
  std::string name;  // the file's name without folder and .json
  std::string about;
  std::vector<std::uint64_t> seeds;  // at least one
  Stop stop;
  std::vector<Region> regions;
  std::vector<Link> links;
  Transport transport;
  std::vector<Learner> learners;
  double spread_relative = 0.0;  // speed_spread: see spread_factor()
  ChargedModel charged;
  Prices prices;
  std::vector<Protocol> protocols;
  int baseline = 0;  // index of the row that ratios use
  std::vector<Fault> faults;
  std::vector<PlanFile> plan_files;  // {"plan": file} entries
  std::vector<PlanLine> plan;        // their lines; empty until plan_files were read
  Training training;
  std::vector<Expect> expect;
  std::vector<std::string> warnings;         // "W07: …", stay in the result
  std::vector<std::string> calibrated_keys;  // pointers of calibrated or assumed values in use

  // index into `links` of the directed pair, or -1 (no route). from == to gives -1: it is local and
  // free.
  int link_between(int from_region, int to_region) const;
  // Of each link: latency there and back, seconds; a pair without a way back counts its own twice.
  std::vector<double> round_trips_s() const;
};

// What the speed spread multiplies step_s of a learner by in the run with this seed: uniform in
// [1, 1 + spread_relative], drawn once per island from (seed, group, index in group), so that
// sweeps over counts stay paired. 1 without a spread.
double spread_factor(const Scenario& scenario, std::uint64_t seed, int learner);

// Nominal bytes/s of a port or link; kUnlimited when it has no capacity of its own (then it can be
// cut, but not slowed). Requires a port or a link.
double nominal_capacity_Bps(const Scenario& scenario, const Target& target);

}  // namespace skerry

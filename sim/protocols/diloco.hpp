// The DiLoCo family: DiLoCo, Streaming DiLoCo and Decoupled DiLoCo (arXiv 2604.21428, Algorithms 1 and 2)
// are one protocol with other constants.
//
//   learner.cpp    Algorithm 1: step, report, take what has arrived; inner_step.cpp: one step
//   island.cpp     learners that come and go
//   syncer.cpp     Algorithm 2: collect reports, close; rounds.cpp: pull, merge over the wire, outer
//                  step, send
//   recovery.cpp   state of a returning learner from a peer; shards that leave and return
//
// Letters of the paper: M learners, K quorum, P fragments, H period, τ overlap, t the syncer's clock,
// t_m a learner's step, Θ_p(t) a version of fragment p.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "sim/cost/anatomy.hpp"
#include "sim/protocols/exchange.hpp"
#include "sim/protocols/mesh.hpp"
#include "sim/protocols/world.hpp"

namespace skerry {

// w = c_tokens × (c_tokens / c_steps): quantity times quality (arXiv 2604.21428). Requires c_steps > 0.
inline double token_weight(double c_tokens, double c_steps) { return c_tokens * c_tokens / c_steps; }

class Diloco {
 public:
  explicit Diloco(World& world);
  ~Diloco();                             // processes end before the signals they wait for
  Diloco(const Diloco&) = delete;
  Diloco& operator=(const Diloco&) = delete;
  // After World::run(): books the whole steps of stretches without exchange.
  void settle_at_end();
  std::string waits() const;             // who waits for whom (deadlock message)

 private:
  // ------------------------------------------------------------ what a learner holds
  struct Counter {                       // of one fragment, since the learner last received it
    std::int64_t step = 0;               // t_m at that moment
    double tokens = 0;
    std::int64_t step_before = 0;        // the same of the time before: a report sent at the boundary at
    double tokens_before = 0;            // which the fragment arrived counts from there
    double kept_chip_s = 0;              // work done when the fragment last merged or arrived; what came
    double kept_tokens = 0;              // since is lost in a crash
    std::int64_t clock = 0;              // version received
  };
  struct Delivery {                      // (Θ_p, t) on its way into a learner
    std::int64_t clock = 0;
    std::int64_t pulled_step = -1;       // this learner's t_m when p was pulled; −1 = it was away
    int fragment = 0;
    bool participated = false;
  };
  struct Quiet {                         // steps without exchange: `left` more from `since` on
    double step_s = 0, since = 0, left = 0;
  };
  struct LearnerState {
    bool joined = false;                 // has a state and steps
    bool recovering = false;             // buffers what the syncer sends
    bool copying = false;                // receives its state over the wide area
    double noticed_s = 0;                // its last loss is known from then on
    int lives = 0;                       // states it has had: joins so far
    bool state_lost = false;             // chips are there, but none that holds a sound state
    bool stored = false;                 // its state is in storage, from before an announced loss
    bool parked = false;                 // and its chips are gone since
    int corruptions_found = 0;           // of the fleet's, that it knows
    bool corrupt = false;                // its results are wrong; what it had done before:
    double sound_chip_s = 0, sound_tokens = 0;
    Quiet quiet;
    std::int64_t step = 0;               // t_m
    double tokens = 0;                   // charged tokens done in its life, never reset
    double chip_seconds = 0;             // compute chip-seconds likewise
    std::int64_t clock = 0;              // newest t_s received
    std::int64_t waits_for_clock = 0;    // 0 = does not wait
    bool waiting = false;                // for it, and does nothing else
    std::vector<Counter> counters;       // per fragment
    std::vector<Delivery> inbox;
    std::int64_t step_in_progress = 0;   // of which rounds may take pieces; 0 = none. It began, and takes:
    double step_began = 0, step_length_s = 0;
    std::int64_t reported_step = 0;      // of the newest report, which may be of the step in progress
    Mesh mesh;
    Process island, life;                // watches the chips; steps
    std::unique_ptr<Signal> delivered;   // something arrived in the inbox, or hardware changed
  };
  struct Round {                         // one fragment between close and delivery
    std::int64_t clock = 0;
    int fragment = 0;
    std::vector<int> merged;             // learners whose copies take part, in learner order
    std::vector<fact::Weigh> weights;    // theirs
    std::vector<std::int64_t> pulled;    // t_m of each learner at its shard's pull; −1 = it was away
    std::vector<int> life;               // and which of its lives that was
    std::vector<std::int64_t> asked;     // step in progress that pieces are taken from; 0 = none
    std::vector<char> there;             // results of its pieces
    int attempt = 0;                     // counts steps that were cut under it
  };
  struct Report {                        // newest metadata of a learner at the coordinator
    std::int64_t step = -1;
    double tokens = 0;
    bool fresh = false;                  // arrived since the last collection closed
  };
  struct Message {                       // metadata on its way
    Diloco* to = nullptr;
    int learner = 0;
    std::int64_t step = 0;
    std::int64_t clock = 0;              // newest that the learner has received
    double tokens = 0;
  };
  struct Snapshot {                      // of the syncer's state at a clock (marker algorithm)
    std::int64_t clock = 0;              // 0 = none
    double began = 0;
    std::vector<std::int64_t> versions;  // of every fragment
    std::vector<char> marked;            // learners whose reports have returned the marker
  };

  // ------------------------------------------------------------ island.cpp
  Task<void> island(int m);                     // owns the life; chips lost whole end it
  void leave(int m);
  void join(int m, std::int64_t step);
  fact::Lost work_at_risk(int m) const;
  void note_corruption(int m);
  double store_by_s(int m) const;
  double store_s() const;
  bool must_store(int m) const;
  Task<void> store(int m);                      // before an announced loss
  Task<void> resume(int m);                     // from what was stored
  static void on_noticed(void* self);

  // ------------------------------------------------------------ learner.cpp
  Task<void> life(int m, bool first);
  Task<void> reconfigure(int m);                // slices left or came back
  Task<void> pause(int m, double seconds, Cause cause);  // ends early when more slices leave
  Task<void> wait_at_overlap(int m);
  void push_report(int m) { push_report(m, at(m).step, at(m).tokens); }
  void push_report(int m, std::int64_t step, double tokens);
  void report_arrives(int m, std::int64_t step, std::int64_t clock, double tokens);
  static void on_message(void* message, bool arrived);
  void take_pending(int m, std::int64_t clock = kNewest);
  void overwrite(int m, const Delivery& delivery);
  Cause why_waiting(int m, std::int64_t need) const;
  void book_waiting(int m);                     // of a learner that waits: why, as of now
  Task<void> quiet_steps(int m);                // exchange off
  double most_quiet_steps(int m);
  void settle_quiet_steps(int m, bool all);
  void book_quiet_steps(int m, double n, double t1);

  // ------------------------------------------------------------ inner_step.cpp
  Task<void> inner_step(int m);
  Task<void> compute(int m, double end, bool* cut);
  Task<void> step_in_pieces(int m, double length, bool* cut);
  Task<void> forward(int m, double length, double* computed, bool* cut);
  Task<void> stand_still(int m, std::int64_t need, std::size_t k, bool* cut);
  bool step_is_lost(int m);
  double report_share(int m) const;
  bool piece_there(int m, std::int64_t need, std::size_t k) const;
  bool may_begin(int m, std::int64_t need) const;
  bool in_layers() const { return p_.anatomy == Anatomy::kLayers; }

  // ------------------------------------------------------------ syncer.cpp
  Task<void> syncer();
  Task<void> collect(std::int64_t t, std::vector<int>* reporters);
  void close_collection(std::int64_t t, double waited_s, double grace_s, std::vector<int>* reporters);
  void begin_snapshot(std::int64_t t);
  void return_marker(int m, std::int64_t clock);
  void finish_snapshot();                       // when every connected learner has returned the marker
  bool reported(int m, std::int64_t t) const;
  void recount();                               // reports and expected reporters of the open collection
  int quorum_now() const;                       // K, or fewer when on_loss is continue
  double grace_window() const;                  // ξ_grace ≤ γ·ξ_slack
  int due(std::int64_t t) const;                // fragment due at clock t, −1 = none
  std::int64_t last_due(std::int64_t t) const;  // newest clock ≤ t at which one is, 0 = none
  int coordinator() const;                      // region of the coordinating shard; −1 = none is live

  // ------------------------------------------------------------ rounds.cpp
  Task<void> round(std::int64_t t, int p, std::vector<int> reporters);
  Task<void> decide_and_pull(Round* round, std::vector<int> reporters);
  Task<void> decide(Round* round, int region, std::vector<std::int64_t> asked);
  void pull(Round* round, int m);
  void pull_ended_step(int m);
  void forget_cut_step(int m, bool again);
  bool waits_for_steps(const Round& round) const;
  bool dates_known(const Round& round) const;
  double ready_s(const Round& round, const Piece& piece) const;
  fact::Weigh weigh(std::int64_t t, int p, int m) const;
  Collective exchange(double bytes, const std::vector<int>& merged) const;
  std::vector<PieceOnWire> on_wire(const Round& round);
  Task<void> over_the_wire(Round* round);
  Task<void> send_fragment(Round* round);
  void piece_arrived();
  void restart_without_lost(Round* round);
  void send_to_learners(const Round& round);

  // ------------------------------------------------------------ recovery.cpp
  Task<void> recover(int m);                    // until it may join
  Task<void> first_fragment(int m, std::int64_t* t_s);
  struct Request {                              // of a learner for a state
    double began = 0;
    std::int64_t t_s = 0;
  };
  enum class Answer { kAgain, kLate, kJoined };
  Task<void> copy_from_peers(int m, Request request, Answer* answer);
  Task<void> copy_over_wan(int m, std::vector<int> donors);
  bool can_give(const std::vector<int>& donors, int m) const;
  Answer admit(int m, const Request& request, const fact::Copy& copy,
               const std::vector<std::int64_t>& clocks);
  void start_from_global(int m, double began);
  std::vector<int> choose_donors(int m) const;
  bool anybody_has_state() const;
  Task<void> shard(int region);                 // membership of a region's shards in the ring
  void restore_from_snapshot(int region);
  Task<void> catch_up(int region, bool* done);  // fetches fragments merged without it
  Task<void> fetch(int from_region, int region, double bytes);
  void rejoin(int region);
  void send_missed(int m);                      // newer fragments, from the shard beside it
  void membership_changed();
  void peers_changed();                         // somebody gained, lost or advanced a state
  double missed_bytes(int region) const;
  int region_in_ring(int near) const;           // nearest other region in the ring, −2 = none
  bool in_contact(int m) const;                 // its region's shards are in the ring

  LearnerState& at(int m) { return states_[static_cast<std::size_t>(m)]; }
  const LearnerState& at(int m) const { return states_[static_cast<std::size_t>(m)]; }
  std::size_t shard_index(int region) const { return static_cast<std::size_t>(region + 1); }

  World& w_;
  const Protocol& p_;
  static constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();
  std::vector<double> fragment_bytes_;          // of their parameters, for who fetches them
  std::vector<std::vector<Piece>> pieces_;      // of their exchanges
  double first_ready_ = 1.0;                    // of all pieces, share of a step
  int most_rounds_ = 1;                         // in flight
  std::vector<double> fragment_share_;
  std::vector<LearnerState> states_;            // per scenario learner
  std::vector<Report> reports_;
  std::deque<Message> messages_;
  std::vector<Message*> free_messages_;

  // Syncer
  std::vector<int> due_table_, back_table_;     // by t mod H: fragment due; clocks since one was
  std::int64_t closed_clock_ = 0;               // newest clock whose collection closed
  int reports_now_ = 0;                         // reporters of clock closed_clock_ + 1
  int expected_ = 0;                            // joined learners in contact, or not yet known as lost
  int started_ = 0;                             // learners whose start has come
  double first_start_s_ = 0;
  int wake_at_ = 1;                             // count that the collection waits for
  std::vector<std::int64_t> version_;           // clock of Θ_p, per fragment
  double step_ema_s_ = 0, quorum_ema_s_ = 0, sync_ema_s_ = 0;   // ξ_step, ξ_quorum, ξ_sync
  int rounds_open_ = 0;
  std::deque<std::int64_t> wire_queue_;         // open rounds in clock order; the first `in_flight`
                                                // may use the wire
  std::vector<Round*> open_rounds_;             // owned by their processes
  std::vector<char> set_up_;                    // ring of the last exchange
  bool regions_can_fail_ = false;
  std::vector<int> regions_;                    // with participating learners; −1 without regions
  std::vector<char> in_ring_;                   // by shard_index
  std::vector<std::vector<std::int64_t>> known_versions_;  // of a region that left the ring
  Snapshot open_snapshot_, snapshot_;           // under way; newest complete one
  Signal report_arrived_, round_ended_, wire_event_, ring_changed_, peers_changed_;
  std::deque<Process> rounds_;
  std::vector<Process> shards_;
  Process syncer_;
};

}  // namespace skerry

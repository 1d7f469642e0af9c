// scenarios/README.md, from the tree of keys.
#include <algorithm>
#include <utility>

#include "sim/scenario/load.hpp"
#include "sim/scenario/metrics.hpp"
#include "sim/scenario/presets.hpp"
#include "sim/scenario/spec.hpp"
#include "sim/scenario/text.hpp"

namespace skerry {

namespace {

using reader::Field;
using reader::Json;
using reader::Node;
using reader::Type;

constexpr const char* kHead = R"(# Scenarios: every key

This page is written by the program (`skerry schema` gives the same as JSON Schema, `skerry explain POINTER` one key).

A scenario is plain JSON and says all that can be asked. It is read strictly: an unknown, duplicate, mistyped or out-of-range
key, or numbers that do not fit together, stop the run before any work, with the file, the JSON pointer, what was found, what is
allowed and the nearest known key. A setting that cannot matter gives a warning (W01 …) that stays with the result.

* `about` is allowed in every object. Maps are keyed by name: letters, digits, `.`, `_`, `-`, at most 64. Counts may be written 1.2e6.
* A key shown as `at_<unit>` is a duration: write one of `at_ms`, `at_s`, `at_min`, `at_h`, `at_days`, `at_years` (365 days).
  The resolved copy has `at_s`. Ranges of durations are in seconds.
* `port_gbps` and its kind are 10^9 bits a second. A name of the catalogs (`catalog/`) needs no more than its name.
* Paths are relative to the scenario's folder and are read as data only.
* A default marked "assumed" is calibrated or a guess, not a measurement; those in use are listed with every result.
)";

constexpr const char* kMeaning = R"(
## What a step puts on the wire

* **When something is ready.** `anatomy: whole_step`: a fragment leaves when its step has ended. `buckets`: equal parts of it over the
  backward pass, bucket k of n at (1 - s) + s k / n of the step, s = `backward_share`. `layers`: 3L - 1 equal slices, forward 0 ... L - 1,
  then for each layer from the last its backward pass for activations (not the first layer's) and for weights; a layer is ready after the
  latter. A learner reports the step when the first piece of a due fragment is ready; a learner lost before the step has ended is left out.
* **When the result is needed.** Data-parallel: before the next step. DiLoCo family with `learner_waits: at_overlap`: before step
  t + tau + 1, with layers before the forward pass of that layer in it. Waiting inside a step is booked as `exposed_communication`,
  or as `straggler_wait` while a peer is late.
* **How it travels.** `channel: fifo` one piece after the other, fragments in clock order (`in_flight` of them at once); `shared`: each as
  soon as it is ready. Before the wire a piece is copied to the host and quantised, behind it dequantised and merged, each stage one
  piece after the other, beside the wire. `sync_fixed` is paid once an exchange, `setup` when the regions in it have changed.
* **Fragments** are whole tensors. More fragments than steps of the period: those that fall due at one step travel together (W32), so
  that P > H is P = H when H divides P and no byte is lost otherwise.
* **Numbers of `summary.json`.** `compute_utilization`: compute / (compute + exposed communication) over learners; waiting for stragglers
  or a quorum is in neither. `hidden_share`: of the fragments received, those taken within tau steps of their copy (rows that wait at
  overlap always do: their cost is exposed communication); `hidden_share_outside_faults`: without what came between a fault and H steps
  after its repair. `merged_share`: of tokens x fragment bytes, what entered a merge; `merged_pending_share`: what had no fate at the end.
* **`compute_utilization_whole_periods`** is compute / (compute + exposed communication) over whole periods of H steps in the second half of
  a run without faults: what tables of bandwidth mean, and `CU` for `skerry solve`. A run too short to use up an overlap of tau steps
  reads too high. `compute_utilization` counts the whole run, its first, undisturbed steps too.
* **Control messages** (reports, decisions) cost one-way latency; with `transport/control` they have a size, and a reserved rate or a place
  among the flows: then one that is not there in time is given up, counted, named in the result and sent again.

## What a failure means

* **A slice goes.** The step in progress is kept or lost (`step_in_progress`), then `detection`, then a pause `slice_down`, then the
  learner (elastic data-parallel: the job) goes on with fewer slices: fewer tokens a step, the same step time. Slices that are
  back wait for the next end of a step and are taken in together, for one pause `scale_up`. A further loss during a pause begins
  the reaction again, so that with `exposure: wall` failures strike during recoveries too, and with `stepping` they do not.
* **All chips of a learner go.** Its state is lost: what it did since each fragment last merged is `wasted_progress`. In the
  DiLoCo family it comes back with `scale_up`, waits for the first fragment (clock t_s), copies 3 x the model from a peer that has
  seen t_s, takes the fragments that came meanwhile and steps. A donor that is lost is replaced; a region fetches its state over
  the wide area once and hands it on inside. The others go on (`on_loss: continue`) or wait. Elastic data-parallel stands still
  while 3 x the model is copied; data-parallel without elasticity waits for all chips and, with `from_checkpoint`, restarts from its
  last save. When every learner has lost its state, the syncer's is used: it stands on stable storage.
* **With notice** nothing is lost that can be saved in time: a learner that will lose all its chips stores its state
  (`checkpoint_save`) before the last step that would not fit, restores it when it is back (`checkpoint_restore`) and goes on where
  it was; data-parallel that restarts from checkpoints saves in time. Notice also spares `detection`.
* **A hang** gives no error: from the date on nothing happens until `hang_detection` is over; then it is a slice that goes, away
  from that moment.
* **Corruption** costs all that was done since its date once it is found: a learner starts again from a peer, data-parallel from its
  last save before that date (without one, from the start).
* **Region dark**: chips, shards and ports are off. **Port cut, partition**: learners step on, their shards leave the exchange after
  `detection`, and fetch what they missed before they take part again. **Pair cut**: its transfers wait (`cut_transfer`). **Shard
  lost**: out at once; restored from the newest complete snapshot, or empty, it fetches the rest from another shard.
* **Spares** stand in for broken slices after `spare_swap`; a slice that finds none waits for the next repair of its learner's
  hardware. They are idle and not counted in chips.

Every chip-second has one cause (`chip_seconds.lost`), the first that holds of:

| cause | chips that … |
|---|---|
| `degraded` | are away (broken slices out of the learner's mesh), whatever the others do, detection and repair included; the rest of a step that is kept counts in full |
| `down` | belong to a learner without any chips |
| `infrastructure_recovery` | wait for detection, for a restart, for a peer's state, for all chips to be back, or for an announced loss after saving |
| `checkpoint_restore`, `checkpoint_save` | read or write a checkpoint |
| `slice_down`, `scale_up` | pause to go on with fewer or more slices (elastic data-parallel: state copies too) |
| `straggler_wait`, `waiting_for_quorum` | wait for a peer that is slow; that is away |
| `exposed_communication` | wait for the network |
| `wasted_progress` | computed what was lost: a cut step, steps since the last merge or save, steps on corrupt state |
| `other` | none of these; above 1 % flags the run |

## Money and energy

* **Prices** and power are those of the island, else of its device in the catalog (`catalog/devices.json`: each with source, date and
  kind). Where neither knows one, what needs it is null in `summary.json`, empty in `table.csv`, a dash in the table, and the table names
  the island: never 0, and no guess.
* **`cost_usd`** = allocated chip-hours x price (`cost.chips_usd`: all chips of the row's learners from joining to the end of the run, broken
  ones too, spares not) + bytes that left a region x `prices/wan_usd_per_gib` (`cost.wan_usd`). `cost_spot_usd` is the same at spot prices.
* **`wasted_cost_usd`**, `wasted_chip_hours`: all that is not productive. By cause: `cost.lost_usd` and `chip_seconds.lost`, chips at their
  own price. Productive, lost and wide area add up to the cost (`closure_cost`, checked to 1e-9).
* **`cost_usd_per_1e9_tokens`** counts net tokens. Ratios of cost between rows are ratios of this: at equal tokens.
* **`cost_to_loss_usd`**: chip-hours allocated up to `time_to_loss_s` at their prices, and of the wide area the share
  `time_to_loss_s` / `simulated_s` of its cost. Null when the target was not reached.
* **`energy_kwh`**: `power_w` while a chip steps, lost and rolled back steps too; `power_w` x `idle_power_share` while it is up and does
  anything else (waits, pauses, saves, restores); nothing while it is away (`degraded`, `down`). Chips alone: no hosts, switches or cooling.
)";

constexpr const char* kWarnings = R"(
## Warnings

They name settings that cannot matter, or that deserve a second look, and stay with the result.

| code | meaning |
|---|---|
| W01 | DiLoCo family with one learner: outer steps have nobody to merge with |
| W02 | a grace window beside a quorum of all learners |
| W03 | several seeds, and nothing random |
| W04 | window, loss, streams or setup with the fluid transport |
| W05 | memory of a slice exactly full (less than 1 % to spare) |
| W06 | the paper's recovery within H steps is out of reach of the slowest port |
| W07 | a fault that is one scripted event |
| W08 | no charged model: nothing is sent |
| W09 | more training seeds than seeds |
| W10 | a charged model without a shape: equal fragments |
| W11 | mfu beside a given step time |
| W12 | a grace window that never opens |
| W13 | a region without islands |
| W14 | a straggler of factor 1 |
| W15 | recovery settings without faults |
| W20 | a fragment of the trained model holds under a fifth of the mean |
| W21 | training diverged: a loss that is not finite |
| W22 | when_late without limit_steps |
| W23 | syncer snapshots, and no shard is ever lost |
| W24 | donors or limit_steps beside rejoin_from syncer |
| W25 | spares, and no slice ever breaks |
| W26 | a fault whose targets take part in no row |
| W27 | a scripted fault after the end of the run |
| W28 | rtt_bias, and all round trips are equal |
| W29 | a cap by loss or of a class that is above ports, pairs and window |
| W30 | loss_rate beside round trips of 0, or mss_bytes without it |
| W31 | control messages, or a cap of a class, and nothing of that kind is sent |
| W32 | more fragments than steps in the period: those of one step travel together |
| W33 | channel shared, and one piece is on the wire at a time |
| W34 | training: a wire of bits that no format has, or error_feedback where nothing is rounded |
| W35 | trained, with fewer than 50 outer rounds per fragment: as the chips alone would have it, or in what was run |
| W36 | trained tokens are more than four times the text |
| W37 | training ended at stop_at_loss |
| W38 | idle_power_share without power_w |
| W39 | a price of the wide area where nothing leaves a region, or one on demand where spot prices are asked for |
| W40 | rate not tuned: the table has no entry, or one at the edge of its grid |
| W41 | training ended at a higher loss than it began with |
)";

// Text in a cell of a table.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string default_text(const Field& field) {
  if (field.is_required) return "required";
  if (!field.default_value) return field.default_note.empty() ? "none" : field.default_note;
  std::string text = "`" + field.default_value->dump() + "`";
  if (field.default_value->is_object()) text = "its keys' defaults";
  if (field.is_duration) text += " s";
  if (field.is_assumed) text += " (assumed)";
  return text;
}

// Objects below a node with the pointer that leads to each.
void collect(const Node& node, const std::string& pointer,
             std::vector<std::pair<std::string, const Node*>>& objects) {
  switch (node.type) {
    case Type::kObject:
      objects.emplace_back(pointer.empty() ? "/" : pointer, &node);
      for (const Field& field : node.fields)
        collect(*field.node, pointer + "/" + field.key, objects);
      return;
    case Type::kMap:
      return collect(*node.value, pointer + "/" + node.entry, objects);
    case Type::kArray:
      return collect(*node.value, pointer + "/N", objects);
    case Type::kEither:
      for (const auto& choice : node.choices)
        collect(*choice, pointer, objects);
      return;
    default:
      return;
  }
}

std::string object_section(const std::string& pointer, const Node& node) {
  std::string text =
      "\n## `" + pointer + "`\n\n| key | allowed | default | meaning |\n|---|---|---|---|\n";
  for (const Field& field : node.fields) {
    if (field.key == "about") continue;
    text += "| `" + reader::shown_key(field) + "` | " + cell(reader::allowed(*field.node)) + " | " +
            cell(default_text(field)) + " | " + cell(field.doc) + " |\n";
  }
  for (const auto& group : node.at_most_one) {
    text += "\nAt most one of";
    for (const std::string& key : group) {
      text += (&key == &group.front() ? " `" : ", `");
      text += reader::shown_key(*reader::find_field(node, key));
      text += '`';
    }
    text += ".\n";
  }
  return text;
}

std::string presets_section() {
  std::string text =
      "\n## Presets of `/protocols`\n\n"
      "`data_parallel` stops when a slice is lost and resumes (`recovery.resume`); "
      "`data_parallel_elastic` goes on with a smaller "
      "batch. `ideal` is data-parallel in one place without faults; `best_region` is elastic "
      "data-parallel in the one region with "
      "most tokens a second. Sources: DiLoCo arXiv 2311.08105 (H = 500), Streaming DiLoCo arXiv "
      "2501.18512 (H = 100, tau = 1; its "
      "fragments are layers, 24 here), Decoupled DiLoCo arXiv 2604.21428 (H = P = 24, tau = 2, K = "
      "1, grace on).\n\n"
      "| key |";
  std::vector<std::string> keys;
  std::string rule = "|---|";
  for (const std::string& preset : reader::preset_names()) {
    text += " " + preset + " |";
    rule += "---|";
    for (const auto& [key, value] : reader::preset_values(preset).items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  text += "\n" + rule + "\n";
  for (const std::string& key : keys) {
    text += "| `" + key + "` |";
    for (const std::string& preset : reader::preset_names()) {
      const Json* value = reader::member(reader::preset_values(preset), key);
      std::string shown = "–";
      if (value != nullptr && value->is_object()) {
        shown = value->at("rule").get<std::string>();
      } else if (value != nullptr && value->is_number()) {
        shown = reader::number_text(value->get<double>());
      } else if (value != nullptr) {
        shown = value->get<std::string>();
      }
      text += " " + shown + " |";
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string reference_page_markdown() {
  std::string text = kHead;
  std::vector<std::pair<std::string, const Node*>> objects;
  collect(reader::scenario_spec(), "", objects);
  for (const auto& [pointer, node] : objects)
    text += object_section(pointer, *node);
  text += presets_section();
  text += kMeaning;
  text += kWarnings;
  text += "\n## Metrics of `/expect`\n\n";
  for (const std::string& metric : known_metrics())
    text += "* `" + metric + "`\n";
  text += "\n## Limits\n\nRefused with the estimate, before anything is allocated: files over " +
          std::to_string(kMaxFileBytes) + " bytes, nesting over " + std::to_string(kMaxDepth) +
          " levels, more than " + std::to_string(kMaxLearners) +
          " learners or 1e6 slices, more than " + reader::number_text(kMaxFacts) +
          " facts of one run, trained models over " + reader::number_text(kMaxTrainedBytes / 1e9) +
          " GB, more than 2,000,000 targets, self-ageing chips or hosts, or lines of traces in all "
          "faults, trace files over 64 MiB (JSON: over the file limit).\n";
  return text;
}

}  // namespace skerry

// What is trained, and what is expected to come out.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "kernels/model.hpp"
#include "sim/scenario/bind.hpp"
#include "sim/scenario/catalog.hpp"
#include "sim/scenario/corpus.hpp"
#include "sim/scenario/metrics.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/text.hpp"
#include "sim/scenario/wire_formats.hpp"

namespace skerry::reader {

namespace {

// Shapes of the presets: layers, width, heads, context (batch is 8 in all).
Json model_preset(const std::string& preset) {
  static const std::map<std::string, std::vector<int>> shapes = {{"quick", {2, 32, 1, 32}},
                                                                 {"default", {2, 64, 2, 64}},
                                                                 {"long", {2, 64, 2, 64}},
                                                                 {"large", {4, 128, 4, 64}},
                                                                 {"fragments24", {6, 48, 2, 64}}};
  const auto& shape = shapes.at(preset);
  return {{"layers", shape[0]},  {"width", shape[1]}, {"heads", shape[2]},
          {"context", shape[3]}, {"vocabulary", 256}, {"batch", 8}};
}

void bind_trained_model(const Binder& binder, Json given, TrainedModel& model) {
  model.preset = text_at(given, "preset");
  const Json shape = model_preset(model.preset);
  for (const auto& [key, value] : shape.items()) {
    if (!given.contains(key)) {
      given[key] = value;
    } else if (given[key] != value) {
      model.preset.clear();
    }
  }
  model.layers = static_cast<int>(integer_at(given, "layers"));
  model.width = static_cast<int>(integer_at(given, "width"));
  model.heads = static_cast<int>(integer_at(given, "heads"));
  model.context = static_cast<int>(integer_at(given, "context"));
  model.vocabulary = static_cast<int>(integer_at(given, "vocabulary"));
  model.batch = static_cast<int>(integer_at(given, "batch"));
  if (model.width % model.heads != 0) {
    binder.refuse("/training/model/heads",
                  "found " + std::to_string(model.heads) + " heads, which the width of " +
                      std::to_string(model.width) + " does not divide into");
  }
}

// Bytes of training the protocol with most learners: eight floats a parameter and learner
// (parameters, gradient, two moments, outer momentum, anchors, fragments under way) and the
// activations of up to 64 learners side by side.
void check_trained_bytes(const Binder& binder, const TrainedModel& model) {
  std::size_t learners = 0;
  for (const Protocol& protocol : binder.scenario.protocols) {
    learners = std::max(learners, protocol.learners.size());
  }
  const double layers = model.layers, width = model.width, context = model.context;
  const double parameters =
      (model.vocabulary + context) * width + layers * (12.0 * width * width + 13.0 * width);
  const double tokens = context * model.batch;
  const double activations =
      tokens * (layers * (34.0 * width + 4.0 * model.heads * context) + 3.0 * model.vocabulary);
  const auto count = static_cast<double>(learners);
  const double bytes = 4.0 * (count * 8.0 * parameters + std::min(count, 64.0) * activations);
  if (bytes > kMaxTrainedBytes) {
    binder.refuse("/training/model", "would need about " + number_text(bytes / 1e9) + " GB for " +
                                         std::to_string(learners) + " learners of " +
                                         number_text(parameters) + " parameters, allowed " +
                                         number_text(kMaxTrainedBytes / 1e9) + " GB");
  }
}

// The resolved copy holds the whole path, so that it can be read again from any folder.
void bind_corpus(Binder& binder, Json& given) {
  Training& training = binder.scenario.training;
  training.corpus_label = text_at(given, "corpus");
  training.corpus = training.corpus_label;
  if (training.corpus != "kjv" && training.corpus != "jargon") {
    training.corpus = absolute_path(binder, training.corpus_label);
    training.corpus_label = std::filesystem::path(training.corpus).filename().string();
    binder.name_file("/training/corpus", training.corpus);
  }
  std::string bytes = corpus_text(training, binder.label);
  check_corpus(bytes, training, binder.scenario.learners.size(), binder.label);
  training.corpus_bytes = static_cast<double>(bytes.size());
  if (training.corpus != "kjv") binder.file_bytes.push_back(std::move(bytes));
}

// A fragment of the trained model is made of whole tensors.
void check_trained_fragments(const Binder& binder, const TrainedModel& model) {
  const std::size_t tensors = trained_tensors(model).size();
  for (const Protocol& protocol : binder.scenario.protocols) {
    if (protocol.family != Family::kDiloco) continue;
    if (static_cast<std::size_t>(protocol.fragments) <= tensors) continue;
    binder.refuse("/training/model",
                  "found " + std::to_string(tensors) + " tensors, allowed at least the " +
                      std::to_string(protocol.fragments) + " fragments of " + protocol.name);
  }
}

// Steps of the fastest learner in the undisturbed run. Faults and waiting move the number, so only
// twice as many as allowed are refused before anything is simulated; the replay counts the tape's.
void check_steps(const Binder& binder, const Training& training) {
  const Scenario& scenario = binder.scenario;
  for (const Protocol& protocol : scenario.protocols) {
    if (protocol.preset == "ideal") continue;
    double fastest = 0.0, together = 0.0;  // steps a second
    for (const int i : protocol.learners) {
      const double rate = 1.0 / scenario.learners[static_cast<std::size_t>(i)].step_s;
      fastest = std::max(fastest, rate);
      together += rate;
    }
    const bool in_step = protocol.family == Family::kDataParallel;
    const double share =
        in_step ? 1.0 / static_cast<double>(protocol.learners.size()) : fastest / together;
    const double charged = scenario.charged.tokens_per_learner_step;
    double steps = fastest * scenario.stop.simulated_s;
    if (scenario.stop.tokens && charged > 0) {
      steps = std::min(steps, *scenario.stop.tokens / charged * share);
    }
    if (steps <= 2.0 * static_cast<double>(training.steps_at_most)) continue;
    binder.refuse("/training/steps_at_most",
                  "found about " + number_text(std::ceil(steps)) + " steps of a learner of " +
                      protocol.name + ", allowed " + std::to_string(training.steps_at_most) +
                      " to be trained: shorten the run, or allow more");
  }
}

// The default, the given number, or the table's.
void bind_rate(Binder& binder, const Json& given, double standard, const Protocol& protocol,
               Merge merge_body, InnerOptimizer& inner) {
  inner.rate = standard;
  if (!given.contains("rate")) return;
  if (given["rate"].is_number()) {
    inner.rate = number_at(given, "rate");
    return;
  }
  inner.tuned = true;
  const std::optional<TunedRate> found =
      tuned_rate(binder.scenario.training.model, protocol, merge_body);
  if (found) inner.rate = found->rate;
  if (found && !found->at_edge) return;
  binder.warn("W40", under("/training/protocols", protocol.name) + "/inner/rate: rate not tuned, " +
                         number_text(inner.rate) +
                         (found ? " is the edge of the grid that was tried"
                                : " is the default: no entry in "
                                  "catalog/rates.json has this model, "
                                  "batch, protocol, learners, period and merge"));
}

RateRule rate_rule_of(const Json& word) {
  if (word == "linear") return RateRule::kLinear;
  return word == "square_root" ? RateRule::kSquareRoot : RateRule::kConstant;
}

InnerOptimizer inner_of(const Json& given) {
  InnerOptimizer inner;
  inner.rate_rule = rate_rule_of(given["rate_rule"]);
  inner.final_rate_share = number_at(given, "final_rate_share");
  inner.warm_up_steps = static_cast<int>(integer_at(given, "warm_up_steps"));
  inner.beta1 = number_at(given, "beta1");
  inner.beta2 = number_at(given, "beta2");
  inner.epsilon = number_at(given, "epsilon");
  inner.weight_decay = number_at(given, "weight_decay");
  inner.clip_norm = number_at(given, "clip_norm");
  return inner;
}

Merge merge_of(const Json& word) {
  return word == "radial_directional" ? Merge::kRadialDirectional : Merge::kMean;
}

// The row's object and what only the shared one has.
Json merged(const Json& row, const char* key, const Json& shared) {
  Json result = row.contains(key) ? row[key] : Json::object();
  for (const auto& [name, value] : shared.items()) {
    if (name != "about" && !result.contains(name)) result[name] = value;
  }
  return result;
}

// What the row rounds, feeds back and mixes.
void bind_exchange(Binder& binder, const Json& row, const Json& shared, const Protocol& protocol,
                   TrainingOfProtocol& result) {
  const auto chosen = [&](const char* key) -> const Json& {
    return row.contains(key) ? row[key] : shared[key];
  };
  result.mixing_alpha = chosen("mixing_alpha").get<double>();
  result.error_feedback = chosen("error_feedback").get<bool>();
  const bool trained = protocol.preset != "ideal";
  if (row.contains("wire") || shared.contains("wire")) {
    result.wire = wire_format(chosen("wire").get<std::string>()).value().precision;
  } else if (protocol.wire.precision) {
    result.wire = *protocol.wire.precision;
  } else if (trained) {
    binder.warn("W34", under("/protocols", protocol.name) +
                           ": outer gradients are trained as they "
                           "are: no format has " +
                           number_text(protocol.wire.bits_per_parameter) +
                           " bits (/training/wire sets one)");
  }
  if (trained && result.error_feedback && result.wire == kernels::Precision::kFp32) {
    binder.warn("W34", "/training/error_feedback: cannot matter for " + protocol.name +
                           ", nothing is rounded");
  }
}

// Shared values and the row's own overrides. The document keeps overrides alone, so that a shared
// value set in a resolved copy still reaches every row.
TrainingOfProtocol bind_row(Binder& binder, const Json& given, double rate,
                            const Protocol& protocol) {
  const Json* rows = member(given, "protocols");
  const Json* own = rows == nullptr ? nullptr : member(*rows, protocol.name);
  const Json row = own == nullptr ? Json::object() : *own;
  const std::string pointer = under("/training/protocols", protocol.name);
  TrainingOfProtocol result;
  const Json inner = merged(row, "inner", given["inner"]);
  result.inner = inner_of(inner);
  if (protocol.family == Family::kDataParallel) {
    for (const char* key : {"outer", "merge", "wire", "error_feedback", "mixing_alpha"}) {
      if (row.contains(key)) {
        binder.refuse(under(pointer, key), std::string(key) + " has no meaning for " +
                                               protocol.preset + ", which is data-parallel");
      }
    }
    bind_rate(binder, inner, rate, protocol, Merge::kMean, result.inner);
    return result;
  }
  const Json outer = merged(row, "outer", given["outer"]);
  result.outer = {number_at(outer, "rate"), number_at(outer, "momentum")};
  const bool decoupled = protocol.preset == "decoupled_diloco";
  const Json of_preset = {{"body", decoupled ? "radial_directional" : "mean"},
                          {"embedding", "mean"}};
  const Json merge = merged(row, "merge", given.contains("merge") ? given["merge"] : of_preset);
  result.merge_body = merge_of(merge["body"]);
  result.merge_embedding = merge_of(merge["embedding"]);
  bind_rate(binder, inner, rate, protocol, result.merge_body, result.inner);
  bind_exchange(binder, row, given, protocol, result);
  return result;
}

}  // namespace

std::vector<double> trained_tensors(const TrainedModel& model) {
  std::vector<double> sizes;
  for (const kernels::TensorInfo& tensor :
       kernels::tensors({model.layers, model.width, model.heads, model.context, model.vocabulary,
                         model.batch})) {
    sizes.push_back(static_cast<double>(tensor.size));
  }
  return sizes;
}

void bind_training(Binder& binder) {
  Json& given = binder.document["training"];
  Training& training = binder.scenario.training;
  if (given.is_boolean()) {
    training.of_protocol.resize(binder.scenario.protocols.size());
    return;
  }
  training.on = true;
  bind_trained_model(binder, given["model"], training.model);
  check_trained_fragments(binder, training.model);
  check_trained_bytes(binder, training.model);
  training.held_out_share = number_at(given, "held_out_share");
  training.shards = given["shards"] == "contiguous" ? Shards::kContiguous : Shards::kIid;
  bind_corpus(binder, given);
  training.evaluation_windows = static_cast<int>(integer_at(given, "evaluation_windows"));
  training.evaluations = static_cast<int>(integer_at(given, "evaluations"));
  training.warm_start_steps = static_cast<int>(integer_at(given, "warm_start_steps"));
  training.gradient_shards = static_cast<int>(integer_at(given, "gradient_shards"));
  training.steps_at_most = integer_at(given, "steps_at_most");
  check_steps(binder, training);
  if (given["stop_at_loss"].is_number()) training.stop_at_loss = number_at(given, "stop_at_loss");
  training.seeds = static_cast<int>(std::min<std::int64_t>(
      integer_at(given, "seeds"), static_cast<std::int64_t>(binder.scenario.seeds.size())));
  if (given.contains("target_loss")) training.target_loss = number_at(given, "target_loss");
  training.target_loss_over_baseline = number_at(given, "target_loss_over_baseline", 0.05);
  const double rate = given["model"]["preset"] == "large" ? 2e-3 : 4e-3;
  training.warm_inner = inner_of(given["inner"]);
  const Json* shared = member(given["inner"], "rate");
  training.warm_inner.rate =
      shared != nullptr && shared->is_number() ? shared->get<double>() : rate;
  std::vector<std::string> names;
  for (const Protocol& protocol : binder.scenario.protocols)
    names.push_back(protocol.name);
  if (const Json* rows = member(given, "protocols")) {
    for (const auto& [name, row] : rows->items()) {
      const auto known = std::find(names.begin(), names.end(), name);
      if (known != names.end() &&
          binder.scenario.protocols[std::size_t(known - names.begin())].preset == "ideal") {
        binder.refuse(under("/training/protocols", name),
                      "has no meaning: an ideal row is never trained");
      }
      if (known != names.end()) continue;
      binder.refuse(
          under("/training/protocols", name),
          "found an unknown protocol, allowed " + join(names) + did_you_mean(name, names));
    }
  }
  for (const Protocol& protocol : binder.scenario.protocols) {
    training.of_protocol.push_back(bind_row(binder, given, rate, protocol));
  }
}

// ---------------------------------------------------------------- expect

namespace {

void check_row_name(const Binder& binder, const std::string& name, const std::string& pointer) {
  std::vector<std::string> names;
  for (const Protocol& protocol : binder.scenario.protocols)
    names.push_back(protocol.name);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    binder.refuse(pointer, "found the unknown protocol '" + name + "', allowed " + join(names) +
                               did_you_mean(name, names));
  }
}

std::optional<double> optional_at(const Json& object, const char* key) {
  if (!object.contains(key)) return std::nullopt;
  return number_at(object, key);
}

Expect expect_of(const Binder& binder, const Json& given, const std::string& pointer) {
  Expect expect;
  expect.protocol = text_at(given, "protocol");
  expect.metric = text_at(given, "metric");
  expect.ratio_to = text_at(given, "ratio_to");
  expect.minus = text_at(given, "minus");
  expect.min = optional_at(given, "min");
  expect.max = optional_at(given, "max");
  expect.equal = optional_at(given, "equal");
  expect.tolerance = number_at(given, "tolerance", 1e-6);
  expect.why = text_at(given, "why");
  check_row_name(binder, expect.protocol, pointer + "/protocol");
  if (!expect.ratio_to.empty()) check_row_name(binder, expect.ratio_to, pointer + "/ratio_to");
  if (!expect.minus.empty()) check_row_name(binder, expect.minus, pointer + "/minus");
  if (!is_known_metric(expect.metric)) {
    binder.refuse(pointer + "/metric", "found the unknown metric '" + expect.metric +
                                           "', allowed " + join(known_metrics(), 100) +
                                           did_you_mean(expect.metric, known_metrics()));
  }
  if (!expect.min && !expect.max && !expect.equal) {
    binder.refuse(pointer, "expects nothing: give min, max or equal");
  }
  if (expect.min && expect.max && *expect.min > *expect.max) {
    binder.refuse(pointer, "found min " + number_text(*expect.min) + " above max " +
                               number_text(*expect.max));
  }
  if (given.contains("tolerance") && !expect.equal) {
    binder.refuse(pointer + "/tolerance", "has no meaning without 'equal'");
  }
  if (needs_training(expect.metric) && !binder.scenario.training.on) {
    binder.refuse(pointer + "/metric", "'" + expect.metric + "' needs training, which is false");
  }
  return expect;
}

}  // namespace

void bind_expect(Binder& binder) {
  const Json* given = member(binder.document, "expect");
  if (given == nullptr) return;
  for (std::size_t i = 0; i < given->size(); ++i) {
    binder.scenario.expect.push_back(
        expect_of(binder, (*given)[i], under("/expect", std::to_string(i))));
  }
}

}  // namespace skerry::reader

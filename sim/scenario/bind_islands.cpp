// The charged model and the learners.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/scenario/bind.hpp"
#include "sim/scenario/catalog.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

constexpr std::int64_t kMaxSlices = 1000000;

std::string gigabytes(double bytes) {
  return number_text(bytes / 1e9) + " GB";
}

// What an island gives in one number for each learner or in one for all; `otherwise` when in
// neither.
std::int64_t per_learner(const Binder& binder, const Json& island, const std::string& key,
                         std::int64_t count, std::int64_t otherwise, const std::string& pointer) {
  const std::string total_key = key + "_total";
  if (const Json* total = member(island, total_key)) {
    const auto all = total->get<std::int64_t>();
    if (all % count != 0) {
      binder.refuse(under(pointer, total_key), "found " + std::to_string(all) +
                                                   ", which the count of " + std::to_string(count) +
                                                   " learners does not divide");
    }
    return all / count;
  }
  return integer_at(island, key.c_str(), otherwise);
}

// Chips and slices of one learner of the group.
void bind_chips(const Binder& binder, const Json& island, const std::string& pointer,
                Learner& learner, std::int64_t count) {
  const std::int64_t slices = per_learner(binder, island, "slices", count, 1, pointer);
  const bool default_chips = island.contains("step_s");
  learner.chips = per_learner(binder, island, "chips", count, default_chips ? slices : 0, pointer);
  if (learner.chips == 0) {
    binder.refuse(pointer, "lacks chips or chips_total: the step time is worked out from them");
  }
  if (learner.chips % slices != 0) {
    binder.refuse(pointer, "found " + std::to_string(learner.chips) + " chips a learner in " +
                               std::to_string(slices) + " slices, allowed slices of equal size");
  }
  learner.slices = static_cast<int>(slices);
}

// Whole state of the charged model on the chips of one slice.
void check_memory(Binder& binder, const Learner& learner, const std::string& pointer) {
  const ChargedModel& model = binder.scenario.charged;
  const double state_bytes = model.parameters * model.state_bytes_per_parameter;
  const double available = learner.memory_per_chip_bytes;
  if (available <= 0.0 || state_bytes <= 0.0) return;
  const double chips = static_cast<double>(learner.chips / learner.slices);
  const double needed = state_bytes / chips;
  const double least = std::ceil(state_bytes / available * (1.0 - 1e-12));
  const std::string numbers = "a slice of " + number_text(chips) + " " + learner.device +
                              " chips needs " + gigabytes(needed) + " a chip of " +
                              gigabytes(available);
  if (needed > available * (1.0 + 1e-12)) {
    binder.refuse(pointer, "the charged model does not fit: " + numbers + "; allowed from " +
                               number_text(least) + " chips a slice");
  }
  if (needed > 0.99 * available) {
    binder.warn("W05", pointer + ": memory is exactly full: " + numbers + "; take " +
                           number_text(least + 1.0) + " chips a slice or more");
  }
}

double step_seconds_of(Binder& binder, const Json& island, const Learner& learner,
                       const std::string& pointer) {
  if (const Json* given = member(island, "step_s")) {
    if (island.contains("mfu")) {
      binder.warn("W11", pointer + "/mfu: cannot matter, since step_<unit> gives the step time");
    }
    return given->get<double>();
  }
  const Device* device = find_device(learner.device);
  if (device == nullptr || binder.scenario.charged.parameters <= 0.0) {
    binder.refuse(pointer, "has no step time: give step_<unit>, or a device and /charged_model");
  }
  if (!island.contains("mfu") && device->mfu_assumed) {
    binder.assumed_devices.push_back(pointer + "/mfu");
  }
  const ChargedModel& model = binder.scenario.charged;
  return 6.0 * model.parameters * model.tokens_per_learner_step /
         (static_cast<double>(learner.chips) * device->peak_flops *
          number_at(island, "mfu", device->mfu_typical));
}

void bind_device(const Binder& binder, const Json& island, const std::string& pointer,
                 Learner& learner) {
  learner.device = text_at(island, "device");
  if (learner.device.empty()) return;
  const Device* device = find_device(learner.device);
  if (device == nullptr) {
    const auto names = device_names();
    binder.refuse(pointer + "/device", "found the unknown device '" + learner.device +
                                           "', allowed " + join(names) +
                                           did_you_mean(learner.device, names));
  }
  learner.memory_per_chip_bytes = device->memory_per_chip_bytes;
}

int bind_region(const Binder& binder, const Json& island, const std::string& pointer) {
  if (const Json* region = member(island, "region")) {
    return region_index(binder, region->get<std::string>(), pointer + "/region");
  }
  if (!binder.scenario.regions.empty()) {
    binder.refuse(pointer,
                  "lacks the key 'region', which is required as soon as there are /regions");
  }
  return -1;
}

// Factor on the step time of each learner.
std::vector<double> factors(const Binder& binder, const Json& island, std::size_t count,
                            const std::string& pointer) {
  const Json& given = island["step_time_factor"];
  if (given.is_number()) return std::vector<double>(count, given.get<double>());
  if (given.size() != count) {
    binder.refuse(pointer + "/step_time_factor", "found " + std::to_string(given.size()) +
                                                     " factors, allowed one for each of the " +
                                                     std::to_string(count) + " learners");
  }
  return given.get<std::vector<double>>();
}

void bind_group(Binder& binder, const std::string& group, const Json& island,
                std::int64_t& slices) {
  const std::string pointer = under("/islands", group);
  const std::int64_t count = integer_at(island, "count", 1);
  auto& learners = binder.scenario.learners;
  if (static_cast<std::int64_t>(learners.size()) + count > kMaxLearners) {
    binder.refuse(pointer + "/count",
                  "found " + std::to_string(static_cast<std::int64_t>(learners.size()) + count) +
                      " learners in all, allowed at most " + std::to_string(kMaxLearners));
  }
  Learner learner;
  learner.group = group;
  learner.region = bind_region(binder, island, pointer);
  bind_device(binder, island, pointer, learner);
  bind_chips(binder, island, pointer, learner, count);
  slices += count * learner.slices;
  if (slices > kMaxSlices) {
    binder.refuse(pointer, "found " + std::to_string(slices) + " slices in all, allowed at most " +
                               std::to_string(kMaxSlices));
  }
  const double step_s = step_seconds_of(binder, island, learner, pointer);
  check_memory(binder, learner, pointer);
  bind_chip_prices(binder, island, pointer, learner);
  learner.start_s = number_at(island, "start_s");
  learner.spares = static_cast<int>(integer_at(island, "spares"));
  const auto factor = factors(binder, island, static_cast<std::size_t>(count), pointer);
  for (std::int64_t i = 0; i < count; ++i) {
    learner.name = group + "." + std::to_string(i + 1);
    learner.index_in_group = static_cast<int>(i);
    learner.first_global_slice = i * learner.slices;
    learner.step_s = step_s * factor[static_cast<std::size_t>(i)];
    if (!(learner.step_s > 1e-9 && learner.step_s < kLongest_s)) {
      binder.refuse(pointer, "gives a step time of " + number_text(learner.step_s) +
                                 " s, allowed > 1e-09 and < " + number_text(kLongest_s));
    }
    learners.push_back(learner);
  }
}

}  // namespace

void bind_model(Binder& binder) {
  const Json* given = member(binder.document, "charged_model");
  ChargedModel& model = binder.scenario.charged;
  if (given == nullptr) {
    model.tokens_per_learner_step = 1.0;
    return;
  }
  model.tokens_per_learner_step = number_at(*given, "tokens_per_learner_step");
  model.wire_bits_per_parameter = number_at(*given, "wire_bits_per_parameter");
  model.state_bytes_per_parameter = number_at(*given, "state_bytes_per_parameter");
  if (given->contains("parameters")) {
    model.parameters = number_at(*given, "parameters");
    model.layers = static_cast<int>(integer_at(*given, "layers"));
    for (int i = 0; i < model.layers; ++i) {
      model.tensors.push_back(
          {"layer" + std::to_string(i), model.parameters / model.layers, false, i});
    }
    return;
  }
  for (const char* key : {"layers", "width", "vocabulary"}) {
    if (!given->contains(key)) {
      binder.refuse("/charged_model",
                    std::string("lacks '") + key +
                        "': give layers, width and vocabulary, or parameters (with layers: equal ones)");
    }
  }
  Json& shape = binder.document["charged_model"];
  if (!shape.contains("ffn")) shape["ffn"] = 4 * shape["width"].get<std::int64_t>();
  model.layers = static_cast<int>(integer_at(shape, "layers"));
  model.width = number_at(shape, "width");
  model.ffn = number_at(shape, "ffn");
  model.vocabulary = number_at(shape, "vocabulary");
  model.tied = shape["tied"].get<bool>();
  model.tensors =
      transformer_tensors(model.layers, model.width, model.ffn, model.vocabulary, model.tied);
  for (const Tensor& tensor : model.tensors)
    model.parameters += tensor.parameters;
}

void bind_islands(Binder& binder) {
  std::int64_t slices = 0;
  const Json islands = binder.document["islands"];
  for (const auto& [group, island] : islands.items())
    bind_group(binder, group, island, slices);
  std::set<std::string> names;
  for (const Learner& learner : binder.scenario.learners) {
    if (!names.insert(learner.name).second) {
      binder.refuse(under("/islands", learner.group),
                    "gives a second learner the name '" + learner.name + "', allowed once");
    }
  }
  for (const auto& [group, island] : islands.items()) {
    if (names.contains(group)) {
      binder.refuse(under("/islands", group), "is also the name of a learner of another group");
    }
  }
}

std::vector<int> matching_learners(const Binder& binder, const std::vector<std::string>& patterns,
                                   const std::string& pointer, bool array) {
  const auto& learners = binder.scenario.learners;
  std::vector<bool> taken(learners.size(), false);
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    bool any = false;
    for (std::size_t i = 0; i < learners.size(); ++i) {
      if (matches(patterns[p], learners[i].name) || matches(patterns[p], learners[i].group)) {
        taken[i] = true;
        any = true;
      }
    }
    if (any) continue;
    std::vector<std::string> names;
    for (const Learner& learner : learners) {
      if (names.empty() || names.back() != learner.group) names.push_back(learner.group);
    }
    const std::size_t groups = names.size();
    for (const Learner& learner : learners)
      names.push_back(learner.name);
    binder.refuse(array ? under(pointer, std::to_string(p)) : pointer,
                  "found '" + patterns[p].substr(0, 60) + "', which matches no learner, allowed " +
                      join(names, groups + 8) + did_you_mean(patterns[p], names));
  }
  std::vector<int> result;
  for (std::size_t i = 0; i < learners.size(); ++i) {
    if (taken[i]) result.push_back(static_cast<int>(i));
  }
  return result;
}

}  // namespace skerry::reader

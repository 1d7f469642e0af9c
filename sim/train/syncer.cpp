#include "sim/train/syncer.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/optimizer.hpp"
#include "kernels/parallel.hpp"
#include "sim/base/error.hpp"
#include "sim/scenario/balanced.hpp"

namespace skerry::train {

namespace {

std::vector<std::size_t> places_of(const Fragment& fragment) {
  std::vector<std::size_t> places{0};
  for (const auto& tensor : fragment)
    places.push_back(places.back() + tensor.size);
  return places;
}

}  // namespace

std::vector<Fragment> trained_fragments(const kernels::ModelShape& shape,
                                        const Protocol& protocol) {
  const std::vector<kernels::TensorInfo> tensors = kernels::tensors(shape);
  if (static_cast<std::size_t>(protocol.fragments) > tensors.size()) {
    throw BadInput("", "/training/model",
                   "found a model of " + std::to_string(tensors.size()) +
                       " tensors; allowed: at least the " + std::to_string(protocol.fragments) +
                       " fragments of " + protocol.name);
  }
  std::vector<double> sizes;
  for (const auto& tensor : tensors)
    sizes.push_back(static_cast<double>(tensor.size));
  const std::vector<int> fragment_of = balanced_fragments(sizes, protocol.fragments);
  std::vector<Fragment> fragments(static_cast<std::size_t>(protocol.fragments));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    fragments[static_cast<std::size_t>(fragment_of[i])].push_back(tensors[i]);
  }
  return fragments;
}

std::vector<float> gather(const Fragment& fragment, const std::vector<float>& parameters) {
  std::vector<float> flat;
  flat.reserve(places_of(fragment).back());
  for (const auto& tensor : fragment) {
    const float* begin = parameters.data() + tensor.offset;
    flat.insert(flat.end(), begin, begin + tensor.size);
  }
  return flat;
}

void scatter(const Fragment& fragment, const std::vector<float>& flat,
             std::vector<float>& parameters) {
  const float* from = flat.data();
  for (const auto& tensor : fragment) {
    std::copy(from, from + tensor.size, parameters.data() + tensor.offset);
    from += tensor.size;
  }
}

void mix(const Fragment& fragment, const std::vector<float>& version, double alpha,
         std::vector<float>& parameters) {
  if (alpha == 0.0) return scatter(fragment, version, parameters);
  const float own = static_cast<float>(alpha), taken = static_cast<float>(1.0 - alpha);
  const float* from = version.data();
  for (const auto& tensor : fragment) {
    for (float& x : std::span(parameters).subspan(tensor.offset, tensor.size))
      x = own * x + taken * *from++;
  }
}

Syncer::Syncer(const TrainingOfProtocol& training, std::size_t learners, std::size_t fragments,
               int threads)
    : training_(training),
      fragments_(fragments),
      threads_(threads),
      residuals_(training.error_feedback ? learners * fragments : 0) {}

void Syncer::start(std::vector<float> parameters) {
  global_ = std::move(parameters);
  momentum_.assign(global_.size(), 0.0f);
  outer_gradient_.assign(global_.size(), 0.0f);
}

void Syncer::describe(Archive& a) {
  a(global_, momentum_, residuals_);
  if (a.reads()) outer_gradient_.assign(global_.size(), 0.0f);
}

void Syncer::to_gradient(const Fragment& fragment, const Round& round, std::size_t i,
                         std::vector<float>& copy) {
  const std::vector<float> anchor = gather(fragment, global_);
  for (std::size_t k = 0; k < copy.size(); ++k)
    copy[k] = anchor[k] - copy[k];
  if (training_.wire == kernels::Precision::kFp32) return;
  const Contribution& from = round.contributions[i];
  std::vector<float> before;
  Residual* residual = nullptr;
  if (training_.error_feedback) {
    residual = &residuals_[static_cast<std::size_t>(from.learner) * fragments_ +
                           static_cast<std::size_t>(round.fragment)];
    if (residual->life != from.life) *residual = {from.life, {}};
    for (std::size_t k = 0; k < residual->left.size(); ++k)
      copy[k] += residual->left[k];
    before = copy;
  }
  const std::vector<std::size_t> places = places_of(fragment);
  for (std::size_t t = 0; t < fragment.size(); ++t)
    kernels::quantise(training_.wire, std::span(copy).subspan(places[t], fragment[t].size));
  if (residual == nullptr) return;
  for (std::size_t k = 0; k < copy.size(); ++k)
    before[k] -= copy[k];
  residual->left = std::move(before);
}

void Syncer::merge(const Fragment& fragment, const Round& round,
                   const std::vector<std::vector<float>>& gradients) {
  std::vector<double> weights;
  for (const Contribution& c : round.contributions)
    weights.push_back(c.weight);
  const std::vector<std::size_t> places = places_of(fragment);
  kernels::parallel_for(static_cast<int>(fragment.size()), threads_, [&](int t, int) {
    const auto at = static_cast<std::size_t>(t);
    const kernels::TensorInfo& tensor = fragment[at];
    kernels::Vectors parts;
    for (const auto& flat : gradients)
      parts.push_back(std::span(flat).subspan(places[at], tensor.size));
    const auto merged = std::span(outer_gradient_).subspan(tensor.offset, tensor.size);
    const Merge rule = tensor.embedding ? training_.merge_embedding : training_.merge_body;
    if (rule == Merge::kMean) {
      kernels::merge_mean(parts, weights, merged);
    } else {
      kernels::merge_radial_directional(parts, weights, merged);
    }
    kernels::nesterov_step(static_cast<float>(training_.outer.rate),
                           static_cast<float>(training_.outer.momentum), merged,
                           std::span(global_).subspan(tensor.offset, tensor.size),
                           std::span(momentum_).subspan(tensor.offset, tensor.size));
  });
}

RoundFacts Syncer::step(const Fragment& fragment, const Round& round,
                        std::vector<std::vector<float>>& copies) {
  const int count = static_cast<int>(copies.size());
  std::vector<double> norms(copies.size());
  kernels::parallel_for(count, threads_, [&](int i, int) {
    const auto at = static_cast<std::size_t>(i);
    to_gradient(fragment, round, at, copies[at]);
    norms[at] = kernels::norm(copies[at]);
  });
  merge(fragment, round, copies);
  RoundFacts facts{round.clock, round.fragment, 0, 0, 0};
  std::vector<float> scratch = gather(fragment, outer_gradient_);
  facts.merged_norm = kernels::norm(scratch);
  for (const double norm : norms)
    facts.mean_norm += norm / count;
  facts.mean_cosine = kernels::mean_cosine({copies.begin(), copies.end()}, scratch);
  return facts;
}

}  // namespace skerry::train

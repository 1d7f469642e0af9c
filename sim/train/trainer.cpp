#include "sim/train/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/parallel.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"

namespace skerry::train {

namespace {

constexpr std::size_t kChunk = 32768;  // floats of one task of an elementwise pass

int chunks(std::size_t size) {
  return static_cast<int>((size + kChunk - 1) / kChunk);
}

template <class T>
std::span<T> chunk(std::span<T> all, int i) {
  const std::size_t begin = static_cast<std::size_t>(i) * kChunk;
  return all.subspan(begin, std::min(kChunk, all.size() - begin));
}

// cos on [0, π/2] by its Taylor series: the C library's last bit follows the processor (fma or
// not).
double cosine(double x) {
  double term = 1.0;
  double sum = 1.0;
  for (int k = 1; k <= 12; ++k) {
    term *= -x * x / ((2.0 * k - 1.0) * (2.0 * k));
    sum += term;
  }
  return sum;
}

kernels::ModelShape model_shape(const TrainedModel& model) {
  return {model.layers, model.width, model.heads, model.context, model.vocabulary, model.batch};
}

std::size_t tokens_of(const kernels::ModelShape& shape) {
  return static_cast<std::size_t>(shape.B) * static_cast<std::size_t>(shape.T);
}

}  // namespace

Trainer::Worker::Worker(const kernels::ModelShape& shape)
    : workspace(shape),
      inputs(tokens_of(shape)),
      targets(tokens_of(shape)),
      gradient(kernels::parameter_count(shape)) {}

Trainer::Trainer(const Scenario& scenario, int protocol, std::uint64_t seed, double horizon_steps,
                 int threads)
    : training_(scenario.training),
      optimizers_(scenario.training.of_protocol.at(static_cast<std::size_t>(protocol))),
      tokens_per_learner_step_(scenario.charged.tokens_per_learner_step),
      seed_(seed),
      threads_(std::max(1, threads)),
      passes_(scenario.protocols.at(static_cast<std::size_t>(protocol)).accumulate_steps),
      shape_(model_shape(training_.model)),
      shard_shape_(shape_),
      corpus_(load_corpus(training_)),
      held_out_bytes_(held_out_bytes(corpus_, shape_.T, training_.evaluation_windows)) {
  use(optimizers_.inner, training_.warm_start_steps + horizon_steps);
  const int shards = training_.gradient_shards;
  if (shards < 1 || shape_.B % shards != 0) {
    throw BadInput("", "/training/gradient_shards",
                   "found " + std::to_string(shards) + "; allowed: a divisor of the batch of " +
                       std::to_string(shape_.B) + " windows");
  }
  shard_shape_.B = shape_.B / shards;
  check_shards(corpus_.training_tokens, training_, scenario.learners.size(), "");
  for (std::size_t i = 0; i < scenario.learners.size(); ++i) {
    streams_.push_back("train.data/" + std::to_string(i));
  }
  for (int i = 0; i < threads_; ++i) {
    workers_.emplace_back(shard_shape_);
    if (shards > 1) workers_.back().shard.resize(workers_.back().gradient.size());
  }
}

int Trainer::trained_tokens(double charged) const {
  const double share =
      tokens_per_learner_step_ > 0 ? std::clamp(charged / tokens_per_learner_step_, 0.0, 1.0) : 1.0;
  return static_cast<int>(std::lround(share * static_cast<double>(tokens_of(shape_))));
}

float Trainer::rate(double full_steps, double share) const {
  const InnerOptimizer& inner = optimizers_.inner;
  double rate = inner.rate;
  if (inner.rate_rule == RateRule::kLinear) rate *= share;
  if (inner.rate_rule == RateRule::kSquareRoot) rate *= std::sqrt(share);
  if (full_steps <= inner.warm_up_steps)
    return static_cast<float>(rate * full_steps / inner.warm_up_steps);
  const double left = std::max(1.0, total_steps_ - inner.warm_up_steps);
  const double done = std::min(1.0, (full_steps - inner.warm_up_steps) / left);
  const double half = cosine(std::numbers::pi / 2.0 * done);  // (1 + cos πx) / 2 = cos²(πx/2)
  const double left_share = inner.final_rate_share + (1.0 - inner.final_rate_share) * half * half;
  return static_cast<float>(rate * left_share);
}

std::vector<std::size_t> Trainer::window_starts(int learner, std::int64_t number, int pass) const {
  const std::int64_t step = number - warm_start_steps();
  if (step > 0) number = warm_start_steps() + (step - 1) * passes_ + pass + 1;
  const std::size_t at = static_cast<std::size_t>(learner);
  RandomStream stream(seed_, streams_[at], static_cast<std::uint64_t>(number));
  const auto [first, end] = shard_of(corpus_, training_, at, streams_.size());
  std::vector<std::size_t> starts;
  for (int row = 0; row < shape_.B; ++row)
    starts.push_back(first + stream.below(end - first - static_cast<std::size_t>(shape_.T)));
  return starts;
}

int Trainer::shard_tokens(const Batch& batch, int shard) const {
  const int size = shard_shape_.B * shape_.T;
  return std::clamp(batch.tokens - shard * size, 0, size);
}

int Trainer::shard_gradient(std::span<const float> parameters, std::int64_t number, Batch batch,
                            int shard, std::span<float> gradient, int worker) {
  Worker& w = workers_[static_cast<std::size_t>(worker)];
  const std::size_t context = static_cast<std::size_t>(shape_.T);
  const std::vector<std::size_t> starts = window_starts(batch.learner, number, batch.pass);
  for (int row = 0; row < shard_shape_.B; ++row) {
    const std::size_t at = static_cast<std::size_t>(row) * context;
    fill_window(corpus_, starts[static_cast<std::size_t>(shard * shard_shape_.B + row)],
                std::span(w.inputs).subspan(at, context),
                std::span(w.targets).subspan(at, context));
  }
  const int tokens = shard_tokens(batch, shard);
  std::fill(w.targets.begin() + tokens, w.targets.end(), -1);
  kernels::forward_backward(shard_shape_, parameters, w.inputs, w.targets, gradient, w.workspace);
  return tokens;
}

void Trainer::clip(std::span<float> gradient) const {
  kernels::clip_by_norm(gradient, optimizers_.inner.clip_norm);
}

void Trainer::step(State& state, std::int64_t number, Batch batch, int worker) {
  Worker& w = workers_[static_cast<std::size_t>(worker)];
  if (training_.gradient_shards == 1) {
    shard_gradient(state.parameters, number, batch, 0, w.gradient, worker);
  } else {
    std::fill(w.gradient.begin(), w.gradient.end(), 0.0f);
    for (int shard = 0; shard < training_.gradient_shards; ++shard) {
      const int tokens = shard_gradient(state.parameters, number, batch, shard, w.shard, worker);
      if (tokens == 0) continue;
      const double share = static_cast<double>(tokens) / batch.tokens;
      kernels::add_scaled(w.gradient, static_cast<float>(share), w.shard);
    }
  }
  clip(w.gradient);
  const double share = batch.tokens / static_cast<double>(tokens_of(shape_));
  state.full_steps += share;
  state.adamw_steps += 1;
  kernels::adamw_step(adamw_, rate(state.full_steps, share), state.adamw_steps, w.gradient,
                      state.parameters, state.moment1, state.moment2);
}

// Adds the gradients of batches of one pass, each by its share of all tokens, to the mean.
void Trainer::add_pass(const State& state, std::int64_t number, std::span<const Batch> batches,
                       double all_tokens) {
  const int shards = training_.gradient_shards;
  const int tasks = static_cast<int>(batches.size()) * shards;
  while (gradients_.size() < static_cast<std::size_t>(tasks)) {
    gradients_.emplace_back(state.parameters.size());
  }
  kernels::parallel_for(tasks, threads_, [&](int i, int worker) {
    shard_gradient(state.parameters, number, batches[static_cast<std::size_t>(i / shards)],
                   i % shards, gradients_[static_cast<std::size_t>(i)], worker);
  });
  kernels::parallel_for(chunks(mean_.size()), threads_, [&](int part, int) {
    const std::span<float> sum = chunk(std::span<float>(mean_), part);
    for (int i = 0; i < tasks; ++i) {
      const int tokens = shard_tokens(batches[static_cast<std::size_t>(i / shards)], i % shards);
      if (tokens == 0) continue;
      kernels::add_scaled(
          sum, static_cast<float>(tokens / all_tokens),
          chunk(std::span<const float>(gradients_[static_cast<std::size_t>(i)]), part));
    }
  });
}

void Trainer::synchronous_step(State& state, std::int64_t number, const std::vector<Batch>& batches,
                               std::size_t learners) {
  double all = 0.0;
  for (const Batch& batch : batches)
    all += batch.tokens;
  mean_.assign(state.parameters.size(), 0.0f);
  for (std::size_t first = 0; first < batches.size();) {
    std::size_t end = first + 1;
    while (end < batches.size() && batches[end].pass == batches[first].pass)
      ++end;
    add_pass(state, number, std::span(batches).subspan(first, end - first), all);
    first = end;
  }
  clip(mean_);
  const std::size_t full =
      learners * static_cast<std::size_t>(number > warm_start_steps() ? passes_ : 1);
  const double share = all / static_cast<double>(full * tokens_of(shape_));
  state.full_steps += share;
  state.adamw_steps += 1;
  kernels::parallel_for(chunks(mean_.size()), threads_, [&](int part, int) {
    kernels::adamw_step(
        adamw_, rate(state.full_steps, share), state.adamw_steps,
        chunk(std::span<const float>(mean_), part), chunk(std::span<float>(state.parameters), part),
        chunk(std::span<float>(state.moment1), part), chunk(std::span<float>(state.moment2), part));
  });
}

void Trainer::use(const InnerOptimizer& inner, double total_steps) {
  optimizers_.inner = inner;
  total_steps_ = total_steps;
  adamw_ = {static_cast<float>(inner.beta1), static_cast<float>(inner.beta2),
            static_cast<float>(inner.epsilon), static_cast<float>(inner.weight_decay)};
}

State Trainer::warm_start() {
  const InnerOptimizer own = optimizers_.inner;
  const double total_steps = total_steps_;
  use(training_.warm_inner, kNever);  // a cosine without end stands still
  const std::size_t size = kernels::parameter_count(shape_);
  State state{std::vector<float>(size), std::vector<float>(size), std::vector<float>(size), 0, 0};
  kernels::initialise(shape_, seed_, state.parameters);
  std::vector<Batch> batches;
  for (int i = 0; i < static_cast<int>(streams_.size()); ++i) {
    batches.push_back({i, static_cast<int>(tokens_of(shape_))});
  }
  for (std::int64_t number = 1; number <= warm_start_steps(); ++number) {
    synchronous_step(state, number, batches, streams_.size());
  }
  gradients_.clear();  // as many as learners: a run of the DiLoCo family needs them no more
  use(own, total_steps);
  return state;
}

double Trainer::held_out_loss(std::span<const float> parameters) {
  const int windows = training_.evaluation_windows;
  const int rows = shard_shape_.B;
  const int tasks = (windows + rows - 1) / rows;
  const std::size_t context = static_cast<std::size_t>(shape_.T);
  window_sums_.assign(static_cast<std::size_t>(tasks), 0.0);
  kernels::parallel_for(tasks, threads_, [&](int task, int worker) {
    Worker& w = workers_[static_cast<std::size_t>(worker)];
    for (int row = 0; row < rows; ++row) {
      const int window = std::min(task * rows + row, windows - 1);
      const auto at = static_cast<std::size_t>(row) * context;
      const auto targets = std::span(w.targets).subspan(at, context);
      fill_window(corpus_, held_out_start(corpus_, shape_.T, window, windows),
                  std::span(w.inputs).subspan(at, context), targets);
      if (task * rows + row >= windows) std::fill(targets.begin(), targets.end(), -1);
    }
    window_sums_[static_cast<std::size_t>(task)] =
        kernels::forward_loss_sum(shard_shape_, parameters, w.inputs, w.targets, w.workspace);
  });
  double sum = 0.0;
  for (const double s : window_sums_)
    sum += s;
  return sum / held_out_bytes_;
}

}  // namespace skerry::train

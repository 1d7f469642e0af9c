#include "sim/engine/process.hpp"

#include <fmt/format.h>

namespace skerry {

std::coroutine_handle<> PromiseBase::finish() noexcept {
  if (awaiting_) return awaiting_;
  if (join_ != nullptr) join_->child_ended(*this);
  return std::noop_coroutine();
}

void Resumer::run(void* self) {
  Resumer& resumer = *static_cast<Resumer*>(self);
  resumer.event_ = EventId{};
  // The frame that holds the resumer may be gone after resume(), the process not.
  struct Running {
    explicit Running(ProcessState& process) : process_(process) { process_.running = true; }
    ~Running() { process_.running = false; }
    ProcessState& process_;
  } const running(*resumer.process_);
  resumer.coroutine_.resume();
}

std::string waiting_report(Engine& engine) {
  std::string report;
  engine.wait_places().each([&report](const WaitPlace& place) {
    place.line().each([&](const Waiter& waiter) {
      if (!report.empty()) report += "; ";
      report += fmt::format("{} waits for {}", waiter.waiting_process->name, place.name());
    });
  });
  return report;
}

// ---------------------------------------------------------------- several at once

Join::Join(Engine& engine, std::vector<Task<void>>& children, bool first_ends)
    : Resumer(engine), children_(children), first_ends_(first_ends), left_(children.size()) {}

bool Join::start() {
  starting_ = true;
  for (Task<void>& child : children_) {
    PromiseBase& promise = child.handle_.promise();
    promise.join_ = this;
    promise.process_ = process();
    child.handle_.resume();
    if (left_ == 0) return false;
  }
  starting_ = false;
  return true;
}

void Join::child_ended(const PromiseBase& child) {
  if (left_ == 0) return;
  left_ = first_ends_ || child.error_ ? 0 : left_ - 1;
  if (left_ > 0) return;
  const auto is_child = [&child](const Task<void>& task) {
    return &task.handle_.promise() == &child;
  };
  decisive_ = static_cast<std::size_t>(std::find_if(children_.begin(), children_.end(), is_child) -
                                       children_.begin());
  if (!starting_) schedule(engine().now());
}

std::size_t Join::await_resume() {
  const std::exception_ptr error = children_[decisive_].handle_.promise().error_;
  children_.clear();
  if (error) std::rethrow_exception(error);
  return decisive_;
}

Task<void> all_of(Engine& engine, std::vector<Task<void>> children) {
  if (!children.empty()) co_await Join(engine, children, false);
}

Task<std::size_t> any_of(Engine& engine, std::vector<Task<void>> children) {
  SKERRY_CHECK(!children.empty(), "any_of needs a child");
  co_return co_await Join(engine, children, true);
}

// ---------------------------------------------------------------- process

Process::Body::Body(Engine& engine, std::string process_name, Task<void> root)
    : state{std::move(process_name)}, task(std::move(root)), start(engine) {
  task.handle_.promise().process_ = &state;
  start.bind(task.handle_);
  start.schedule(engine.now());
}

Process::Process(Engine& engine, std::string name, Task<void> task)
    : body_(std::make_unique<Body>(engine, name, std::move(task))), name_(std::move(name)) {}

Process& Process::operator=(Process&& other) noexcept {
  kill();
  body_ = std::move(other.body_);
  name_ = std::move(other.name_);
  return *this;
}

void Process::kill() {
  if (!body_) return;
  SKERRY_CHECK(!body_->state.running, "process " + name_ + " kills itself");
  body_.reset();
}

const std::string& Process::name() const {
  return name_;
}

}  // namespace skerry

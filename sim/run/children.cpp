#include "sim/run/children.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <numeric>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/error.hpp"

namespace skerry {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kKilledTogetherMs = 1000;
constexpr std::size_t kLogBytes = 4000;  // of a failed child's output, from its end

volatile sig_atomic_t caught_signal = 0;
void catch_signal(int signal) {
  caught_signal = signal;
}

// SIGINT and SIGTERM arrive only inside ppoll, and only set a flag. After one has come both are
// ignored: the process is ending, and a second one must not keep it from tidying up.
class SignalGuard {
 public:
  SignalGuard() {
    caught_signal = 0;
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &mask_);
    struct sigaction action {};
    action.sa_handler = catch_signal;
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
  }
  ~SignalGuard() {
    if (caught_signal != 0) interrupt_.sa_handler = terminate_.sa_handler = SIG_IGN;
    restore();
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  void restore() const {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  // In a forked child: both ignored before they are let in, what has come meanwhile too.
  void ignore() const {
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  const sigset_t& mask() const { return mask_; }

 private:
  sigset_t mask_{};
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

void write_all(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the parent is gone: nobody to tell
    done += static_cast<std::size_t>(n);
  }
}

// Calls the body and turns what it throws into an exit code and a message.
int guarded(const std::function<void()>& body, std::string& message) {
  try {
    body();
    return 0;
  } catch (const BadInput& error) {
    message = error.what();
    return 2;
  } catch (const CannotGoOn& error) {
    message = error.what();
    return 3;
  } catch (const std::bad_alloc&) {
    message = "out of memory";
    return 4;
  } catch (const std::exception& error) {
    message = error.what();
    return 4;
  }
}

struct Child {
  std::size_t task = 0;
  pid_t pid = -1;
  int pipe = -1;  // progress lines "p0.5 3600 1.7" (share, date, loss if any), then "m" and the
                  // message until the end
  int log = -1;
  int threads = 1;
  Clock::time_point began;
  bool late = false;      // past its limit and killed
  bool unwanted = false;  // killed with all others
  std::string received;
};

class Pool {
 public:
  Pool(const ChildStream& stream, const ChildBody& body, const PoolOptions& options)
      : stream_(stream), body_(body), options_(options) {}
  ~Pool() { kill_all(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void run() {
    for (;;) {
      while (int(running_.size()) < options_.jobs) {
        const std::optional<std::size_t> task = stream_.next();
        if (!task) break;
        start(*task);
      }
      if (running_.empty()) return;
      wait_for_news();
      if (caught_signal != 0) {
        kill_all();
        throw Interrupted{caught_signal};
      }
    }
  }

 private:
  void start(std::size_t task);
  [[noreturn]] void be_child(std::size_t task, int threads, int out, int log);
  void wait_for_news();
  bool read_news(Child& child);
  ChildResult finish(Child& child);
  void kill_late();
  void kill_all();

  const ChildStream& stream_;
  const ChildBody& body_;
  const PoolOptions& options_;
  SignalGuard signals_;
  std::vector<Child> running_;
};

void Pool::start(std::size_t task) {
  int used = 0;
  for (const Child& child : running_)
    used += child.threads;
  const int free_slots = options_.jobs - int(running_.size());
  const int waiting = int(stream_.waiting()) + 1;
  Child child;
  child.task = task;
  child.threads = options_.threads > 0 ? options_.threads
                                       : threads_for(options_.cores - used, free_slots, waiting);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw std::runtime_error("pipe: " + std::string(strerror(errno)));
  child.log = memfd_create("log", MFD_CLOEXEC);
  child.pipe = ends[0];
  child.began = Clock::now();
  child.pid = fork();
  if (child.pid == 0) {
    close(ends[0]);
    be_child(task, child.threads, ends[1], child.log);
  }
  close(ends[1]);
  if (child.pid < 0) {
    const std::string why = strerror(errno);
    close(child.pipe);
    close(child.log);
    throw std::runtime_error("fork: " + why);
  }
  running_.push_back(std::move(child));
}

void Pool::be_child(std::size_t task, int threads, int out, int log) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A signal to the whole group is the parent's to answer: a child that died of it first would look
  // like a point that failed. It dies with its parent.
  signals_.ignore();
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  double told = 0;
  const auto progress = [out, &told](const HowFar& now) {
    if (now.share < told + 0.005) return;
    told = now.share;
    const std::string loss = now.loss ? fmt::format(" {}", *now.loss) : "";
    write_all(out, fmt::format("p{:.4f} {}{}\n", now.share, now.simulated_s, loss));
  };
  std::string message;
  const int code = guarded([&] { body_(task, threads, progress); }, message);
  if (code != 0) write_all(out, "m" + message);
  _exit(code);
}

void Pool::wait_for_news() {
  std::vector<pollfd> fds;
  for (const Child& child : running_)
    fds.push_back({child.pipe, POLLIN, 0});
  const bool awake = bool(stream_.tick) || stream_.limit_s > 0;
  const timespec nap{0, 50'000'000};
  if (ppoll(fds.data(), fds.size(), awake ? &nap : nullptr, &signals_.mask()) < 0) {
    if (errno == EINTR) return;
    throw std::runtime_error("poll: " + std::string(strerror(errno)));
  }
  if (stream_.limit_s > 0) kill_late();
  std::vector<std::pair<std::size_t, ChildResult>> ended;
  for (std::size_t i = fds.size(); i-- > 0;) {
    if (fds[i].revents == 0 || read_news(running_[i])) continue;
    ended.emplace_back(running_[i].task, finish(running_[i]));
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (auto& [task, result] : ended)
    stream_.finished(task, std::move(result));
  if (stream_.tick) stream_.tick();
}

void Pool::kill_late() {
  for (Child& child : running_) {
    const double age_s = std::chrono::duration<double>(Clock::now() - child.began).count();
    if (child.late || age_s < stream_.limit_s) continue;
    child.late = true;
    kill(child.pid, SIGKILL);
  }
}

// False at the end of the pipe: the child is gone or going.
bool Pool::read_news(Child& child) {
  char buffer[4096];
  const ssize_t n = read(child.pipe, buffer, sizeof buffer);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  child.received.append(buffer, static_cast<std::size_t>(n));
  std::size_t line_end = 0;
  while (child.received[0] == 'p' && (line_end = child.received.find('\n')) != std::string::npos) {
    HowFar now;
    char* end = nullptr;
    now.share = std::strtod(child.received.c_str() + 1, &end);
    now.simulated_s = std::strtod(end, &end);
    if (*end == ' ') now.loss = std::strtod(end, nullptr);
    if (stream_.progress) stream_.progress(child.task, now);
    child.received.erase(0, line_end + 1);
  }
  return true;
}

ChildResult Pool::finish(Child& child) {
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  ChildResult result;
  result.wall_s = std::chrono::duration<double>(Clock::now() - child.began).count();
  if (child.received.starts_with('m')) result.message = child.received.substr(1);
  if (child.late) {
    result.exit_code = 3;
    result.message = fmt::format("ran longer than the limit of {:g} s", stream_.limit_s);
  } else if (WIFSIGNALED(status)) {
    // Who kills a whole job may get to the child first: this process must be gone before it has
    // booked that as a failure.
    if (WTERMSIG(status) == SIGKILL && !child.unwanted) poll(nullptr, 0, kKilledTogetherMs);
    result.exit_code = 4;
    result.message =
        fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else if (WEXITSTATUS(status) != 0) {
    const int code = WEXITSTATUS(status);
    result.exit_code = code == 2 || code == 3 ? code : 4;
    if (result.message.empty()) result.message = fmt::format("ended with exit code {}", code);
  }
  if (result.exit_code != 0) {
    const off_t size = lseek(child.log, 0, SEEK_END);
    const off_t from = std::max<off_t>(0, size - off_t(kLogBytes));
    result.log.resize(static_cast<std::size_t>(std::max<off_t>(0, size - from)));
    const ssize_t n = pread(child.log, result.log.data(), result.log.size(), from);
    result.log.resize(static_cast<std::size_t>(std::max<ssize_t>(0, n)));
  }
  close(child.pipe);
  close(child.log);
  return result;
}

void Pool::kill_all() {
  for (Child& child : running_) {
    child.unwanted = true;
    kill(child.pid, SIGKILL);
  }
  for (Child& child : running_)
    finish(child);
  running_.clear();
}

}  // namespace

int threads_for(int free_cores, int free_slots, int waiting) {
  return std::max(1, free_cores / std::max(1, std::min(free_slots, waiting)));
}

void stream_children(const ChildStream& stream, const ChildBody& body, const PoolOptions& options) {
  Pool(stream, body, options).run();
}

std::vector<ChildResult> run_children(const std::vector<ChildTask>& tasks, const ChildBody& body,
                                      const PoolOptions& options) {
  std::vector<ChildResult> results(tasks.size());
  std::vector<double> done(tasks.size());  // share of each task
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&tasks](std::size_t a, std::size_t b) {
    return tasks[a].weight > tasks[b].weight;
  });
  std::size_t next = 0;
  HowFar told;  // date and loss of the last that told
  const auto report = [&](std::size_t task, const HowFar& now) {
    done[task] = now.share;
    if (now.simulated_s > 0) told = now;
    if (!options.progress) return;
    double sum = 0, all = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      sum += tasks[i].weight * done[i];
      all += tasks[i].weight;
    }
    told.share = all > 0 ? sum / all : 1;
    options.progress(told);
  };
  ChildStream stream;
  stream.next = [&]() -> std::optional<std::size_t> {
    if (next == order.size()) return std::nullopt;
    return order[next++];
  };
  stream.waiting = [&] { return order.size() - next; };
  stream.finished = [&](std::size_t task, ChildResult result) {
    results[task] = std::move(result);
    report(task, {1, 0, {}});
  };
  stream.progress = report;
  stream_children(stream, body, options);
  return results;
}

}  // namespace skerry

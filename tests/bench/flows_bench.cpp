// What a run costs over bare SimGrid with the same timers and flows, tape included, and how the cost per
// event grows with learners. Each run is a process of its own; runs alternate, medians of five count.
// Processor seconds (user and system), so that other work on the machine disturbs little.
//
//   flows_bench BARE_SIMGRID      (path of the program bare_simgrid)
//
// Prints one line a figure: name, value, and what the project asks for.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sim/protocols/protocols.hpp"
#include "sim/tape/tape.hpp"

namespace {

using namespace skerry;

struct Cost {
  double seconds = 0, events = 0, flows = 0, facts = 0, megabytes = 0;
};

// M learners in 4 regions joined by 2–5 Gbit/s; H = P = 24, steps of 6.7 to 7.1 s, 12e9 parameters.
Scenario scenario(int learners, double steps) {
  Scenario s;
  s.name = "bench";
  s.seeds = {1};
  for (double gbps : {5.0, 4.0, 3.0, 2.0}) {
    const double rate = bytes_per_s_from_gbps(gbps);
    s.regions.push_back({std::string("r").append(std::to_string(s.regions.size())), rate, rate});
  }
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      if (a != b) s.links.push_back({a, b, 0.02, kUnlimited});
    }
  }
  Protocol p;
  p.name = p.preset = "decoupled_diloco";
  p.on_loss = OnLoss::kContinue;
  for (int m = 0; m < learners; ++m) {
    Learner learner;
    learner.name = std::string("x.").append(std::to_string(m + 1));
    learner.group = "x";
    learner.index_in_group = m;
    learner.region = m % 4;
    learner.chips = 8;
    learner.step_s = 6.7 + 0.05 * (m % 8);
    s.learners.push_back(learner);
    p.learners.push_back(m);
  }
  s.charged.parameters = 12e9;
  s.charged.tokens_per_learner_step = 1000;
  s.stop.simulated_s = 6.9 * steps;
  s.protocols = {p};
  return s;
}

double processor_s(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Timers of the run as a bare program would need them: steps, reports that travel, decisions, leads, grace.
Cost measure(const Scenario& s) {
  const double start = processor_s(RUSAGE_SELF);
  const Tape tape = simulate(s, 0, 1, "bench", {});
  double bytes = 0;
  write_tape(tape, [&bytes](std::string_view part) { bytes += static_cast<double>(part.size()); });
  Cost cost;
  cost.seconds = processor_s(RUSAGE_SELF) - start;
  cost.facts = static_cast<double>(tape.facts.size());
  for (const Fact& fact : tape.facts) {
    if (const auto* f = std::get_if<fact::Steps>(&fact)) cost.events += 1.75 * static_cast<double>(f->n);
    if (std::get_if<fact::Merge>(&fact) != nullptr) {
      cost.events += 3 + 1 + 1;
      cost.flows += 4;
    }
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  cost.megabytes = static_cast<double>(usage.ru_maxrss) / 1024.0 + (bytes > 0 ? 0.0 : 1e9);
  return cost;
}

Cost in_child(const Scenario& s) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    const Cost cost = measure(s);
    const bool written = write(ends[1], &cost, sizeof cost) == static_cast<ssize_t>(sizeof cost);
    _exit(written ? 0 : 1);
  }
  Cost cost;
  if (read(ends[0], &cost, sizeof cost) != static_cast<ssize_t>(sizeof cost)) std::abort();
  close(ends[0]);
  close(ends[1]);
  waitpid(child, nullptr, 0);
  return cost;
}

double bare_process_s(const std::string& program, long rounds, long timers) {
  const double before = processor_s(RUSAGE_CHILDREN);
  const std::string command = program + " " + std::to_string(rounds) + " " + std::to_string(timers) +
                              " 4 4 > /dev/null";
  if (std::system(command.c_str()) != 0) std::abort();
  return processor_s(RUSAGE_CHILDREN) - before;
}

// Less what a run of one round takes: starting a process is no part of the comparison.
double bare_seconds(const std::string& program, const Cost& like) {
  const double rounds = like.flows / 4;
  const long timers = static_cast<long>(like.events / rounds);
  return bare_process_s(program, static_cast<long>(rounds), timers) - bare_process_s(program, 1, 1);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "flows_bench BARE_SIMGRID\n");
    return 2;
  }
  const Scenario eight = scenario(8, 10000), many = scenario(1024, 200);
  std::vector<double> ratios, growth;
  Cost cost, large;
  for (int i = 0; i < 5; ++i) {
    cost = in_child(eight);
    ratios.push_back(cost.seconds / bare_seconds(argv[1], cost));
    large = in_child(many);
    growth.push_back(large.seconds / (large.events + large.flows) /
                     (cost.seconds / (cost.events + cost.flows)));
  }
  std::printf("8 learners x 10,000 steps x 24 fragments: %.0f timers, %.0f flows, %.0f facts\n",
              cost.events, cost.flows, cost.facts);
  std::printf("over bare SimGrid, tape included   %6.2f   (at most 1.5)\n", median(ratios));
  std::printf("memory, MB                         %6.0f   (under 200)\n", cost.megabytes);
  std::printf("cost per event, 1,024 / 8 learners %6.2f   (at most 5)\n", median(growth));
  return 0;
}

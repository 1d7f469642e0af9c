// Control messages: thin, at a reserved rate, and among the flows with a time-out.
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/sim/net/lab.hpp"

using namespace skerry;

namespace {

constexpr double kGbps = 125e6;  // bytes/s

struct Letter {
  Engine* engine = nullptr;
  double date_s = -1.0;
  bool arrived = false;
  int calls = 0;
};

void delivered(void* context, bool arrived) {
  auto* letter = static_cast<Letter*>(context);
  letter->date_s = letter->engine->now();
  letter->arrived = arrived;
  letter->calls += 1;
}

Task<void> post_at(Engine& engine, Network& net, double date, int from, int to, Letter* letter) {
  co_await until(engine, date);
  letter->engine = &engine;
  net.post(from, to, &delivered, letter);
}

Task<void> wait_for(Engine& engine, Network& net, int from, int to, Letter* letter) {
  letter->arrived = co_await net.message(from, to);
  letter->date_s = engine.now();
}

Scenario shared(double timeout_s) {
  Scenario scenario = mesh({kGbps, kGbps}, {kGbps, kGbps}, 0.030);
  scenario.transport.control = {
      .rate = ControlRate::kShared, .bytes = 1.25e6, .timeout_s = timeout_s};
  return scenario;
}

}  // namespace

TEST_CASE("thin messages take the latency, local and ideal ones nothing; nobody counts them") {
  const Scenario scenario = mesh({kGbps, kGbps}, {kGbps, kGbps}, 0.030);
  for (const bool ideal : {false, true}) {
    Lab lab(scenario, CutTransfer::kResume, ideal);
    Letter far, local, waited;
    lab.processes.emplace_back(lab.engine, "far", post_at(lab.engine, lab.net, 1.0, 0, 1, &far));
    lab.processes.emplace_back(lab.engine, "local",
                               post_at(lab.engine, lab.net, 1.0, 1, 1, &local));
    lab.processes.emplace_back(lab.engine, "waited", wait_for(lab.engine, lab.net, 0, 1, &waited));
    lab.run(10.0);
    CHECK(far.date_s == (ideal ? 1.0 : 1.03));
    CHECK(local.date_s == 1.0);
    CHECK(waited.date_s == (ideal ? 0.0 : 0.03));
    CHECK((far.arrived && local.arrived && waited.arrived));
    CHECK(lab.net.controls().empty());
  }
}

TEST_CASE("reserved: latency and bytes at the rate, whatever the ports carry") {
  Scenario scenario = mesh({kGbps, kGbps}, {kGbps, kGbps}, 0.030);
  scenario.transport.control = {
      .rate = ControlRate::kReserved, .bytes = 1250.0, .reserved_Bps = 0.001 * kGbps};
  Lab lab(scenario);
  lab.move(0.0, 0, 1, 1e9);
  std::vector<Letter> letters(3);
  for (Letter& letter : letters)
    lab.processes.emplace_back(lab.engine, "post",
                               post_at(lab.engine, lab.net, 1.0, 0, 1, &letter));
  Letter waited;
  lab.processes.emplace_back(lab.engine, "waited", wait_for(lab.engine, lab.net, 1, 0, &waited));
  lab.run(10.0);
  // 10,000 bit at 1 Mbit/s: 10 ms.
  for (const Letter& letter : letters)
    CHECK(letter.date_s == about(1.04));
  CHECK(waited.date_s == about(0.04));
  CHECK(lab.ends[0] == about(8.03));
  CHECK(lab.wire("a.up").bytes == 1e9);
  const std::vector<fact::Control> controls = lab.net.controls();
  REQUIRE(controls.size() == 2);
  CHECK(controls[0].name == "a>b");
  CHECK(controls[0].sent == 3);
  CHECK(controls[1].name == "b>a");
  CHECK(controls[1].sent == 1);
  CHECK(controls[1].timed_out == 0);
}

TEST_CASE("shared: a message takes its share of the port, or is given up") {
  // 10 Mbit alone on 1 Gbit/s: 10 ms after 30 ms; beside nine flows: 100 ms.
  for (const auto& [timeout_s, late_arrives] :
       std::vector<std::pair<double, bool>>{{0.2, true}, {0.1, false}}) {
    Lab lab(shared(timeout_s));
    Letter early, late, waited;
    lab.processes.emplace_back(lab.engine, "p", post_at(lab.engine, lab.net, 0.0, 0, 1, &early));
    for (int i = 0; i < 9; ++i)
      lab.move(1.0, 0, 1, 1e9);
    lab.processes.emplace_back(lab.engine, "p", post_at(lab.engine, lab.net, 2.0, 0, 1, &late));
    lab.processes.emplace_back(lab.engine, "p", wait_for(lab.engine, lab.net, 1, 0, &waited));
    lab.run(100.0);
    CHECK(early.date_s == about(0.04));
    CHECK(early.arrived);
    CHECK(waited.date_s == about(0.04));
    CHECK(waited.arrived);
    CHECK(late.arrived == late_arrives);
    CHECK(late.calls == 1);
    CHECK(late.date_s == about(late_arrives ? 2.13 : 2.1));
    const std::vector<fact::Control> controls = lab.net.controls();
    REQUIRE(controls.size() == 2);
    CHECK(controls[0].sent == 2);
    CHECK(controls[0].timed_out == (late_arrives ? 0 : 1));
    // Given up after 70 ms of a tenth of 125 MB/s: what it moved stays counted.
    const double moved = late_arrives ? 1.25e6 : 0.07 * 12.5e6;
    CHECK(lab.wire("a.up").bytes == doctest::Approx(9e9 + 1.25e6 + moved).epsilon(1e-9));
  }
}

TEST_CASE("shared: a cut path starves messages until their time-out; a cap slows them") {
  Scenario scenario = shared(2.0);
  scenario.transport.class_cap_Bps = {kUnlimited, kUnlimited, 0.01 * kGbps};
  Lab lab(scenario);
  std::vector<Letter> letters(40);
  lab.change(0.5, link(0), 0.0);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const double date = i == 0 ? 5.0 : 1.0 + 0.001 * static_cast<double>(i);
    lab.processes.emplace_back(lab.engine, "p",
                               post_at(lab.engine, lab.net, date, 0, 1, &letters[i]));
  }
  lab.change(4.0, link(0), 1.0);
  lab.run(100.0);
  for (std::size_t i = 1; i < letters.size(); ++i) {
    CHECK_FALSE(letters[i].arrived);
    CHECK(letters[i].calls == 1);
    CHECK(letters[i].date_s == about(3.0 + 0.001 * static_cast<double>(i)));
  }
  CHECK(letters[0].arrived);
  CHECK(letters[0].date_s == about(6.03));  // 10 Mbit at 10 Mbit/s
  CHECK(lab.net.controls()[0].sent == 40);
  CHECK(lab.net.controls()[0].timed_out == 39);
}

TEST_CASE("shared: killing who waits takes the message off the wire") {
  Lab lab(shared(2.0));
  lab.move(0.0, 0, 1, 1e9);
  Letter waited;
  lab.processes.emplace_back(lab.engine, "w", wait_for(lab.engine, lab.net, 0, 1, &waited));
  lab.kill(0.04, 1);  // 10 ms of half the port: 0.625 MB
  lab.run(100.0);
  CHECK(waited.date_s == -1.0);
  CHECK(lab.ends[0] == about(0.03 + (1e9 + 0.625e6) / 125e6));
  CHECK(lab.net.controls()[0].timed_out == 0);
}

#include "sim/report/timeline.hpp"

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/report/timeline_links.hpp"
#include "sim/report/timeline_text.hpp"

using namespace skerry;

namespace {

// Three regions in a ring a > b > c > a, a learner each, 1 GB/s ports without latency; one fragment
// of 1.5e9 parameters, 2 bytes each: 3 GB.
Scenario three_regions() {
  Scenario s;
  s.name = "three";
  for (const char* name : {"a", "b", "c"}) {
    s.regions.push_back({name, 1e9, 1e9});
    Learner learner;
    learner.name = std::string(name) + ".1";
    learner.region = static_cast<int>(s.learners.size());
    learner.chips = 8;
    s.learners.push_back(learner);
  }
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      if (from != to) s.links.push_back({from, to, 0.0, kUnlimited});
    }
  }
  s.charged.parameters = 1.5e9;
  Protocol row;
  row.name = "decoupled_diloco";
  row.learners = {0, 1, 2};
  row.fragments = row.sync_period_steps = 1;
  row.due_slots = {0};
  row.due_together = {{0}};
  s.protocols.push_back(row);
  return s;
}

// Every exchange of `began` … `t`, with its closing.
void exchange(Tape& tape, std::int64_t clock, double began, double t) {
  tape.add(fact::Close{began, 0, 0, clock, 0, 3});
  tape.add(fact::Merge{t, began, clock, 0, 3});
}

Tape dark_b() {
  Tape tape;
  tape.start.protocol = "decoupled_diloco";
  const Target b{TargetKind::kRegion, 1, 0};
  exchange(tape, 1, 0, 4);  // 2 (3 − 1)/3 × 3 GB = 4 GB an edge
  tape.add(fact::FaultHit{10, 30, 1, FaultKind::kRegionDark, b, 0});
  tape.add(fact::Close{12, 0, 0, 2, 0, 2});
  tape.add(fact::Abandon{15, 2, 0, true});  // after detection
  tape.add(fact::Merge{18, 12, 2, 0, 2});   // 2 (2 − 1)/2 × 3 GB = 3 GB, a > c and c > a
  tape.add(fact::Repaired{30, FaultKind::kRegionDark, b, 0});
  exchange(tape, 3, 34, 38);  // b has fetched 3 GB, from 30 to 33: 4 GB again
  tape.end = {40, 0, "simulated"};
  // a>b and b>c: 4 + 4; c>a 4 + 3 + 4; a>c 3; and b's 3 GB over a>b.
  tape.wires = {{"a>b", 11e9, 0}, {"b>c", 8e9, 0}, {"c>a", 11e9, 0}, {"a>c", 3e9, 0}};
  return tape;
}

double sum(const std::vector<double>& all) {
  double total = 0;
  for (const double one : all)
    total += one;
  return total;
}

std::string text_of(const Scenario& s, const Tape& tape, const TimelineOptions& options,
                    TimelineWritten* written = nullptr) {
  std::string text;
  const TimelineWritten out = write_timeline(s, s.protocols[0], tape, options,
                                             [&](std::string_view part) { text += part; });
  if (written != nullptr) *written = out;
  return text;
}

}  // namespace

TEST_CASE(
    "a dark region is out of the ring from its detection until it has fetched what it missed") {
  Scenario s = three_regions();
  s.protocols[0].recovery.detection_s = 5;
  const Tape tape = dark_b();
  const RingDates ring(s, s.protocols[0], tape);
  REQUIRE(ring.away(1).size() == 1);
  CHECK(ring.away(0).empty());
  CHECK(ring.away(1)[0].left == 15);
  CHECK(ring.away(1)[0].back == 30);
  CHECK(ring.away(1)[0].joined == doctest::Approx(33));  // 3 GB at 1 GB/s
  CHECK(ring.in_ring(1, 14.9));
  CHECK_FALSE(ring.in_ring(1, 15));
  CHECK(ring.in_ring(1, 33.1));
}

TEST_CASE("link counters: exchanges over their ring, the rest where it can have moved") {
  Scenario s = three_regions();
  s.protocols[0].recovery.detection_s = 5;
  const Tape tape = dark_b();
  const RingDates ring(s, s.protocols[0], tape);
  const LinkRates rates = link_rates(s, s.protocols[0], tape, ring, 0, 40, 40);  // a second a part
  REQUIRE(rates.edges_s.size() == 41);
  const auto between = [&](int from, int to, std::size_t begin, std::size_t end) {
    const auto& bytes = rates.bytes.at(s.link_between(from, to));
    double total = 0;
    for (std::size_t i = begin; i < end; ++i)
      total += bytes[i];
    return total / 1e9;
  };
  CHECK(between(0, 1, 0, 4) == doctest::Approx(4));
  CHECK(between(0, 1, 10, 30) == 0);                   // dark
  CHECK(between(0, 1, 12, 34) == doctest::Approx(3));  // what it fetches has no other place
  CHECK(between(0, 1, 34, 38) == doctest::Approx(4));
  CHECK(between(0, 2, 15, 18) == doctest::Approx(3));  // around it, from the second attempt on
  CHECK(between(2, 0, 15, 18) == doctest::Approx(3));
  for (const fact::Wire& wire : tape.wires) {
    const int from = wire.name[0] - 'a', to = wire.name[2] - 'a';
    const auto& bytes = rates.bytes.at(s.link_between(from, to));
    CHECK(sum(bytes) == doctest::Approx(wire.bytes));
    for (const double one : bytes)
      CHECK(one <= 1e9 * (1 + 1e-9));
  }
  CHECK(rates.undated_bytes.size() == 1);
  CHECK(rates.about.find("3.000 GB have no date of their own") != std::string::npos);
  CHECK(rates.about.ends_with("a>b 3.000"));
}

TEST_CASE("link counters: what the tape does not explain is named, not hidden") {
  const Scenario s = three_regions();
  Tape tape;
  exchange(tape, 1, 0, 4);
  tape.end = {10, 0, "simulated"};
  const RingDates ring(s, s.protocols[0], tape);
  SUBCASE("more") {
    tape.wires = {{"a>b", 5e9, 0}};
    const LinkRates rates = link_rates(s, s.protocols[0], tape, ring, 0, 10, 10);
    CHECK(sum(rates.bytes.at(0)) == doctest::Approx(5e9));
    CHECK(rates.about.find("1.000 GB of these found no room in such spans") != std::string::npos);
  }
  SUBCASE("more than fits") {
    tape.wires = {{"a>b", 12e9, 0}};
    const LinkRates rates = link_rates(s, s.protocols[0], tape, ring, 0, 10, 10);
    CHECK(sum(rates.bytes.at(0)) == doctest::Approx(10e9));
    CHECK(rates.about.find("2.000 GB of them are not drawn") != std::string::npos);
  }
  SUBCASE("less") {
    tape.wires = {{"a>b", 3e9, 0}};
    const LinkRates rates = link_rates(s, s.protocols[0], tape, ring, 0, 10, 10);
    CHECK(sum(rates.bytes.at(0)) == doctest::Approx(3e9));
    CHECK(rates.about.find("a>b: the exchanges of the tape come to 1.000 GB more") !=
          std::string::npos);
  }
}

TEST_CASE("what does not fit is left out by levels, and the sentence says what and how to see it") {
  const Scenario s = three_regions();
  Tape tape;
  for (int clock = 1; clock <= 300; ++clock)
    exchange(tape, clock, clock * 10, clock * 10 + 4);
  tape.end = {3010, 0, "simulated"};
  TimelineOptions options;
  TimelineWritten written;
  text_of(s, tape, options, &written);
  CHECK(written.level == TimelineLevel::kTransfers);
  CHECK(written.left_out.empty());
  options.most_events = written.events - 1;
  const std::string text = text_of(s, tape, options, &written);
  CHECK(written.level == TimelineLevel::kSteps);
  CHECK(written.left_out.starts_with(
      "transfers on links (level steps instead of transfers: more than "));
  CHECK(written.left_out.find("--from and --until") != std::string::npos);
  CHECK(text.find(written.left_out) != std::string::npos);
  options.from_s = 3010;
  CHECK_THROWS_WITH_AS(text_of(s, tape, options), "--from: found 3010, the run ends at 3010 s",
                       BadInput);
  options.from_s = 0;
  options.most_events = 10;
  CHECK_THROWS_AS(text_of(s, tape, options), BadInput);
}

TEST_CASE("parts of the dates, one after the other, are the whole text") {
  const auto make = [](TraceEvents& events) {
    for (const int t : {3, 1, 2, 1})
      events.counter("c" + std::to_string(t), "v", t, 1.0);
    events.name(1, 2, "thread_name", "n");
  };
  const auto part = [&](double from, double until) {
    TraceEvents events(from, until);
    make(events);
    CHECK(events.counted() == 5);
    std::string text;
    events.write([&](std::string_view more) { text += more; });
    return text;
  };
  const std::string whole = part(-kNever, kNever);
  CHECK(whole == part(-kNever, 1) + part(1, 2) + part(2, kNever));
  CHECK(whole.find("\"n\"") < whole.find("\"c1\""));
  CHECK(whole.find("\"c2\"") < whole.find("\"c3\""));
}

// Recorded traces: readers, and what an entry of faults makes of them.
#include "sim/scenario/traces.hpp"

#include <filesystem>
#include <vector>

#include <doctest/doctest.h>

#include "sim/scenario/csv_table.hpp"
#include "tests/sim/scenario/helpers.hpp"

using namespace skerry;
using namespace skerry::testing;

namespace {

// A folder of its own for the files of one test.
struct Folder {
  std::filesystem::path path;
  explicit Folder(const std::string& name)
      : path(std::filesystem::temp_directory_path() / ("skerry-traces-" + name)) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
  }
};

Loaded load_in(const Folder& folder, const Json& entry) {
  Json document = base();
  document["faults"]["f"] = entry;
  return load_scenario_text(document.dump(), "t.json", folder.path.string());
}

std::string refusal_in(const Folder& folder, const Json& entry) {
  try {
    load_in(folder, entry);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "(accepted)";
}

template <typename Read>
std::string refusal_of(const Read& read) {
  try {
    read();
  } catch (const BadInput& error) {
    return error.what();
  }
  return "(accepted)";
}

Json event(const char* node, double days, const char* type, const char* what = "GPU") {
  return {{"node_id", node},
          {"event_time", days},
          {"event_type", type},
          {"fault_type", {{"Class", what}}}};
}

const std::string kLanl =
    "System,nodenumz,Prob Started,Prob Fixed,Facilities,Same Event\n"
    "2,1,12/31/2004 23:00,1/1/2005 1:30,,No\n"
    "3,0,1/1/1996 0:00,1/1/1996 0:10,,No\n"
    "2,0,12/31/2004 22:00,12/31/2004 22:06,\"MPI, PVM\",No\n"
    "2,2,3/1/2005 0:00,,,Yes\n";

}  // namespace

TEST_CASE("InfiniteHBD: starts and ends by node and type, nodes in order of appearance") {
  const Json events = {event("b", 1, "fault_start"),        event("a", 1, "fault_start"),
                       event("b", 1.5, "fault_start", "X"), event("b", 2, "fault_end", "X"),
                       event("b", 3, "fault_end"),          event("c", 4, "fault_start")};
  const Outages outages = infinitehbd_outages(events.dump(), "t");
  CHECK(outages.nodes == 3);
  REQUIRE(outages.list.size() == 4);
  CHECK(outages.list[0].node == 0);
  CHECK(outages.list[0].start_s == 86400.0);
  CHECK(outages.list[0].end_s == 3 * 86400.0);
  CHECK(outages.list[1].node == 1);
  CHECK(outages.list[1].end_s == kNever);
  CHECK(outages.list[2].end_s == 2 * 86400.0);
  CHECK(outages.list[3].node == 2);
}

TEST_CASE("InfiniteHBD: what is not understood") {
  const auto of = [](const Json& events) {
    return refusal_of([&] { infinitehbd_outages(events.dump(), "t"); });
  };
  CHECK(has(of(Json::array({event("a", 1, "fault_end")})),
            "t: event 1: fault_end of node 'a' without a fault_start: a repair without a fault"));
  CHECK(has(of({event("a", 1, "fault_start"), event("a", 2, "fault_end", "other")}), "event 2"));
  CHECK(has(of({event("a", 2, "fault_start"), event("b", 1, "fault_start")}),
            "event 2: trace out of order"));
  CHECK(has(of(Json::array({event("a", -1, "fault_start")})), "negative"));
  CHECK(has(of(Json::array({event("a", 1, "start")})), "allowed fault_start, fault_end"));
  CHECK(has(of(Json::object()), "no array"));
  CHECK(has(of(Json::array({{{"node_id", 3}}})), "lacks the text node_id"));
  CHECK(has(of(Json::array({nullptr})), "lacks the text node_id"));
}

TEST_CASE("LANL: one system, seconds since its first record, quoted cells") {
  const Outages outages = lanl_outages(kLanl, "t", 2);
  CHECK(outages.nodes == 3);
  REQUIRE(outages.list.size() == 3);
  CHECK(outages.list[0].node == 0);
  CHECK(outages.list[0].start_s == 0.0);
  CHECK(outages.list[0].end_s == 360.0);
  CHECK(outages.list[1].node == 1);
  CHECK(outages.list[1].start_s == 3600.0);
  CHECK(outages.list[1].end_s == 3600.0 + 9000.0);  // 2.5 h over the new year
  // 31 + 28 days and 2 h later: 2005 is no leap year.
  CHECK(outages.list[2].start_s == 59 * 86400.0 + 7200.0);
  CHECK(outages.list[2].end_s == kNever);
  CHECK(lanl_outages(kLanl, "t", 3).list.size() == 1);
}

TEST_CASE("LANL: what is not understood") {
  const auto of = [](const std::string& row, int system = 2) {
    return refusal_of([&] {
      lanl_outages("System,nodenumz,Prob Started,Prob Fixed\n" + row + "\n", "t", system);
    });
  };
  CHECK(of("2,0,2/29/2004 0:00,3/1/2004 0:00") == "(accepted)");
  CHECK(has(of("2,0,2/29/2005 0:00,3/1/2005 0:00"), "t: line 2: Prob Started is '2/29/2005 0:00'"));
  CHECK(has(of("2,0,1/1/2005 24:00,"), "expected month/day/year hour:minute"));
  CHECK(has(of("2,0,13/1/2005 0:00,"), "Prob Started"));
  CHECK(has(of("2,0,1/1/2005 0:00,1/1/2004 0:00"), "Prob Fixed is before Prob Started"));
  CHECK(has(of("2,,1/1/2005 0:00,"), "nodenumz is ''"));
  CHECK(has(of("2,0,1/1/2005 0:00"), "has 3 columns, expected 4"));
  CHECK(has(of("2,0,1/1/2005 0:00,", 7), "has no record of system 7, allowed 2"));
  CHECK(has(refusal_of([] { lanl_outages("System,nodenumz\n", "t", 2); }),
            "lacks the column 'Prob Started'"));
}

TEST_CASE("shares and columns") {
  const auto points = capacity_shares("at_h,share\n0,1\n8,0.5\n", "t");
  REQUIRE(points.size() == 2);
  CHECK(points[1].at_s == 28800.0);
  CHECK(points[1].share == 0.5);
  const auto of = [](const std::string& text) {
    return refusal_of([&] { capacity_shares(text, "t"); });
  };
  CHECK(has(of("at_h,share\n0,1.5\n"), "line 2: share is '1.5', allowed 0 to 1"));
  CHECK(has(of("at_h,share\n0,-0.5\n"), "line 2: share is '-0.5'"));
  CHECK(has(of("at_h,share\n0,nan\n"), "line 2: share is 'nan'"));
  CHECK(has(of("at_h,share\n1,1\n1,0.5\n"), "line 3: trace out of order"));
  CHECK(has(of("share\n1\n"), "lacks a column at_<unit>"));
  CHECK(has(of("at_h,share,x\n1,1,1\n"), "other columns"));
  CHECK(has(of("at_h,share\n"), "no line but its header"));
  CHECK(number_column("a,b\n1,2\n3,4\n", "t", "b") == std::vector<double>{2.0, 4.0});
  CHECK(has(refusal_of([] { number_column("a\nx\n", "t", "a"); }), "line 2: a is 'x'"));
}

TEST_CASE("a node trace becomes lines of the plan, in order of learners and slices") {
  const Folder folder("nodes");
  folder.write("l.csv", kLanl);
  Json entry = {{"trace", {{"file", "l.csv"}, {"format", "lanl"}, {"system", 2}}}};
  const Loaded all = load_in(folder, entry);
  const auto& plan = all.scenario.plan;
  REQUIRE(plan.size() == 3);
  CHECK(plan[1].kind == FaultKind::kSliceDown);
  CHECK(plan[1].target.index == 0);
  CHECK(plan[1].target.part == 1);
  CHECK(plan[1].at_s == 3600.0);
  CHECK(plan[1].for_s == 9000.0);
  CHECK(plan[1].source == "f");
  CHECK(plan[2].for_s == kNever);
  // What the trace does is said in no key: no warning that recovery cannot matter.
  CHECK_FALSE(warns(all.scenario, "W15"));

  entry["each"] = "host";  // v5p: two hosts a slice of 8
  const auto hosts = load_in(folder, entry).scenario.plan;
  CHECK(hosts[1].target.part == 0);
  CHECK(hosts[2].target.part == 1);

  entry.erase("each");
  entry["target"] = "west.2/slice.4";
  CHECK(has(refusal_in(folder, entry), "has 3 nodes, but the target has 1 slices"));
  entry["trace"]["nodes"] = 1;
  CHECK(load_in(folder, entry).scenario.plan.size() == 1);
  entry["trace"]["nodes"] = 4;
  CHECK(has(refusal_in(folder, entry), "nodes: found 4, allowed at most 3"));
  entry["trace"].erase("nodes");

  entry["target"] = "west";
  entry["trace"]["time_scale"] = 0.5;
  entry["trace"]["from_h"] = 2;
  entry["trace"]["until_days"] = 30;
  const auto window = load_in(folder, entry).scenario.plan;
  REQUIRE(window.size() == 1);  // the first is over, the last begins after day 30
  CHECK(window[0].at_s == 0.0);
  CHECK(window[0].for_s == 0.5 * 5400.0);  // from 2 h to 3.5 h
  CHECK(load_in(folder, entry).hash8 != all.hash8);
}

TEST_CASE("keys beside and inside a trace that mean nothing") {
  const Folder folder("keys");
  folder.write("l.csv", kLanl);
  Json entry = {{"trace", {{"file", "l.csv"}, {"format", "lanl"}}}};
  CHECK(has(refusal_in(folder, entry), "/faults/f/trace: lacks the key 'system'"));
  entry["trace"]["system"] = 2;
  Json other = entry;
  other["trace"]["repeat_every_h"] = 1;
  CHECK(has(refusal_in(folder, other), "has no meaning for the format lanl"));
  other = entry;
  other["kind"] = "slice_down";
  CHECK(has(refusal_in(folder, other), "/faults/f/kind: has no meaning beside a trace"));
  other = entry;
  other["each"] = "chip";
  CHECK(has(refusal_in(folder, other), "allowed slice, host"));
  other = entry;
  other["trace"]["format"] = "borg";
  CHECK(has(refusal_in(folder, other), "/faults/f/trace/format: found \"borg\""));
  other = entry;
  other["trace"]["format"] = "infinitehbd";
  other["trace"].erase("system");
  CHECK(has(refusal_in(folder, other), "t.json: /faults/f/trace/file: l.csv: "));
  other["trace"]["file"] = "none.json";
  CHECK(has(refusal_in(folder, other), "/faults/f/trace/file: found no file"));
  folder.write("bad.csv.xz", "not packed");
  other["trace"]["file"] = "bad.csv.xz";
  CHECK(has(refusal_in(folder, other), "bad.csv.xz: is not a whole xz file"));
}

TEST_CASE("a capacity trace: slow, cut and whole, once or every day") {
  const Folder folder("share");
  folder.write("s.csv", "at_h,share\n0,1\n8,0.5\n12,0\n13,1\n");
  Json entry = {{"target", "us-east5.up"}, {"trace", {{"file", "s.csv"}, {"format", "share"}}}};
  auto plan = load_in(folder, entry).scenario.plan;
  REQUIRE(plan.size() == 2);
  CHECK(plan[0].kind == FaultKind::kLinkSlow);
  CHECK(plan[0].factor == 0.5);
  CHECK(plan[0].at_s == 28800.0);
  CHECK(plan[0].for_s == 14400.0);
  CHECK(plan[1].kind == FaultKind::kLinkCut);
  CHECK(plan[1].factor == 1.0);
  CHECK(plan[1].for_s == 3600.0);

  Json document = base();
  document["stop"] = {{"tokens", 1e9}, {"max_simulated_days", 3}};
  entry["trace"]["repeat_every_days"] = 1;
  entry["target"] = "us-east5";
  document["faults"]["f"] = entry;
  plan = load_scenario_text(document.dump(), "t.json", folder.path.string()).scenario.plan;
  // Days 0, 1, 2 and the beginning of day 3, two ports, two lines each.
  CHECK(plan.size() == 16);
  CHECK(plan[4].at_s == 28800.0 + 86400.0);
  entry["trace"]["repeat_every_h"] = 13;
  entry["trace"].erase("repeat_every_days");
  CHECK(has(refusal_in(folder, entry), "allowed more than the last date, 46800 s"));
  entry["trace"]["repeat_every_h"] = 13.001;
  entry["trace"]["time_scale"] = 1e-3;
  CHECK(has(refusal_in(folder, entry), "dated faults until the run ends, allowed at most 2000000"));
  entry.erase("target");
  CHECK(has(refusal_in(folder, entry), "does not say whose capacity"));
  entry["target"] = "us-west1<>us-east5";
  CHECK(has(refusal_in(folder, entry), "has no capacity of its own"));
  entry["each"] = "link";
  CHECK(has(refusal_in(folder, entry), "/faults/f/each: has no meaning beside a trace"));
}

TEST_CASE("times of a law from a column") {
  const Folder folder("column");
  folder.write("t.csv", "node,hours\n1,2\n2,6\n");
  Json entry = {{"kind", "slice_down"}, {"each", "slice"}, {"mean_between_h", 1}};
  entry["away"]["law"] = {
      {"kind", "empirical"}, {"trace", "t.csv"}, {"column", "hours"}, {"unit", "h"}};
  const Law away = load_in(folder, entry).scenario.faults[0].away;
  CHECK(away.mean_s == 4 * 3600.0);
  CHECK(*away.values == std::vector<double>{0.5, 1.5});
  entry["away"]["law"]["column"] = "minutes";
  CHECK(
      has(refusal_in(folder, entry), "/faults/f/away/law/trace: t.csv: line 1: lacks the column"));
}

TEST_CASE("the shipped trace: 584 faults on 231 of 400 servers, 3,232 days in all") {
  const std::string path =
      std::string(SKERRY_SOURCE) + "/scenarios/traces/infinitehbd_fault_trace.json";
  const Outages outages = infinitehbd_outages(file_text(path), "trace");
  CHECK(outages.nodes == 231);
  REQUIRE(outages.list.size() == 584);
  double days = 0.0;
  for (const Outage& outage : outages.list)
    days += (outage.end_s - outage.start_s) / 86400.0;
  CHECK(days == doctest::Approx(3232.4438).epsilon(1e-9));  // 584 · 132.8 h / 24
  CHECK(days / (400.0 * 348.0) == doctest::Approx(0.0232).epsilon(0.005));
}

TEST_CASE("CSV: quotes, columns, ends of lines") {
  const std::string text = "a,\"b,c\"\n1,\"x \"\"y\"\"\"\n";
  CsvTable table(text, "t");
  CHECK(table.find("b,c") == 1);
  REQUIRE(table.next());
  CHECK(table.cell(1) == "x \"y\"");
  CHECK(table.whole_number(0) == 1);
  CHECK_FALSE(table.next());
  CHECK(has(refusal_of([] { CsvTable("a,b\r\n", "t"); }), "line 1: ends in a carriage return"));
  CHECK(has(refusal_of([] { CsvTable("a,a\n", "t"); }), "twice"));
  CHECK(has(refusal_of([] { CsvTable("", "t"); }), "found nothing"));
}

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "sim/scenario/parse.hpp"

#include <doctest/doctest.h>

#include "sim/scenario/text.hpp"
#include "tests/sim/scenario/helpers.hpp"

using namespace skerry;
using namespace skerry::testing;
using skerry::reader::matches;

namespace {

std::string parse_refusal(const std::string& text) {
  try {
    reader::parse_strict(text, "f");
  } catch (const BadInput& error) {
    return error.what();
  }
  return "(accepted)";
}

}  // namespace

TEST_CASE("parsing keeps the order of keys and refuses a key met twice, at any depth") {
  const auto document = reader::parse_strict(R"({"b": 1, "a": {"z": [1, {"y": 2}]}})", "f");
  CHECK(document.dump() == R"({"b":1,"a":{"z":[1,{"y":2}]}})");
  CHECK(parse_refusal(R"({"a": 1, "a": 1})") == "f: /a: found the key twice, allowed once");
  CHECK(parse_refusal(R"({"x": [0, {"b": 1, "b": 1}]})") ==
        "f: /x/1/b: found the key twice, allowed once");
}

TEST_CASE("parsing refuses what a double cannot hold, and says where") {
  CHECK(parse_refusal(R"({"a": [1, 1e999]})") ==
        "f: /a/1: found a number too large for a double, allowed finite numbers");
  CHECK(has(parse_refusal(R"({"a": -1e999})"), "f: /a: found a number too large"));
  CHECK(has(parse_refusal("{\"a\":\n  NaN}"), "f: /a: line 2, column"));
}

TEST_CASE("parsing stops at 32 levels and at 4 MiB") {
  const std::string open(32, '['), close(32, ']');
  CHECK(parse_refusal(open + close) == "(accepted)");
  CHECK(has(parse_refusal("[" + open + close + "]"), "found nesting deeper than 32 levels"));
  CHECK(has(parse_refusal(std::string(1000000, '[')), "found nesting deeper than 32 levels"));
  CHECK(has(parse_refusal(std::string(kMaxFileBytes + 1, ' ')), "allowed at most 4194304"));
}

TEST_CASE("parsing refuses text that is not UTF-8, and broken or trailing JSON") {
  CHECK(has(parse_refusal("\"\xff\""), "not JSON"));
  for (const char* text : {"", "{", "{\"a\"", "{\"a\":1,}", "[1 2]", "{} {}", "nul", "'a'"}) {
    CAPTURE(text);
    CHECK(has(parse_refusal(text), "not JSON"));
  }
}

TEST_CASE("a bounded file must exist, be a regular file and be small enough") {
  const std::string folder = SKERRY_SOURCE;
  CHECK_THROWS_AS(reader::read_bounded_file(folder + "/none", 10, "f", "/p"), BadInput);
  CHECK_THROWS_AS(reader::read_bounded_file(folder, 10, "f", "/p"), BadInput);
  CHECK_THROWS_AS(reader::read_bounded_file("/dev/zero", 10, "f", "/p"), BadInput);
  CHECK_THROWS_AS(reader::read_bounded_file(folder + "/LICENSE", 10, "f", "/p"), BadInput);
  CHECK(reader::read_bounded_file(folder + "/LICENSE", 1 << 20, "f", "/p").size() > 1000);
}

TEST_CASE("wildcards: '*' is any run of characters, also an empty one") {
  CHECK(matches("v6e.*", "v6e.12"));
  CHECK(matches("*", ""));
  CHECK(matches("a*b*c", "aXbYbZc"));
  CHECK_FALSE(matches("v6e.*", "v5p.1"));
  CHECK_FALSE(matches("a*b", "abc"));
  CHECK_FALSE(matches("", "a"));
}

TEST_CASE("the nearest name is offered only when it is near") {
  const std::vector<std::string> known = {"port_gbps", "up_gbps", "quorum"};
  CHECK(reader::nearest("qourum", known) == "quorum");
  CHECK(reader::nearest("port_gpbs", known) == "port_gbps");
  CHECK(reader::nearest("latency", known).empty());
  CHECK(reader::nearest("", known).empty());
}

TEST_CASE("pointers escape '~' and '/', and come back") {
  CHECK(reader::under("/a", "x/y~z") == "/a/x~1y~0z");
  CHECK(reader::pointer_parts("/a/x~1y~0z") == std::vector<std::string>{"a", "x/y~z"});
  CHECK(reader::pointer_parts("").empty());
  CHECK(reader::pointer_parts("/") == std::vector<std::string>{""});
}

TEST_CASE("names: letters, digits, dot, underscore, minus; no leading dot; at most 64") {
  CHECK(reader::is_name("us-west1"));
  CHECK(reader::is_name(std::string(64, 'a')));
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".a"), std::string("a b"), std::string("a/b"),
        std::string("ä"), std::string(65, 'a')}) {
    CAPTURE(bad);
    CHECK_FALSE(reader::is_name(bad));
  }
}

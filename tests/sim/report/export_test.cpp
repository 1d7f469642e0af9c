#include <doctest/doctest.h>

#include "sim/report/openmetrics.hpp"
#include "sim/report/tensorboard.hpp"
#include "tests/sim/report/support.hpp"

using namespace skerry;

TEST_CASE("CRC-32C: the check value of the catalogues, and RFC 3720's zeros") {
  CHECK(crc32c("123456789") == 0xe3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c("") == 0);
  // Rotated right by 15 and shifted: 0xe3069283 → 0x2507c60d, + 0xa282ead8.
  CHECK(masked(0xe3069283) == 0xc78ab0e5);
}

TEST_CASE("an event file begins with its version, byte by byte") {
  const std::string file = event_file({});
  REQUIRE(file.size() == 8 + 4 + 24 + 4);  // 9 bytes of wall time, 2 + 13 of the version
  CHECK(file.substr(0, 8) == std::string("\x18\0\0\0\0\0\0\0", 8));
  CHECK(file.substr(12, 9) == std::string("\x09\0\0\0\0\0\0\0\0", 9));
  CHECK(file.substr(21, 15) ==
        "\x1a\x0d"
        "brain.Event:2");
}

TEST_CASE("labels are escaped") {
  CHECK(escaped_label("a\\b\"c\nd") == "a\\\\b\\\"c\\nd");
  Results r;
  r.scenario = testing::scenario({1});
  r.scenario.name = "with \"quotes\"";
  r.records = {testing::record("data_parallel", 1, 2)};
  const std::string text = openmetrics_text(r);
  CHECK(
      text.find("skerry_goodput_ratio{scenario=\"with \\\"quotes\\\"\",protocol=\"data_parallel\","
                "seed=\"1\"} 0.6\n") != std::string::npos);
  CHECK(text.find("cause=\"down\"} 10\n") != std::string::npos);
  CHECK(text.find("usd") == std::string::npos);  // without a price there is no cost, not one of 0
  CHECK(text.ends_with("# EOF\n"));
}

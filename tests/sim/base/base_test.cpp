// Units and errors.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

using namespace skerry;

TEST_CASE("gigabits per second are 1e9 bits, and eight bits are a byte") {
  CHECK(bytes_per_s_from_gbps(2.0) == 2.5e8);  // 2e9 / 8
  CHECK(gbps_from_bytes_per_s(6.25e8) == 5.0);
  CHECK(bytes_per_s_from_gbps(kUnlimited) == kUnlimited);
  for (const double gbps : {0.001, 0.465, 1.67, 5.0, 238.3}) {
    CHECK(gbps_from_bytes_per_s(bytes_per_s_from_gbps(gbps)) ==
          doctest::Approx(gbps).epsilon(1e-15));
  }
}

TEST_CASE("six duration suffixes; a year is 365 days") {
  CHECK(kDurationUnits.size() == 6);
  CHECK(kDurationUnits[0].suffix == "_ms");
  CHECK(kDurationUnits[0].seconds == 0.001);
  CHECK(kDurationUnits[1].suffix == "_s");
  CHECK(kDurationUnits[1].seconds == 1.0);
  CHECK(kDurationUnits[2].suffix == "_min");
  CHECK(kDurationUnits[2].seconds == 60.0);
  CHECK(kDurationUnits[3].suffix == "_h");
  CHECK(kDurationUnits[3].seconds == 3600.0);
  CHECK(kDurationUnits[4].suffix == "_days");
  CHECK(kDurationUnits[4].seconds == 86400.0);  // 24 × 3600
  CHECK(kDurationUnits[5].suffix == "_years");
  CHECK(kDurationUnits[5].seconds == 31536000.0);  // 365 × 86400
}

TEST_CASE("bad input says file, place and message, and leaves out what is empty") {
  CHECK(std::string(BadInput("a.json", "/stop", "found 3").what()) == "a.json: /stop: found 3");
  CHECK(std::string(BadInput("a.json", "", "found 3").what()) == "a.json: found 3");
  CHECK(std::string(BadInput("", "/stop", "found 3").what()) == "/stop: found 3");
  CHECK(std::string(BadInput("", "", "found 3").what()) == "found 3");
}

TEST_CASE("a broken invariant names its condition and detail, and builds the detail only then") {
  int built = 0;
  const auto detail = [&] {
    built += 1;
    return std::string("x is 3");
  };
  CHECK_NOTHROW([&] { SKERRY_CHECK(built == 0, detail()); }());
  CHECK(built == 0);
  std::string message;
  try {
    SKERRY_CHECK(built == 1, detail());
  } catch (const Bug& bug) {
    message = bug.what();
  }
  CHECK(built == 1);
  CHECK(message.find("base_test.cpp:") != std::string::npos);
  CHECK(message.find("broken invariant 'built == 1': x is 3") != std::string::npos);
}

TEST_CASE("the three kinds of error cannot be caught as one another") {
  CHECK_THROWS_AS(throw CannotGoOn("stuck"), CannotGoOn);
  const auto kind = [](auto thrower) {
    try {
      thrower();
    } catch (const BadInput&) {
      return 2;
    } catch (const CannotGoOn&) {
      return 3;
    } catch (const Bug&) {
      return 4;
    }
    return 0;
  };
  CHECK(kind([] { throw BadInput("", "", ""); }) == 2);
  CHECK(kind([] { throw CannotGoOn(""); }) == 3);
  CHECK(kind([] { throw Bug(""); }) == 4);
}

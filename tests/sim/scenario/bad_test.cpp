// Every broken scenario of tests/bad is refused with the message that expected.json promises.
#include <filesystem>
#include <set>

#include <doctest/doctest.h>

#include "tests/sim/scenario/helpers.hpp"

using namespace skerry;
using namespace skerry::testing;

TEST_CASE("every file of tests/bad is refused with its message") {
  const std::string folder = std::string(SKERRY_SOURCE) + "/tests/bad";
  const Json expected = Json::parse(file_text(folder + "/expected.json"));
  CHECK(expected.size() >= 40);
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".json") && name != "expected.json") files.insert(name);
  }
  CHECK(files.size() == expected.size());
  for (const auto& [name, claim] : expected.items()) {
    CAPTURE(name);
    CHECK(files.contains(name));
    std::string message = "(accepted)";
    try {
      load_scenario(folder + "/" + name);
    } catch (const BadInput& error) {
      message = error.what();
    }
    CAPTURE(message);
    CHECK(has(message, claim["message"].get<std::string>()));
    CHECK(message.rfind(folder + "/" + name + ": ", 0) == 0);
  }
}

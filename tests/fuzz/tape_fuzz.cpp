// Any bytes: the tape reader refuses them, or what it read is written as the very same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sim/base/error.hpp"
#include "sim/tape/tape.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  skerry::Tape tape;
  try {
    tape = skerry::tape_from_jsonl(text, "tape.jsonl");
  } catch (const skerry::BadInput&) {
    return 0;
  }
  if (skerry::tape_to_jsonl(tape) != text) std::abort();
  return 0;
}

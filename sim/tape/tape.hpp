// The append-only list of facts of one run: in memory, to a file, from a file.
//
// File: JSON lines, one object a fact, "f" names the kind ("steps", "pull", …), members named and
// ordered as in fact.hpp, no spaces. Doubles in shortest round-trip form, whole ones below 2^53 as
// plain digits; null is "never" or "no limit", where a member can mean that. First line is Start
// with "skerry":"tape/1", then the facts, the wires and the controls, last is End: a file without End is not a
// tape. There is one text for one tape: what the reader accepts, the writer writes, byte for byte,
// and reading gives back the same bits.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/tape/fact.hpp"

namespace skerry {

struct Tape {
  fact::Start start;
  std::vector<Fact> facts;  // in order of writing; dates never decrease except for spans (t0)
  std::vector<fact::Wire> wires;
  std::vector<fact::Control> controls;
  fact::End end;

  template <class F>
  void add(F&& f) {
    facts.emplace_back(std::forward<F>(f));
  }
};

// Requires finite numbers (but for "never" and "no limit") and names without quotes, backslashes or
// characters outside ASCII; anything else is a Bug.
std::string tape_to_jsonl(const Tape& tape);

// The same text in parts of about 64 KiB, for files and hashes: a long tape's text is never held whole.
using TapeSink = std::function<void(std::string_view)>;
void write_tape(const Tape& tape, const TapeSink& sink);

// BadInput "label: line N: …" for anything that is not a tape; never crashes on any bytes. What the
// numbers refer to is not known here: see check_tape_fits.
Tape tape_from_jsonl(const std::string& text, const std::string& label);

// Refuses a tape that names a protocol, learner, fragment, region, link or slice that `scenario`
// does not have: BadInput with `label`. After it, indices of the tape may be used without a check.
void check_tape_fits(const Tape& tape, const Scenario& scenario, const std::string& label);

// 16 hex digits of the hash of the tape's text.
std::string tape_fingerprint(const Tape& tape);

}  // namespace skerry

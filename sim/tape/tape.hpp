// The append-only list of facts of one run: in memory, to a file, from a file.
//
// File: JSON lines, one object a fact, "f" names the kind ("steps", "pull", …), members named as in
// fact.hpp, doubles in shortest round-trip form (to_chars), infinities as null. First line is Start with
// "skerry": "tape/1", last is End: a file without End is not a tape. Reading gives back the same bits.
#pragma once

#include <string>
#include <vector>

#include "sim/tape/fact.hpp"

namespace skerry {

struct Tape {
  fact::Start start;
  std::vector<Fact> facts;         // in order of writing; dates never decrease except for spans (t0)
  std::vector<fact::Wire> wires;
  fact::End end;

  template <class F>
  void add(F&& f) {
    facts.emplace_back(std::forward<F>(f));
  }
};

std::string tape_to_jsonl(const Tape& tape);

// BadInput with "file: line N" for anything that is not a tape; never crashes on any bytes.
Tape tape_from_jsonl(const std::string& text, const std::string& label);

}  // namespace skerry

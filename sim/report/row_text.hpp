// What a row puts on the wire, in few words.
#pragma once

#include <string>

#include "sim/scenario/scenario.hpp"

namespace skerry {

// ", 64 buckets, 4-bit wire, shared channel": each where it is not the family's usual way or not the
// charged model's bits; empty when nothing is. Data-parallel always names its buckets.
std::string wire_text(const Protocol& row, const ChargedModel& model);

}  // namespace skerry

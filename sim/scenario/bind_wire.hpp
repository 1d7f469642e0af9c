// What a row's steps put on the wire, bound from its entry: called for each protocol by bind_protocols.
#pragma once

#include <string>

#include "sim/scenario/bind.hpp"

namespace skerry::reader {

// `entry`: the row with its preset's values in; spelt out as it goes. `pointer`: of the row.
void bind_all_reduce(const Binder& binder, const std::string& pointer, Json& entry, Protocol& protocol);
void bind_anatomy(const Binder& binder, const std::string& pointer, Json& entry, Protocol& protocol);
void bind_wire(const Binder& binder, const std::string& pointer, Json& entry, Protocol& protocol);
// P, H, τ, fragmentation, offsets: due_slots and due_together.
void bind_schedule(const Binder& binder, const std::string& pointer, Json& entry, Protocol& protocol);

void warn_wire(Binder& binder, const Protocol& protocol);   // settings that cannot matter

}  // namespace skerry::reader

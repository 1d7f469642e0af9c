// The branches of the tree, one function per subtree.
#pragma once

#include "sim/scenario/spec.hpp"

namespace skerry::reader {

NodePtr regions_spec();
NodePtr links_spec();
NodePtr transport_spec();
NodePtr islands_spec();
NodePtr speed_spread_spec();
NodePtr charged_model_spec();
std::vector<Field> money_fields();  // of an island: price and power of its chips
NodePtr prices_spec();
NodePtr protocols_spec();
// With defaults: the scenario's own. Without: what one protocol overrides.
NodePtr recovery_spec(bool with_defaults);
NodePtr all_reduce_spec();
std::vector<Field> step_fields();  // of a protocol: what its steps put on the wire
NodePtr faults_spec();
NodePtr training_spec();
NodePtr expect_spec();

}  // namespace skerry::reader

// The top of the tree.
#include "sim/scenario/spec_parts.hpp"

namespace skerry::reader {

namespace {

NodePtr stop_spec() {
  return object(
      {
          key("tokens", positive(1e18, "tokens"),
              "Charged tokens, net, over all learners of a protocol."),
          duration("max_simulated", 0.0, true, "With `tokens`: cap in simulated time.")
              .note("3650 days with `tokens`"),
          duration("simulated", 0.0, true, "Stop after this simulated time, instead of `tokens`."),
      },
      {{"tokens", "simulated_s"}, {"max_simulated_s", "simulated_s"}});
}

NodePtr make_tree() {
  NodePtr seed = integer(0, kMaxInteger);
  return object({
      key("skerry", word({"scenario/1"}), "Format of the file.").required(),
      key("name", name_text(), "Name of the run folder.").note("the file's name without .json"),
      key("seeds", either({integer(1, 10000), array_of(seed, 1, 10000, true)}),
          "How many seeds (n stands for 1 … n), or the seeds themselves.")
          .defaults(1),
      key("stop", stop_spec(), "When a run ends.").required(),
      key("regions", regions_spec(),
          "Places with their own ports to the wide area. A region of the catalog needs no more.")
          .note("none: all islands in one ideal place"),
      key("links", links_spec(), "Wide-area pairs of regions, where they differ from the catalog."),
      key("transport", transport_spec(), "How flows share the network.").defaults("fluid"),
      key("islands", islands_spec(), "Groups of learners and the chips that they run on.")
          .required(),
      key("speed_spread", speed_spread_spec(), "Random differences in speed between islands.")
          .note("none"),
      key("charged_model", charged_model_spec(),
          "The large model whose time and bytes are charged.")
          .note("none, when every island gives step_<unit>: nothing is sent, and a step counts as "
                "one token"),
      key("prices", prices_spec(), "What the costs of a run are worked out with.")
          .defaults(Json::object()),
      key("protocols", protocols_spec(), "The rows to compare, in this order.").required(),
      key("baseline", name_text(), "The row that ratios use.")
          .note("the first data_parallel or data_parallel_elastic row, else the first"),
      key("faults", faults_spec(), "What breaks, and when.").note("nothing breaks"),
      key("recovery", recovery_spec(true), "What the system does about failures.")
          .defaults(Json::object()),
      key("training", training_spec(), "false, or what is really trained.").required(),
      key("expect", expect_spec(), "What must come out; checked after the run."),
  });
}

}  // namespace

const Node& scenario_spec() {
  static const NodePtr tree = make_tree();
  return *tree;
}

}  // namespace skerry::reader

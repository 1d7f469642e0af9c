// Keys of money and energy: of an island, and of the whole.
#include "sim/scenario/spec_parts.hpp"

namespace skerry::reader {

std::vector<Field> money_fields() {
  return {
      key("usd_per_chip_hour", number(0.0, 1e6, "USD"),
          "Price of one chip for an hour on demand, from joining to the end of the run, whether it "
          "steps, waits or is broken.")
          .note("that of the device's catalog entry; without one the costs are null"),
      key("usd_per_chip_hour_spot", number(0.0, 1e6, "USD"),
          "The same for chips that may be taken away. The price brings no loss of chips: that is "
          "for "
          "/faults to say.")
          .note(
              "that of the device's catalog entry; without one the costs at spot prices are null"),
      key("power_w", number(0.0, 1e6, "W"), "Draw of one chip while it steps.")
          .note("that of the device's catalog entry; without one the energy is null"),
      key("idle_power_share", share(true, true),
          "Draw of a chip that is up and does not step, as a share of power_w. A chip that is away "
          "draws nothing.")
          .note("that of the device's catalog entry; without one the energy is null"),
  };
}

NodePtr prices_spec() {
  return object({
      key("pricing", word({"on_demand", "spot"}),
          "Which price of a chip-hour cost_usd and its parts are worked out with; cost_spot_usd is "
          "there beside it.")
          .defaults("on_demand"),
      key("wan_usd_per_gib", number(0.0, 1e6, "USD"),
          "Price of 2^30 bytes that leave a region for another one. The default is what Google "
          "Cloud "
          "asks between regions in Northern America by its VPC price list of 2024; other pairs and "
          "clouds differ.")
          .defaults(0.02)
          .assumed(),
  });
}

}  // namespace skerry::reader

#include "sim/protocols/protocols.hpp"

#include "sim/protocols/data_parallel.hpp"
#include "sim/protocols/diloco.hpp"

namespace skerry {

Tape simulate(const Scenario& scenario, int protocol, std::uint64_t seed,
              const std::string& scenario_hash, const OnProgress& progress) {
  World world(scenario, protocol, seed, scenario_hash, progress);
  if (world.protocol.family == Family::kDataParallel) {
    DataParallel job(world);
    world.run();
    job.cut_at_end();
    world.close();
  } else {
    Diloco family(world);
    world.run();
    family.settle_at_end();
    world.close();
  }
  return std::move(world.tape);
}

}  // namespace skerry

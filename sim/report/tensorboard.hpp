// Scalars of one run as a TensorBoard event file: records of TensorFlow's TFRecord framing (length,
// masked CRC-32C of it, data, masked CRC-32C of that), each a tf.Event in protobuf's wire format.
//
// wall_time is simulated time, in seconds from 0. The step says what a tag's name says: charged
// tokens in millions, simulated seconds, or the syncer's clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/measure/summary.hpp"
#include "sim/train/curve.hpp"

namespace skerry {

std::uint32_t crc32c(std::string_view bytes);  // Castagnoli, reflected
std::uint32_t masked(std::uint32_t crc);       // rotated and shifted, as TFRecord keeps it

struct Scalar {
  double wall_s = 0;
  std::int64_t step = 0;
  std::string tag;
  float value = 0;
};

// The whole file: its version first, then the scalars in order of date (ties as given).
std::string event_file(std::vector<Scalar> scalars);

// loss_by_million_tokens of the curve; with a tape, goodput_by_second (from the start up to there)
// and participants_by_clock of each merge. Points without a finite value are left out.
std::vector<Scalar> scalars_of_curve(const std::vector<LossPoint>& curve);
std::vector<Scalar> scalars_of_tape(const Scenario& scenario, const Protocol& protocol,
                                    const Tape& tape);

}  // namespace skerry

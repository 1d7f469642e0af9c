#include "sim/report/tensorboard.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace skerry {

namespace {

constexpr std::uint32_t kCastagnoli = 0x82f63b78;  // reflected
constexpr std::uint32_t kMask = 0xa282ead8;
constexpr int kGoodputPoints = 200;

std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCastagnoli : 0);
    table[byte] = crc;
  }
  return table;
}

template <class Integer>
std::string little_endian(Integer value) {
  std::string out;
  for (std::size_t i = 0; i < sizeof value; ++i)
    out += static_cast<char>((value >> (8 * i)) & 0xff);
  return out;
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>((value & 0x7f) | 0x80);
  return out + static_cast<char>(value);
}

// Fields of protobuf's wire format.
char key(int field, int wire) {
  return static_cast<char>(field << 3 | wire);
}
std::string text_field(int field, std::string_view bytes) {
  return std::string(1, key(field, 2)) + varint(bytes.size()) + std::string(bytes);
}
std::string double_field(int field, double value) {
  return std::string(1, key(field, 1)) + little_endian(std::bit_cast<std::uint64_t>(value));
}
std::string float_field(int field, float value) {
  return std::string(1, key(field, 5)) + little_endian(std::bit_cast<std::uint32_t>(value));
}

std::string record(std::string_view data) {
  const std::string length = little_endian(static_cast<std::uint64_t>(data.size()));
  return length + little_endian(masked(crc32c(length))) + std::string(data) +
         little_endian(masked(crc32c(data)));
}

std::string event_of(const Scalar& scalar) {
  const std::string value = text_field(1, scalar.tag) + float_field(2, scalar.value);
  return double_field(1, scalar.wall_s) + key(2, 0) +
         varint(static_cast<std::uint64_t>(scalar.step)) + text_field(5, text_field(1, value));
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = make_table();
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes)
    crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

std::uint32_t masked(std::uint32_t crc) {
  return std::rotr(crc, 15) + kMask;
}

std::string event_file(std::vector<Scalar> scalars) {
  std::stable_sort(scalars.begin(), scalars.end(),
                   [](const Scalar& a, const Scalar& b) { return a.wall_s < b.wall_s; });
  std::string out = record(double_field(1, 0.0) + text_field(3, "brain.Event:2"));
  for (const Scalar& scalar : scalars)
    out += record(event_of(scalar));
  return out;
}

std::vector<Scalar> scalars_of_curve(const std::vector<LossPoint>& curve) {
  std::vector<Scalar> out;
  for (const LossPoint& point : curve) {
    if (!std::isfinite(point.loss)) continue;
    out.push_back({point.simulated_s, std::llround(point.tokens / 1e6), "loss_by_million_tokens",
                   static_cast<float>(point.loss)});
  }
  return out;
}

std::vector<Scalar> scalars_of_tape(const Scenario& scenario, const Protocol& protocol,
                                    const Tape& tape) {
  std::vector<Scalar> out;
  for (const GoodputPoint& point : goodput_over_time(scenario, protocol, tape, kGoodputPoints)) {
    out.push_back(
        {point.t, std::llround(point.t), "goodput_by_second", static_cast<float>(point.goodput)});
  }
  for (const Fact& fact : tape.facts) {
    const auto* merge = std::get_if<fact::Merge>(&fact);
    if (merge == nullptr) continue;
    out.push_back(
        {merge->t, merge->clock, "participants_by_clock", static_cast<float>(merge->participants)});
  }
  return out;
}

}  // namespace skerry

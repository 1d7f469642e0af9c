// Bytes of a state, and the state from its bytes: one function of each type describes both ways.
//
//   void describe(Archive& a) { a(step, parameters); }
//
// Numbers in the machine's own form (little-endian), vectors and strings behind their length.
#pragma once

#include <concepts>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace skerry::train {

class Archive {
 public:
  Archive() = default;  // writes
  // Reads; the bytes must outlive it. BadInput `label` when they end too early.
  Archive(std::string_view bytes, std::string label)
      : reads_(true), left_(bytes), label_(std::move(label)) {}

  bool reads() const { return reads_; }
  std::string_view left() const { return left_; }
  std::string take() { return std::move(written_); }
  void end() const;  // BadInput when something is left

  template <class... T>
  void operator()(T&... values) {
    (value(values), ...);
  }

 private:
  template <class T>
  void value(T& v) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      raw(&v, sizeof v);
    } else {
      v.describe(*this);
    }
  }
  template <class T>
  void value(std::vector<T>& v) {
    size(v, sizeof(T));
    if constexpr (std::is_arithmetic_v<T>) {
      raw(v.data(), v.size() * sizeof(T));
    } else {
      for (T& one : v)
        value(one);
    }
  }
  void value(std::string& v) {
    size(v, 1);
    raw(v.data(), v.size());
  }

  template <class V>
  void size(V& v, std::size_t each) {
    std::uint64_t n = v.size();
    raw(&n, sizeof n);
    if (!reads_) return;
    if (n > left_.size() / (std::is_arithmetic_v<typename V::value_type> ? each : 1)) cut();
    v.resize(n);
  }

  void raw(void* at, std::size_t bytes);
  [[noreturn]] void cut() const;

  bool reads_ = false;
  std::string written_;
  std::string_view left_;
  std::string label_;
};

}  // namespace skerry::train

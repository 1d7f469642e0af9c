#include "sim/scenario/parse.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

// Builds the document from SAX events and knows the pointer of the place at any time.
class Builder {
 public:
  Builder(const std::string& text, const std::string& label) : text_(text), label_(label) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(std::int64_t value) { return put(value); }
  bool number_unsigned(std::uint64_t value) { return put(value); }
  bool number_float(double value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(Json::binary_t&) { return fail("found binary data, allowed JSON text"); }

  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    Level& level = levels_.back();
    if (!level.keys.insert(name).second) {
      throw BadInput(label_, under(pointer(levels_.size() - 1), name),
                     "found the key twice, allowed once");
    }
    level.key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) {
    std::string reason = error.what();
    if (error.id == 406) {
      return fail("found a number too large for a double, allowed finite numbers");
    }
    const std::size_t detail = reason.rfind(" - ");
    reason = detail == std::string::npos ? "not JSON" : reason.substr(detail + 3);
    const std::size_t end = std::min(position, text_.size());
    const std::string_view before = std::string_view(text_).substr(0, end);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t line_start = before.rfind('\n');
    const std::size_t column = line_start == std::string_view::npos ? end : end - line_start - 1;
    return fail("line " + std::to_string(line) + ", column " + std::to_string(column) +
                ": not JSON: " + reason);
  }

  Json take() { return std::move(root_); }

 private:
  struct Level {
    Json value;
    std::string key;             // of the member being read
    std::set<std::string> keys;  // met so far
  };

  [[noreturn]] bool fail(const std::string& message) {
    throw BadInput(label_, pointer(levels_.size()), message);
  }

  // Pointer of the member being read in the innermost of the first `depth` levels.
  std::string pointer(std::size_t depth) const {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) {
      const Level& level = levels_[i];
      text = under(text, level.value.is_array() ? std::to_string(level.value.size()) : level.key);
    }
    return text;
  }

  bool open(Json value) {
    if (levels_.size() >= static_cast<std::size_t>(kMaxDepth)) {
      fail("found nesting deeper than " + std::to_string(kMaxDepth) + " levels, allowed " +
           std::to_string(kMaxDepth));
    }
    levels_.push_back(Level{std::move(value), {}, {}});
    return true;
  }

  bool close() {
    Json value = std::move(levels_.back().value);
    levels_.pop_back();
    return put(std::move(value));
  }

  bool put(Json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
    } else if (levels_.back().value.is_array()) {
      levels_.back().value.push_back(std::move(value));
    } else {
      // Appending to the vector behind the object: its own lookup would make big objects quadratic.
      auto& members = levels_.back().value.get_ref<Json::object_t&>();
      members.emplace_back(std::move(levels_.back().key), std::move(value));
    }
    return true;
  }

  const std::string& text_;
  const std::string& label_;
  std::vector<Level> levels_;
  Json root_;
};

}  // namespace

Json parse_strict(const std::string& text, const std::string& label) {
  if (text.size() > kMaxFileBytes) {
    throw BadInput(label, "",
                   "found " + std::to_string(text.size()) + " bytes, allowed at most " +
                       std::to_string(kMaxFileBytes));
  }
  Builder builder(text, label);
  Json::sax_parse(text, &builder);
  return builder.take();
}

std::string read_bounded_file(const std::string& path, std::size_t limit, const std::string& label,
                              const std::string& pointer) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw BadInput(label, pointer, "found no file '" + path + "'");
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw BadInput(label, pointer, "'" + path + "' is not a regular file");
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > limit) {
    throw BadInput(label, pointer,
                   "found " + std::to_string(size) + " bytes in '" + path + "', allowed at most " +
                       std::to_string(limit));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (!file || static_cast<std::uintmax_t>(file.gcount()) != size) {
    throw BadInput(label, pointer, "'" + path + "' cannot be read");
  }
  return text;
}

}  // namespace skerry::reader

#include "sim/scenario/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace skerry::reader {

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, change});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string under(const std::string& pointer, std::string_view key) {
  std::string text = pointer + "/";
  for (const char c : key.substr(0, 200)) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
  }
  return text;
}

std::vector<std::string> pointer_parts(std::string_view pointer) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      parts.emplace_back();
    } else if (pointer[i] == '~' && i + 1 < pointer.size() &&
               (pointer[i + 1] == '0' || pointer[i + 1] == '1')) {
      parts.back() += pointer[i + 1] == '0' ? '~' : '/';
      ++i;
    } else if (!parts.empty()) {
      parts.back() += pointer[i];
    }
  }
  return parts;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > 200) return {};
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::string best;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least && distance < candidate.size()) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : ", did you mean '" + near + "'?";
}

std::string join(const std::vector<std::string>& words, std::size_t limit) {
  std::string text;
  for (std::size_t i = 0; i < std::min(words.size(), limit); ++i) {
    text += (i == 0 ? "" : ", ") + words[i];
  }
  if (words.size() > limit) text += ", … (" + std::to_string(words.size()) + " in all)";
  return text;
}

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

std::string number_text(double value) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.6g", value);
  return buffer.data();
}

std::string shown(const Json& value) {
  if (value.is_object()) return value.empty() ? "an empty object" : "an object";
  if (value.is_array()) return value.empty() ? "an empty array" : "an array";
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "…";
  return text;
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > 64 || text.front() == '.') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

bool parse_pair(std::string_view text, RegionPair& pair) {
  const std::size_t arrow = text.find('>');
  if (arrow == std::string_view::npos || arrow == 0) return false;
  pair.both = text[arrow - 1] == '<';
  pair.from = text.substr(0, pair.both ? arrow - 1 : arrow);
  pair.to = text.substr(arrow + 1);
  return is_name(pair.from) && is_name(pair.to) && pair.from != pair.to;
}

}  // namespace skerry::reader

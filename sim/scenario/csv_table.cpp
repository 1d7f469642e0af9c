#include "sim/scenario/csv_table.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

namespace skerry {

std::string printable(std::string_view text) {
  std::string safe;
  for (const char c : text.substr(0, 60))
    safe += c >= ' ' && c <= '~' ? c : '?';
  return safe;
}

CsvTable::CsvTable(std::string_view text, std::string label)
    : text_(text), label_(std::move(label)) {
  line_ = 1;
  if (!read_line(header_)) refuse("found nothing, expected a header");
  for (std::size_t i = 0; i < header_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (header_[i] == header_[j]) {
        refuse("found the column '" + printable(header_[i]) + "' twice, allowed once");
      }
    }
  }
}

void CsvTable::refuse(const std::string& message) const {
  throw BadInput(label_, "line " + std::to_string(line_), message);
}

bool CsvTable::read_line(std::vector<std::string>& cells) {
  if (text_.empty()) return false;
  const std::size_t size = text_.find('\n');
  const std::string_view row = text_.substr(0, size);
  text_.remove_prefix(size == std::string_view::npos ? text_.size() : size + 1);
  if (!row.empty() && row.back() == '\r') {
    refuse("ends in a carriage return, expected '\\n' only");
  }
  cells.assign(1, {});
  bool quoted = false;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const char c = row[i];
    if (quoted && c == '"' && i + 1 < row.size() && row[i + 1] == '"') {
      cells.back() += c;
      ++i;
    } else if (quoted && c == '"') {
      quoted = false;
      if (i + 1 < row.size() && row[i + 1] != ',') refuse("found text behind a quoted cell");
    } else if (!quoted && c == '"' && cells.back().empty()) {
      quoted = true;
    } else if (!quoted && c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  if (quoted) refuse("found a quote that is not closed");
  return true;
}

bool CsvTable::next() {
  ++line_;
  if (!read_line(cells_)) return false;
  if (cells_.size() != header_.size()) {
    refuse("has " + std::to_string(cells_.size()) + " columns, expected " +
           std::to_string(header_.size()));
  }
  return true;
}

int CsvTable::find(std::string_view column) const {
  for (std::size_t i = 0; i < header_.size(); ++i) {
    if (header_[i] == column) return static_cast<int>(i);
  }
  return -1;
}

int CsvTable::needs(std::string_view column) const {
  const int found = find(column);
  if (found < 0) refuse("lacks the column '" + std::string(column) + "'");
  return found;
}

const std::string& CsvTable::cell(int column) const {
  return cells_[static_cast<std::size_t>(column)];
}

double CsvTable::number(int column) const {
  const std::string& text = cell(column);
  double value = 0.0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc{} || end != last || !std::isfinite(value) || std::signbit(value)) {
    refuse(header_[static_cast<std::size_t>(column)] + " is '" + printable(text) +
           "', expected a finite number ≥ 0");
  }
  return value;
}

int CsvTable::whole_number(int column) const {
  const std::string& text = cell(column);
  int value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc{} || end != last || value < 0 || value >= 1000000000) {
    refuse(header_[static_cast<std::size_t>(column)] + " is '" + printable(text) +
           "', expected a whole number ≥ 0");
  }
  return value;
}

int find_duration(const CsvTable& table, const std::string& name, double& seconds) {
  int found = -1;
  for (const DurationUnit& unit : kDurationUnits) {
    const int column = table.find(name + std::string(unit.suffix));
    if (column < 0) continue;
    if (found >= 0) table.refuse("found two columns of " + name + "_<unit>, allowed one");
    found = column;
    seconds = unit.seconds;
  }
  return found;
}

}  // namespace skerry

// A CSV text with a header, row by row: strict about its shape, cells found by the name of their
// column.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace skerry {

// Errors are BadInput "label: line N: …". A cell in double quotes may hold commas ("" stands for
// one quote) but no line end. Lines end in '\n'; the last may lack it. `text` must outlive the
// table.
class CsvTable {
 public:
  CsvTable(std::string_view text, std::string label);

  // Goes to the next row; false at the end. Refuses a row with another number of cells than the
  // header.
  bool next();

  const std::vector<std::string>& header() const { return header_; }
  int find(std::string_view column) const;   // index, or -1
  int needs(std::string_view column) const;  // index; refuses a header without it
  const std::string& cell(int column) const;
  double number(int column) const;     // finite and ≥ 0, else refused
  int whole_number(int column) const;  // digits only, below 1e9, else refused
  [[noreturn]] void refuse(const std::string& message) const;

 private:
  bool read_line(std::vector<std::string>& cells);

  std::string_view text_;
  std::string label_;
  std::size_t line_ = 0;
  std::vector<std::string> header_, cells_;
};

// A duration column of a header: `at` stands for at_s, at_min, … Gives its index (-1: none) and the
// seconds of its unit; refuses two of them.
int find_duration(const CsvTable& table, const std::string& name, double& seconds);

// At most 60 characters of a text, with '?' for what cannot be printed.
std::string printable(std::string_view text);

}  // namespace skerry

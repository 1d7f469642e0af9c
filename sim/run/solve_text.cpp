// What was solved, for people and for programs.
#include <algorithm>
#include <fmt/format.h>

#include "sim/report/layout.hpp"
#include "sim/report/number_text.hpp"
#include "sim/run/solve.hpp"

namespace skerry {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string listed(const std::vector<std::string>& items) {
  return "[" + fmt::format("{}", fmt::join(items, ", ")) + "]";
}

std::string strings(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts)
    out.push_back(quoted(text));
  return listed(out);
}

std::string numbers(const std::vector<double>& values) {
  std::vector<std::string> out;
  for (const double value : values)
    out.push_back(shortest(value));
  return listed(out);
}

std::string values_json(const SolveRow& row, double x) {
  std::vector<std::string> out;
  for (const Setting& setting : settings_at(row.unknown, x))
    out.push_back(quoted(setting.pointer) + ": " + setting.value);
  return "{" + fmt::format("{}", fmt::join(out, ", ")) + "}";
}

std::string reason_of(const SolveRow& row, const SearchResult& result) {
  const bool still = result.reason.find("does not move") != std::string::npos;
  return still ? result.reason + "; " + row.hint : result.reason;
}

std::string cell_json(const SolveRow& row, const SearchResult& result) {
  std::string out = fmt::format("{{\"target\": {}, ", shortest(result.target));
  if (!result.solved) {
    return out +
           fmt::format("\"status\": \"refused\", \"reason\": {}}}", quoted(reason_of(row, result)));
  }
  return out + fmt::format(
                   "\"status\": \"solved\", \"x\": {}, \"metric\": {}, \"x_below\": {}, "
                   "\"metric_below\": {}, \"first_x\": {}, \"points\": {}, \"values\": {}}}",
                   shortest(result.x), shortest(result.value), shortest(result.x_below),
                   shortest(result.value_below), shortest(result.first_x), result.points,
                   values_json(row, result.x));
}

std::string row_json(const SolveRow& row) {
  std::vector<std::string> cells, points;
  for (const SearchResult& result : row.search.results())
    cells.push_back("      " + cell_json(row, result));
  for (const auto& [x, value] : row.search.samples()) {
    points.push_back(fmt::format("      {{\"x\": {}, \"metric\": {}, \"by_seed\": {}}}",
                                 shortest(x), shortest(value), numbers(row.by_seed.at(x))));
  }
  for (const auto& [x, why] : row.search.failures()) {
    points.push_back(fmt::format("      {{\"x\": {}, \"failed\": {}}}", shortest(x), quoted(why)));
  }
  std::vector<std::string> keys;
  for (const Knob& knob : row.unknown.knobs)
    keys.push_back(knob.pointer);
  return fmt::format(
      "    {{\"protocol\": {}, \"keys\": {}, \"unknown\": \"{}\", \"range\": {},\n"
      "     \"direction\": \"{}\", \"notes\": {},\n"
      "     \"cells\": [\n{}],\n     \"points\": [\n{}]}}",
      quoted(row.protocol), strings(keys), row.unknown.is_factor ? "factor" : "value",
      numbers({row.unknown.low, row.unknown.high}), row.search.rises() ? "rises" : "falls",
      strings(row.search.notes()), fmt::join(cells, ",\n"), fmt::join(points, ",\n"));
}

std::string last_part(const std::string& pointer) {
  return pointer.substr(pointer.rfind('/') + 1);
}

std::string clipped(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 1) + "~";
}

std::string short_number(double value) {
  return fmt::format("{:.8g}", value);
}

bool all_equal(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; });
}

std::string line_of(const SolveRow& row, const SearchResult& result) {
  const std::string name = clipped(row.protocol, 20);
  if (!result.solved) {
    return fmt::format("  {:<20} {:>9} {:>12}\n", name, short_number(result.target), "refused");
  }
  const std::vector<double> values = values_at(row.unknown, result.x);
  const bool factor = row.unknown.is_factor;
  std::string each = shortest(result.x);
  if (factor) each = all_equal(values) ? fmt::format("{:.7g}", values[0]) : "(below)";
  std::string out =
      fmt::format("  {:<20} {:>9} {:>12} {:>10} {:>11} {:>10} {:>11} {:>6}\n", name,
                  short_number(result.target), each, factor ? shortest(result.x) : "-",
                  short_number(result.value), shortest(result.x_below),
                  short_number(result.value_below), result.points);
  if (!factor || all_equal(values)) return out;
  std::vector<std::string> items;
  for (const Setting& setting : settings_at(row.unknown, result.x))
    items.push_back(setting.pointer + "=" + setting.value);
  return out + wrapped("   ", items);
}

std::vector<std::string> notes_of(const SolveReport& report) {
  std::vector<std::string> out = report.notes;
  for (const SolveRow& row : report.rows) {
    for (const std::string& note : row.search.notes())
      out.push_back(row.protocol + ": " + note);
    for (const SearchResult& result : row.search.results()) {
      if (!result.solved || result.first_x == result.x) continue;
      out.push_back(fmt::format("{}, target {}: reached at {} already, but a dip lies between",
                                row.protocol, short_number(result.target),
                                number_of(result.first_x)));
    }
  }
  return out;
}

}  // namespace

std::string solve_table(const SolveReport& report) {
  const std::size_t seeds = report.seeds.size();
  std::string text =
      fmt::format("solve of {}: {}, {}, not trained\n", report.scenario, report.metric,
                  seeds == 1 ? "one seed" : fmt::format("mean of {} seeds", seeds));
  std::vector<std::string> said;
  for (const SolveRow& row : report.rows) {
    std::vector<std::string> keys;
    for (const Knob& knob : row.unknown.knobs)
      keys.push_back(knob.pointer);
    const std::string varied =
        wrapped(row.unknown.is_factor ? "varied, all by one factor:" : "varied:", keys);
    if (std::find(said.begin(), said.end(), varied) != said.end()) continue;
    said.push_back(varied);
    text += varied;
  }
  const std::string key = clipped(last_part(report.rows.front().unknown.knobs.front().pointer), 12);
  text += fmt::format("  {:<20} {:>9} {:>12} {:>10} {:>11} {:>10} {:>11} {:>6}\n", "protocol",
                      "target", key, "factor", "there", "misses at", "there", "points");
  for (const SolveRow& row : report.rows) {
    for (const SearchResult& result : row.search.results())
      text += line_of(row, result);
  }
  std::size_t points = 0;
  for (const SolveRow& row : report.rows)
    points +=
        row.search.samples().size() + row.search.failures().size() + row.search.notes().size();
  text += fmt::format("{} points, {} runs\n", points, report.runs);
  for (const std::string& note : notes_of(report))
    text += wrapped_sentence("note " + note);
  return text;
}

std::string solve_refusals(const SolveReport& report) {
  std::string text;
  for (const SolveRow& row : report.rows) {
    const auto& results = row.search.results();
    for (std::size_t i = 0; i < results.size();) {
      std::string targets = number_of(results[i].target);
      std::size_t next = i + 1;
      for (;
           next < results.size() && !results[i].solved && results[next].reason == results[i].reason;
           ++next) {
        targets += ", " + number_of(results[next].target);
      }
      if (!results[i].solved) {
        text += fmt::format("refused {}, {} {}: {}\n", row.protocol, report.metric, targets,
                            reason_of(row, results[i]));
      }
      i = next;
    }
  }
  return text;
}

std::string solve_json(const SolveReport& report) {
  std::vector<std::string> rows, seeds;
  for (const SolveRow& row : report.rows)
    rows.push_back(row_json(row));
  for (const std::uint64_t seed : report.seeds)
    seeds.push_back(std::to_string(seed));
  return fmt::format(
      "{{\n  \"solve\": {}, \"hash\": {}, \"metric\": {}, \"seeds\": {}, \"runs\": {},\n"
      "  \"notes\": {},\n  \"rows\": [\n{}]\n}}\n",
      quoted(report.scenario), quoted(report.hash), quoted(report.metric), listed(seeds),
      report.runs, strings(report.notes), fmt::join(rows, ",\n"));
}

}  // namespace skerry

// From the values of axes to combinations: grid, zip, random draws, and what is skipped.
#include <algorithm>
#include <set>

#include "sim/base/random.hpp"
#include "sim/scenario/sweep_parts.hpp"
#include "sim/scenario/text.hpp"

namespace skerry::reader {

namespace {

std::vector<std::vector<std::string>> grid(const Reading& r) {
  std::vector<std::vector<std::string>> out{{}};
  for (const SweepAxis& axis : r.sweep.axes) {
    if (out.size() * axis.values.size() > kMaxPoints) {
      r.refuse("/axes", "would give more than " + std::to_string(kMaxPoints) +
                            " combinations, allowed at most that");
    }
    std::vector<std::vector<std::string>> next;
    for (const auto& head : out) {
      for (const std::string& value : axis.values) {
        next.push_back(head);
        next.back().push_back(value);
      }
    }
    out = std::move(next);
  }
  return out;
}

std::vector<std::vector<std::string>> zip(const Reading& r) {
  const SweepAxis& first = r.sweep.axes[0];
  std::vector<std::vector<std::string>> out(first.values.size());
  for (const SweepAxis& axis : r.sweep.axes) {
    if (axis.values.size() != first.values.size()) {
      r.refuse(under("/axes", axis.name), "found " + std::to_string(axis.values.size()) +
                                              " values, but '" + first.name + "' has " +
                                              std::to_string(first.values.size()) +
                                              ", allowed as many on every axis of a zip");
    }
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i].push_back(axis.values[i]);
  }
  std::set<std::vector<std::string>> met;
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::vector<std::string> plain;
    for (const std::string& value : out[i])
      plain.push_back(canonical(Json::parse(value)));
    if (!met.insert(std::move(plain)).second) {
      r.refuse(under("/axes", first.name) + "/values/" + std::to_string(i),
               "gives a combination of values a second time, allowed once");
    }
  }
  return out;
}

// Draw i of an axis is a function of (seed, axis, i): a larger n keeps the first ones.
std::vector<std::vector<std::string>> drawn(Reading& r, std::size_t n, std::uint64_t seed) {
  std::vector<std::vector<std::string>> out;
  std::set<std::vector<std::string>> met;
  std::vector<std::vector<std::string>> used(r.sweep.axes.size());
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<std::string> one;
    for (std::size_t a = 0; a < r.sweep.axes.size(); ++a) {
      const SweepAxis& axis = r.sweep.axes[a];
      RandomStream stream(seed, "sweep." + axis.name, i);
      if (!axis.values.empty()) {
        one.push_back(axis.values[stream.below(axis.values.size())]);
        continue;
      }
      const Json& spec = r.document["axes"][axis.name];
      const bool logarithmic = spec.contains("log_range");
      const Json value = drawn_value(spec[logarithmic ? "log_range" : "range"], logarithmic,
                                     wants_integer(r.places[a][0]), stream.uniform());
      for (const AxisPlace& place : r.places[a])
        checked_value(place, value, r.sweep.label,
                      place_of_value(spec, under("/axes", axis.name), 0));
      one.push_back(value.dump());
      used[a].push_back(one.back());
    }
    if (met.insert(one).second) out.push_back(std::move(one));
  }
  for (std::size_t a = 0; a < used.size(); ++a) {
    if (!used[a].empty()) r.sweep.axes[a].values = used[a];
  }
  return out;
}

}  // namespace

void combine(Reading& r) {
  const Json& design = r.document["design"];
  std::vector<std::vector<std::string>> all;
  if (r.random) {
    all = drawn(r, design["random"].get<std::size_t>(), design["seed"].get<std::uint64_t>());
  } else {
    all = design == "zip" ? zip(r) : grid(r);
  }
  const std::vector<SkipRule> rules =
      skip_rules(r.written.contains("skip") ? r.written["skip"] : Json::array(), r.sweep, r.random);
  const auto listed = [](const std::vector<std::string>& words, const std::string& word) {
    return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
  };
  bool any = false;
  for (std::vector<std::string>& values : all) {
    Combination one;
    std::vector<std::string> plain;
    for (std::size_t a = 0; a < values.size(); ++a) {
      plain.push_back(canonical(Json::parse(values[a])));
      for (const std::string& pointer : r.sweep.axes[a].at)
        one.settings.push_back({pointer, values[a]});
    }
    for (const std::string& row : r.sweep.protocols) {
      const bool skipped = std::any_of(rules.begin(), rules.end(), [&](const SkipRule& rule) {
        bool fits = listed(rule.protocols, row);
        for (std::size_t a = 0; a < plain.size(); ++a)
          fits = fits && listed(rule.values[a], plain[a]);
        return fits;
      });
      one.skipped.push_back(skipped);
      any = any || !skipped;
    }
    one.values = std::move(values);
    r.sweep.combinations.push_back(std::move(one));
  }
  if (!any) r.refuse("/skip", "leaves no point, allowed an entry less");
}

}  // namespace skerry::reader

// Laws of gaps and of times away.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"
#include "sim/scenario/bind_faults.hpp"
#include "sim/scenario/law.hpp"
#include "sim/scenario/parse.hpp"
#include "sim/scenario/text.hpp"
#include "sim/scenario/traces.hpp"

namespace skerry::reader {

namespace {

struct LawWord {
  const char* word;
  LawKind kind;
  std::array<const char*, 2> needs;  // parameters, "" for none
  const char* own_mean;              // key that stands for the mean, "" for none
};

constexpr std::array<LawWord, 7> kLaws{
    {{"exponential", LawKind::kExponential, {"", ""}, ""},
     {"constant", LawKind::kConstant, {"", ""}, ""},
     {"weibull", LawKind::kWeibull, {"shape", ""}, "scale_s"},
     {"exponentiated_weibull", LawKind::kExponentiatedWeibull, {"shape", "power"}, "scale_s"},
     {"lognormal", LawKind::kLognormal, {"sigma", ""}, "median_s"},
     {"gamma", LawKind::kGamma, {"shape", ""}, ""},
     {"empirical", LawKind::kEmpirical, {"unit", ""}, ""}}};

const LawWord& law_word(const std::string& text) {
  return *std::find_if(kLaws.begin(), kLaws.end(),
                       [&](const LawWord& w) { return w.word == text; });
}

// Parameters that the kind needs are there, and no others.
void check_parameters(const Binder& binder, const LawWord& law, const Json& given,
                      const std::string& pointer) {
  for (const std::string need : law.needs) {
    if (need.empty() || given.contains(need)) continue;
    binder.refuse(pointer, "lacks the key '" + need + "', which " + law.word + " needs");
  }
  for (const auto& [key, value] : given.items()) {
    const bool of_any = key == "kind" || key == "about";
    const bool own = key == law.needs[0] || key == law.needs[1] || key == law.own_mean;
    const bool of_values =
        law.kind == LawKind::kEmpirical && (key == "values" || key == "trace" || key == "column");
    if (!of_any && !own && !of_values) {
      binder.refuse(under(pointer, key), std::string("has no meaning for ") + law.word);
    }
  }
}

double seconds_of(const std::string& unit) {
  for (const DurationUnit& known : kDurationUnits) {
    if (known.suffix == "_" + unit) return known.seconds;
  }
  return 1.0;
}

std::vector<double> given_values(Binder& binder, const Json& law, const std::string& pointer) {
  if (law.contains("values") == law.contains("trace")) {
    binder.refuse(pointer, "needs values, or trace and column: one of the two");
  }
  if (law.contains("trace") != law.contains("column")) {
    binder.refuse(pointer, "needs trace and column together");
  }
  if (law.contains("values")) return law["values"].get<std::vector<double>>();
  const std::string path = text_at(law, "trace");
  const std::string text = named_file(binder, path, pointer + "/trace");
  try {
    return number_column(text, path, text_at(law, "column"));
  } catch (const BadInput& error) {
    binder.refuse(pointer + "/trace", error.what());
  }
}

// Sorted, in units of their mean; `mean_s` gets it when it is 0.
void bind_values(Binder& binder, const Json& given, const std::string& pointer, Law& law) {
  std::vector<double> values = given_values(binder, given, pointer);
  std::sort(values.begin(), values.end());
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  const double mean_s = mean * seconds_of(text_at(given, "unit"));
  if (!(mean > 0.0) || !(mean_s <= kLongest_s)) {
    binder.refuse(pointer, "found times with a mean of " + number_text(mean_s) +
                               " s, allowed > 0 and <= " + number_text(kLongest_s));
  }
  for (double& value : values)
    value /= mean;
  if (law.mean_s <= 0.0) law.mean_s = mean_s;
  law.values = std::make_shared<const std::vector<double>>(std::move(values));
}

}  // namespace

bool has_own_mean(const Json* law) {
  return law != nullptr && law->is_object() &&
         (law->contains("scale_s") || law->contains("median_s") ||
          text_at(*law, "kind") == "empirical");
}

Law bind_law(Binder& binder, const Json& object, const std::string& pointer, const char* mean_key) {
  const Json* given = member(object, "law");
  const Json parameters = given != nullptr && given->is_object()
                              ? *given
                              : Json{{"kind", given == nullptr ? Json("exponential") : *given}};
  const LawWord& word = law_word(text_at(parameters, "kind"));
  const std::string place = pointer + "/law";
  check_parameters(binder, word, parameters, place);

  Law law;
  law.kind = word.kind;
  law.shape = number_at(parameters, "shape", number_at(parameters, "sigma", 1.0));
  law.power = number_at(parameters, "power", 1.0);
  law.mean_s = number_at(object, mean_key);
  const std::string shown_mean =
      std::string(mean_key, std::string(mean_key).size() - 2) + "_<unit>";
  if (parameters.contains(word.own_mean)) {
    if (law.mean_s > 0.0) {
      binder.refuse(place, "found " + std::string(word.own_mean) + " and " + mean_key +
                               ", allowed one of them: each gives the mean");
    }
    law.mean_s = number_at(parameters, word.own_mean) * mean_at_scale_one(law);
    if (!(law.mean_s <= kLongest_s)) {
      binder.refuse(place, "gives a mean of " + number_text(law.mean_s) + " s, allowed at most " +
                               number_text(kLongest_s));
    }
  }
  if (law.kind == LawKind::kEmpirical) bind_values(binder, parameters, place, law);
  if (!(law.mean_s > 0.0)) {
    const std::string own(word.own_mean);
    binder.refuse(pointer, "lacks its mean: give " + shown_mean +
                               (own.empty() ? "" : ", or " + own + " in the law"));
  }
  return law;
}

std::string named_file(Binder& binder, const std::string& path, const std::string& pointer) {
  const std::string written = path;
  const std::string whole = absolute_path(binder, written);
  std::string bytes = read_bounded_file(whole, kMaxPlanBytes, binder.label, pointer);
  binder.file_bytes.push_back(bytes);
  binder.name_file(pointer, whole);
  try {
    return unpacked(std::move(bytes), written, kMaxPlanBytes);
  } catch (const BadInput& error) {
    binder.refuse(pointer, error.what());
  }
}

}  // namespace skerry::reader

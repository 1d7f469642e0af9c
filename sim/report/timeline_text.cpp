#include "sim/report/timeline_text.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace skerry {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string micros(double seconds) {
  return shortest(std::round(seconds * 1e9) / 1e3);
}

bool TraceEvents::wanted(double t) {
  events_ += 1;
  if (dates_ != nullptr) dates_->push_back(t);
  return from_ <= t && t < until_;
}

void TraceEvents::keep(double t, const std::string& body) {
  places_.push_back({t, text_.size(), body.size()});
  text_ += body;
}

void TraceEvents::name(int process, int track, const char* what, const std::string& text) {
  if (!wanted(-1.0)) return;
  keep(-1.0, fmt::format(R"("ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}})", what,
                         process, track, quoted(text)));
}

void TraceEvents::arrow(char phase, int process, int track, double t, const std::string& id) {
  if (!wanted(t)) return;
  keep(t, fmt::format(
              R"("ph":"{}","name":"fragment","cat":"sync","id":"{}","pid":{},"tid":{},"ts":{}{})",
              phase, id, process, track, micros(t), phase == 's' ? "" : R"(,"bp":"e")"));
}

void TraceEvents::counter(const std::string& title, const std::string& series, double t,
                          double value) {
  if (!wanted(t)) return;
  keep(t, fmt::format(R"("ph":"C","name":{},"pid":0,"tid":0,"ts":{},"args":{{{}:{}}})",
                      quoted(title), micros(t), quoted(series), shortest(value)));
}

void TraceEvents::write(const TapeSink& sink) {
  std::stable_sort(places_.begin(), places_.end(),
                   [](const Place& a, const Place& b) { return a.t < b.t; });
  std::string part;
  for (const Place& place : places_) {
    part += ",\n{";
    part.append(text_, place.begin, place.length);
    part += '}';
    if (part.size() < 65536) continue;
    sink(part);
    part.clear();
  }
  sink(part);
}

}  // namespace skerry

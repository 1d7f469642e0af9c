// Trace events as text, in order of their dates though they are made in no such order.
#pragma once

#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/report/number_text.hpp"
#include "sim/tape/tape.hpp"

namespace skerry {

std::string quoted(const std::string& text);  // as JSON
std::string micros(double seconds);           // to nanoseconds

// Counts events, notes their dates if asked, and keeps the text of those within its dates. Events
// without a date (names) have −1. Arguments and bodies are functions () → text, called for what is
// kept alone.
class TraceEvents {
 public:
  TraceEvents() = default;  // keeps none
  TraceEvents(double from, double until)
      : from_(from), until_(until) {}  // keeps those of [from, until)

  void note_dates(std::vector<double>* dates) { dates_ = dates; }
  void count(std::size_t more) { events_ += more; }  // without making them
  std::size_t counted() const { return events_; }

  void name(int process, int track, const char* what, const std::string& text);
  template <class Arguments>
  void slice(int process, int track, const std::string& title, double t0, double t1,
             const Arguments& arguments) {
    if (!wanted(t0)) return;
    keep(t0, fmt::format(R"("ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}})",
                         quoted(title), process, track, micros(t0), micros(t1 - t0), arguments()));
  }
  void arrow(char phase, int process, int track, double t, const std::string& id);
  void counter(const std::string& title, const std::string& series, double t, double value);
  template <class Arguments>
  void instant(const std::string& title, double t, const Arguments& arguments) {
    if (!wanted(t)) return;
    keep(t, fmt::format(R"("ph":"i","s":"g","name":{},"pid":0,"tid":0,"ts":{},"args":{{{}}})",
                        quoted(title), micros(t), arguments()));
  }

  void write(const TapeSink& sink);  // what was kept, each event behind a comma

 private:
  struct Place {  // of an event's text
    double t = 0.0;
    std::size_t begin = 0, length = 0;
  };
  bool wanted(double t);
  void keep(double t, const std::string& body);

  double from_ = kNever, until_ = kNever;
  std::vector<double>* dates_ = nullptr;
  std::size_t events_ = 0;
  std::string text_;
  std::vector<Place> places_;
};

}  // namespace skerry

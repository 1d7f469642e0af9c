// The tree of a sweep file. What has no type of its own (the scenario, values of axes, skip) is
// read by sweep.cpp; a placeholder of the type named here stands in its place.
#include "sim/scenario/sweep_parts.hpp"

namespace skerry::reader {

namespace {

constexpr double kMost = 1e12;

NodePtr range_spec(bool logarithmic) {
  std::vector<Field> fields{
      key("from", number(-kMost, kMost), "First value.").required(),
      key("to", number(-kMost, kMost), "Last value; with `step` the last one not above it.")
          .required()};
  if (!logarithmic) {
    fields.push_back(key("step", positive(kMost), "From value to value."));
  }
  fields.push_back(key("count", integer(2, 10000), "How many values, ends too.")
                       .note("needed, but in a random design"));
  return object(std::move(fields), {{"step", "count"}});
}

NodePtr axis_spec() {
  return object(
      {
          key("at", either({path_text(), array_of(path_text(), 1, 64, true)}),
              "Pointers into the scenario; all of them get the value. '*' stands for every name.")
              .required(),
          key("values", array_of(number(0, 0), 1, 10000), "The values, of any JSON type."),
          key("range", range_spec(false), "Evenly spaced numbers."),
          key("log_range", range_spec(true),
              "Numbers in even ratios; whole ones where the key wants an integer."),
      },
      {{"values", "range", "log_range"}});
}

NodePtr until_spec() {
  return object({
      key("metric", free_text(200), "A number of summary.json.").required(),
      key("half_width", positive(kMost), "Of the 95 % interval over seeds (Student t).").required(),
      key("min_seeds", integer(2, 10000), "Before the first look.").defaults(3),
      key("max_seeds", integer(2, 10000), "Where it ends in any case.").required(),
      key("protocol", name_text(), "The row that decides for all rows of a combination.")
          .note("every row decides for itself"),
  });
}

NodePtr table_spec() {
  return object({
      key("rows", array_of(free_text(64), 1, 17, true), "Axes, or \"protocol\"."),
      key("columns", free_text(64), "An axis, or \"protocol\".").note("one column"),
      key("cells", array_of(free_text(200), 1, 32, true), "Numbers of summary.json.")
          .note("tokens_per_s and goodput"),
  });
}

NodePtr make_tree() {
  return object(
      {
          key("skerry", word({"sweep/1"}), "Format of the file.").required(),
          key("scenario", path_text(), "The scenario itself, or its path from this file's folder.")
              .required(),
          key("design",
              either({word({"grid", "zip"}),
                      object({key("random", integer(1, double(kMaxPoints)),
                                  "How many combinations are drawn; more keep the first ones.")
                                  .required(),
                              key("seed", integer(0, kMaxInteger), "Of the draws.").defaults(1)})}),
              "How values of axes are combined: all with all, side by side, or drawn.")
              .defaults("grid"),
          key("axes", map_of(axis_spec(), "AXIS", 16), "What varies.").required(),
          key("skip", array_of(number(0, 0), 1, 1000),
              "What is left out: entries of {\"protocol\": names, AXIS: values}, all of which must "
              "fit."),
          key("seeds",
              either({integer(1, 10000), array_of(integer(0, kMaxInteger), 1, 10000, true)}),
              "As in a scenario.")
              .note("the scenario's"),
          key("until", until_spec(), "Add seeds until an interval is narrow enough."),
          key("table", table_spec(), "The printed table.").defaults(Json::object()),
          key("keep", array_of(word({"tape", "timeline"}), 0, 2, true),
              "Files to keep of every point; a timeline comes with its tape.")
              .defaults(Json::array()),
      },
      {{"seeds", "until"}});
}

}  // namespace

const Node& sweep_spec() {
  static const NodePtr tree = make_tree();
  return *tree;
}

}  // namespace skerry::reader

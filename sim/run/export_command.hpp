// skerry export: a run folder in the formats of other programs.
#pragma once

#include <string>

namespace skerry {

struct ExportCommand {
  std::string run, format;
  std::string
      out;  // openmetrics: a file, empty = stdout; tensorboard: a folder, empty = RUN/tensorboard
};

// openmetrics: one text. tensorboard: an event file a run, OUT/PROTOCOL/seed-N/; prints where they
// are and what has no tape. The same run gives the same bytes. BadInput: no such run, half a run,
// no such format.
int export_command(const ExportCommand& options);

}  // namespace skerry

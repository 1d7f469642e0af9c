// Training, beside bind_training: what a check says of it.
#pragma once

#include "sim/scenario/bind.hpp"

namespace skerry::reader {

void warn_training(Binder& binder);  // settings whose losses would say little

}  // namespace skerry::reader

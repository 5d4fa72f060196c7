// The composition root: builds every part of the coordinator from its options and runs it.
#pragma once

#include <functional>
#include <string_view>

#include "coordinator/server/options.h"

namespace kiln::server {

// Runs until SIGTERM or SIGINT, which this blocks in the calling thread first: call it before there are other
// threads. While PostgreSQL is away at the start, the server answers UNAVAILABLE, waits and says so.
// `reached` is told the points of farm/observers.h.
Status run(const Options& options, std::function<void(std::string_view)> reached);

}  // namespace kiln::server

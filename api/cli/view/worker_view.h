// Workers and their devices in words and as JSON: `kiln workers`.
#pragma once

#include <span>

#include "kiln/v1/worker.pb.h"
#include "manifest/json/json.h"

namespace kiln::cli {

// {"workers":[...]}, each with its "devices".
Json workersJson(std::span<const v1::ListWorkersResponse::Worker> workers);

// A table of the workers, and one of the devices of those that describe any.
void printWorkers(std::span<const v1::ListWorkersResponse::Worker> workers);

}  // namespace kiln::cli

// Workers and their devices in words and as JSON: `kiln workers`.
#pragma once

#include <span>
#include <string>

#include "kiln/v1/worker.pb.h"
#include "manifest/json/json.h"

namespace kiln::cli {

// {"workers":[...]}, each with its "devices".
Json workersJson(std::span<const v1::ListWorkersResponse::Worker> workers);

// "live", "draining", "lost", "held back until 2026-01-01T00:00:00Z".
std::string workerState(const v1::ListWorkersResponse::Worker& worker);

// A table of the workers, and one of the devices of those that describe any.
void printWorkers(std::span<const v1::ListWorkersResponse::Worker> workers);

}  // namespace kiln::cli

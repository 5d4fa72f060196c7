// What a process takes of its host, and what is left of a disk.
#pragma once

#include <string>

#include "storage/telemetry/registry.h"

namespace kiln::telemetry {

// The metrics that Prometheus's own clients have of a process, under their names: process_cpu_seconds_total,
// process_resident_memory_bytes, process_open_fds, process_max_fds, process_start_time_seconds, and
// process_threads. What /proc does not tell stays as it was.
void addProcessMetrics(Registry& registry);

// kiln_disk_free_bytes, as an ordinary user may use them, and kiln_disk_size_bytes of the file system that
// holds `path`, both with the label directory=`name`. They are NaN while it cannot be looked at.
void addDiskMetrics(Registry& registry, const std::string& name, std::string path);

}  // namespace kiln::telemetry

// The processor as a device: what it calls itself, what it executes, and its shape.
#pragma once

#include <string>

#include "kiln/v1/worker.pb.h"

namespace kiln::devices {

inline constexpr char kCpuId[] = "cpu";

// All sockets of this machine as one device, always healthy. Sockets, cores, caches and memory come from
// `root`/sys and `root`/proc (root "" is this machine) and are 0 or left out where those do not say.
v1::Device readCpu(const std::string& root = "");

}  // namespace kiln::devices

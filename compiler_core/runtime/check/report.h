// The report of a check: deterministic verdicts and measured numbers. The JSON form is the predicate of a
// check statement.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "manifest/json/json.h"

namespace kiln::runtime {

struct CheckItem {
  std::string kind;  // "fixture", "golden", "metric", "indices", "limit", "memory"
  std::string name;  // "profile default: probability"
  bool passed = false;
  std::string detail;  // what was found, for people
  // And for policies: "maxAbsolute", "maxRelative" (the largest errors), "accuracy"; for people "rmsRelative"
  // (Comparison::rmsRelative). Finite.
  std::map<std::string, double> measured = {};
};

struct Latency {
  int runs = 0;
  double minimum = 0, median = 0, p90 = 0;  // seconds
};

// A GPU that kernels ran on, as its driver calls it.
struct CheckedDevice {
  std::string api;                // "cuda", "vulkan"
  std::string name, apiVersion;   // "NVIDIA H200", "13.0": the version of the interface that is served
  std::string computeCapability;  // of CUDA: "9.0"
  // Of Vulkan: what it is ("software"), its driver, and the conformance tests that this passed.
  std::string type, driver, conformance;
  std::uint64_t plannedBytes = 0, observedBytes = 0, transferBytes = 0;
  std::uint64_t replayedRuns = 0;
};

struct CheckReport {
  std::vector<CheckItem> items;
  double loadSeconds = 0, warmupSeconds = 0, firstRunSeconds = 0;
  Latency steady;
  std::uint64_t plannedBytes = 0, observedPeakBytes = 0, weightBytes = 0;
  std::uint32_t threads = 0;
  std::string path;       // "cpu:x86-64-v3 profile default"
  std::string processor;  // what the machine calls itself
  std::optional<CheckedDevice> device;
  // That processor's code is translated, or the device is emulated: times and limits say little.
  bool emulated = false;

  bool passed() const;
  // {"passed","items":[{"kind","name","passed","detail","measured"?}],"measured":{...},"device":{...}}; times
  // are decimal strings in seconds, sizes decimal strings in bytes.
  Json toJson() const;
};

}  // namespace kiln::runtime

// What a check found: deterministic verdicts and measured numbers. The JSON form is the predicate of a check
// statement.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "manifest/json/json.h"

namespace kiln::runtime {

struct CheckItem {
  std::string kind;  // "fixture", "golden", "metric", "limit", "memory"
  std::string name;  // "profile default: probability"
  bool passed = false;
  std::string detail;  // what was found, for people
  // And for policies: "maxAbsolute", "maxRelative" (the largest errors), "accuracy". Finite.
  std::map<std::string, double> measured = {};
};

struct Latency {
  int runs = 0;
  double minimum = 0, median = 0, p90 = 0;  // seconds
};

struct CheckReport {
  std::vector<CheckItem> items;
  double loadSeconds = 0, warmupSeconds = 0, firstRunSeconds = 0;
  Latency steady;
  std::uint64_t plannedBytes = 0, observedPeakBytes = 0, weightBytes = 0;
  std::uint32_t threads = 0;
  std::string path;       // "cpu:x86-64-v3 profile default"
  std::string processor;  // what the machine calls itself
  bool emulated = false;  // that processor's code is translated: times and limits say little

  bool passed() const;
  // {"passed","items":[{"kind","name","passed","detail","measured"?}],"measured":{...},"device":{...}}; times
  // are decimal strings in seconds, sizes decimal strings in bytes.
  Json toJson() const;
};

}  // namespace kiln::runtime

// Diagnoses what this host gives a worker and what is missing: `kiln-worker doctor`.
#pragma once

#include <map>
#include <string>

#include "worker/sandbox/probe.h"

namespace kiln::agent {

struct Diagnosis {
  sandbox::Probe probe;
  std::map<std::string, std::string> facts;  // sandbox policy digest, limits in force, kernel, CPU level

  Json toJson() const;
  std::string text() const;
};

// Runs the probe with `sandbox` as slot 0. `fetcher` is the path of kiln-fetcher; its absence is a warning.
Diagnosis diagnose(const sandbox::Sandbox& sandbox, const std::string& fetcher);

}  // namespace kiln::agent

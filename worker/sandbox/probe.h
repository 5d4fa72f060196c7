// Whether this host can run the sandbox, what is missing and how to get it. A worker starts only if usable().
#pragma once

#include <string>
#include <vector>

#include "worker/sandbox/sandbox.h"

namespace kiln::sandbox {

enum class Verdict { kOk, kWarning, kMissing };

struct Check {
  std::string name;  // "bubblewrap", "namespaces", "trial", "memory limit", ...
  Verdict verdict = Verdict::kOk;
  std::string detail;  // what was found
  std::string remedy;  // what to do about it; empty when ok
};

struct Probe {
  std::vector<Check> checks;
  // No check is kMissing.
  bool usable() const;
  Json toJson() const;
  // One line per check, remedies below.
  std::string text() const;
};

// Runs a trial command under `sandbox`, as `slot`.
Probe probe(const Sandbox& sandbox, int slot = 0);

// "bubblewrap 0.8.0" -> true if at least 0.8.0, which brought --disable-userns.
bool recentEnough(const std::string& versionLine);

}  // namespace kiln::sandbox

// The JSON report over a run: totals, by group, by operator and element type, and each case. No times in it,
// so that the same results give the same bytes.
#pragma once

#include <string>
#include <vector>

#include "manifest/json/json.h"
#include "tests/conformance/run_case.h"

namespace kiln::conformance {

struct Reported {
  Case one;
  CaseResult result;
};

// The operator that a case is about: its only node's, or by its name when it is a graph; "" for the expansion
// of a function. The element type is its first input's.
struct About {
  std::string op, dtype;
};
std::vector<About> describe(const std::vector<Case>& cases);

Json makeReport(const std::vector<Reported>& cases, const std::string& how);

// "passed", "failed", "skipped", "notComparable".
const char* outcomeName(Outcome outcome);

// The cases that did not pass although `earlier` (report.json beside support_table.py: counts, and all cases
// but those that passed unpinned) does not list them as refused, failed or random. One line each.
std::vector<std::string> regressions(const std::vector<Reported>& cases, const Json& earlier);

// Compares the counts with `bars`: {"group":{"passed":N,"failed":M}...}: at least N passed, at most M failed.
// One line per bar that does not hold.
std::vector<std::string> missedBars(const Json& report, const Json& bars);

}  // namespace kiln::conformance

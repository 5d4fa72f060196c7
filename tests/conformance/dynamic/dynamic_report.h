// The JSON report over a run with symbolic dimensions. No times in it, so that the same results give the same
// bytes.
#pragma once

#include "tests/conformance/dynamic/dynamic_case.h"
#include "tests/conformance/report.h"

namespace kiln::conformance {

struct DynamicReported {
  Case one;
  DynamicResult result;
};

// {"how", "totals", "operators": {NAME: counts}, "cases": [...]}. Counts are cases: "served" in all that was
// tried, "partly", "refused", "excluded" (nothing to make dynamic), "wrong"; and "runs" and "sameBits".
Json makeReport(const std::vector<DynamicReported>& cases, const std::string& how);

// The cases that are less served than `earlier` has them. One line each.
std::vector<std::string> regressions(const std::vector<DynamicReported>& cases, const Json& earlier);

// What is missing so that every operator of `importer` is served dynamically in a case of `report`, or has
// its reason in `reasons` ({operator: text}); and each reason that nothing needs. One line each.
std::vector<std::string> uncovered(const std::vector<std::string>& importer, const Json& report,
                                   const Json& reasons);

// A result between processes.
std::string encode(const DynamicResult& result);
DynamicResult decode(const std::string& text);

}  // namespace kiln::conformance

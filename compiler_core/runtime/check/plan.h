// The plan of a `kiln check`, besides the artifact's own fixtures: a user's goldens, task metrics with a
// threshold, limits. A JSON document (check.json) beside the .npy files that it names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/runtime/compare/compare.h"
#include "manifest/base/result.h"

namespace kiln::runtime {

// Files by tensor name; paths relative to the plan's directory.
using TensorFiles = std::map<std::string, std::string>;

// One run, compared element by element.
struct Golden {
  std::string name;
  TensorFiles inputs, outputs;
  Tolerance tolerance;
};

// The share of elements of the inputs' leading axis whose prediction (the index of the largest value of
// `output`) is their label.
struct AccuracyMetric {
  std::string name;
  TensorFiles inputs;
  std::string output, labels;
  double threshold = 0;  // passes when the accuracy is at least this
};

// Upper limits; absent ones are not checked.
struct CheckLimits {
  std::optional<double> loadSeconds, warmupSeconds, firstRunSeconds, steadySeconds;  // steady: the median
  std::optional<std::uint64_t> peakBytes;                                            // observed
};

struct CheckPlan {
  std::vector<Golden> goldens;
  std::vector<AccuracyMetric> metrics;
  CheckLimits limits;
  int runs = 20;  // of the first fixture, for the steady latency

  // Every file named, sorted, each once.
  std::vector<std::string> files() const;
};

inline constexpr std::size_t kMaxCheckPlanBytes = 1u << 20;

// {"goldens":[{"name","inputs":{tensor:file},"outputs":{tensor:file},"tolerance":{"rtol","atol"}}],
//  "metrics":[{"name","kind":"accuracy","inputs":{tensor:file},"output","labels":file,"threshold"}],
//  "limits":{"loadSeconds","warmupSeconds","firstRunSeconds","steadySeconds","peakBytes"},"runs":20}
// Every member may be left out but those of an entry; fractions are decimal strings. kInvalidArgument names
// the member: unsafe paths, more than 1000 entries or runs, thresholds outside [0, 1].
Result<CheckPlan> parseCheckPlan(std::string_view json);

}  // namespace kiln::runtime

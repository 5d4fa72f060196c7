// Rules of the partition stage: which target nodes go to, and what may fall back. Part of a CompileSpec. No
// JSON, so that MLIR units can have them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"

namespace kiln {

// `pattern` is a node's name or "op:" and an operator's name ("op:Softmax"); `*` stands for any text.
struct PlacementRule {
  std::string pattern, target;
  bool operator==(const PlacementRule&) const = default;
};

struct PartitionRules {
  std::vector<PlacementRule> affinities;       // the first that matches a node says where it goes
  std::vector<PlacementRule> exclusions;       // nodes that a target must not get
  std::vector<std::string> fallbackOperators;  // that may fall back, sorted; empty: every operator
  std::int64_t fallbackPermille = 1000;        // most of the nodes that may, in thousandths
  bool operator==(const PartitionRules&) const = default;
};

// The rules as options of commands.
struct PartitionOptionTexts {
  std::vector<std::string> affinities, exclusions;  // "PATTERN=TARGET", cut at the last "="
  std::string fallback = "fail";
  std::vector<std::string> fallbackOperators;
  std::int64_t fallbackPermille = 1000;
};
// kInvalidArgument names the option.
Result<PartitionRules> parseRules(const PartitionOptionTexts& texts);

// A node as rules see it; `op` is empty where the node is no operator of the source model.
bool matches(std::string_view pattern, std::string_view node, std::string_view op);

// That rules name only `targets`. kInvalidArgument names the rule.
Status checkRules(const PartitionRules& rules, std::span<const std::string> targets);

}  // namespace kiln

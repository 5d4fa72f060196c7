// Policy: what an artifact must satisfy here. One JSON document, one evaluator, for CLI, gateway and node
// library. Form: manifest/schemas/policy.schema.json; signing/policy/{development,production}.json are two to
// start from.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/json/json.h"
#include "manifest/statement/check_statement.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/reproduction.h"

namespace kiln::signing {

struct Policy {
  std::string name;
  bool allowDevelopment = false;        // a root marked development will do
  std::vector<std::string> builderIds;  // accepted runDetails.builder.id; "*" accepts those of the root
  int minBuilders = 1;                  // workers whose results agreed, those of reproductions among them
  int minOperators = 1;                 // distinct operators among them
  std::vector<std::string> targets;     // accepted targets; "*" accepts any
  std::vector<std::string> toolchains;  // accepted toolchain digests, "sha256:<hex>"; "*" accepts any
  bool requireCheck = false;            // the latest check statement must be one that passed

  Json toJson() const;
  // kInvalidArgument naming the member; unknown members and empty lists are refused.
  static Result<Policy> parse(std::string_view text);
  // Errors name the path.
  static Result<Policy> load(const std::string& path);
};

// What is known about an artifact once its signature holds.
struct PolicyFacts {
  bool developmentRoot = false;
  const Provenance* provenance = nullptr;
  std::span<const CheckStatement> checks = {};
  // Signed by keys that speak for their rebuilder. One of the provenance's own farm adds its worker and
  // operator; any other adds one builder and one operator by its id, whatever names it states. Those of ids
  // that the policy does not accept, or of another action, add nothing.
  std::span<const Reproduction> reproductions = {};
};

// One rule and how it came out: "minBuilders: satisfied by w1 (acme), w2 (acme)" or what is missing.
struct RuleResult {
  bool ok = false;
  std::string rule;
  std::string detail;
};

// Every rule, in a fixed order. The artifact passes if all are ok.
std::vector<RuleResult> evaluate(const Policy& policy, const PolicyFacts& facts);

}  // namespace kiln::signing

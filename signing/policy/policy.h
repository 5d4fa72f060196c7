// Policy: what an artifact must satisfy here. One JSON document; its evaluator is evaluate.h. Form:
// manifest/schemas/policy.schema.json, described in manifest/FORMAT.md;
// signing/policy/{development,production}.json are two to start from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/json/json.h"
#include "manifest/statement/check_statement.h"

namespace kiln::signing {

// Something that the latest check must have compared, and how close it had to be.
struct WantedCheck {
  std::string kind;  // of the report's items: "fixture", "golden", "metric", "indices", "limit", "memory"
  std::string name;  // of a golden or metric; "" for every item of the kind
  std::optional<double> maxAbsolute, maxRelative, minAccuracy;
};

// What an input statement must be about, and who must have signed that. Each list that is not empty must hold
// what the statement states.
struct WantedInput {
  std::vector<std::string> predicateTypes;
  std::vector<std::string> identities;  // issuers or roots go with it: who says so
  std::vector<std::string> issuers;     // OpenID issuers, of keyless signatures
  std::vector<std::string> roots;       // "sha256:" digests of authorities' certificates
  std::vector<std::string> keyIds;
};

// A statement of a third party that must be there.
struct WantedStatement {
  std::string predicateType;
  std::vector<std::string> authors;  // ids of the root's builders; "*" accepts any
  std::vector<std::string> policies =
      {};  // of verification summaries alone: "sha256:" digests of those accepted
  std::optional<WantedInput> input = {};  // of input statements alone
};

struct Policy {
  std::string name;
  bool allowDevelopment = false;        // a root marked development will do
  std::vector<std::string> builderIds;  // accepted runDetails.builder.id; "*" accepts those of the root
  int minBuilders = 1;                  // workers whose results agreed, those of reproductions among them
  int minOperators = 1;                 // distinct operators among them
  std::vector<std::string> targets;     // accepted targets; "*" accepts any
  std::vector<std::string> toolchains;  // accepted toolchain digests, "sha256:<hex>"; "*" accepts any
  bool requireCheck = false;            // the latest check statement must be one that passed
  // Left out where nothing is asked.
  std::vector<std::string> signers = {};           // accepted key ids
  std::string minToolchainVersion = {};            // "0.2.0", by the label that the farm states
  std::optional<int> maxFallbackPermille = {};     // of the graph's nodes
  std::vector<std::string> partitionTargets = {};  // accepted targets of partitions
  std::vector<WantedCheck> checks = {};            // requireCheck goes with it
  bool refuseEmulated =
      false;  // checks on anything but hardware do not count, but for what checkDevices names
  // On what checks count, instead of what refuseEmulated says; sorted, each once.
  std::vector<CheckedOn> checkDevices = {};
  std::vector<WantedStatement> statements = {};
  bool requireLog = false;                               // statements count only with a trusted log's entry
  int minWitnesses = 0;                                  // that cosigned it
  std::optional<std::int64_t> maxAgeSeconds = {};        // since the compile ended
  std::optional<std::int64_t> maxRecallAgeSeconds = {};  // since the newest recalls.json that is known
  int minOwnSandbox = 1;  // of the workers that agreed, those in Kiln's sandbox and not in a cluster's

  // Whether a check on this counts.
  bool counts(CheckedOn on) const;

  Json toJson() const;
  // kInvalidArgument naming the member; unknown members and empty lists are refused.
  static Result<Policy> parse(std::string_view text);
  // Errors name the path.
  static Result<Policy> load(const std::string& path);
};

// A version "1.22.3" as numbers; nothing if it is no list of 1 to 4 numbers.
std::optional<std::vector<std::uint32_t>> parseVersion(std::string_view text);

}  // namespace kiln::signing

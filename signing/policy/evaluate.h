// The evaluator of policies, for CLI, gateway and node library.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "manifest/artifact/manifest.h"
#include "manifest/base/clock.h"
#include "manifest/statement/check_statement.h"
#include "manifest/statement/input_statement.h"
#include "manifest/statement/ir_statement.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/reproduction.h"
#include "manifest/statement/vsa.h"
#include "signing/policy/policy.h"

namespace kiln::signing {

// By whom and where a statement that counts is known.
struct StatementEvidence {
  Digest payload;     // of the statement
  std::string keyId;  // that signed it
  bool logged = false;
  std::set<std::string> witnesses = {};  // that cosigned the log with it
  std::vector<std::string> ids = {};     // whom the key speaks for, where the statement itself does not say
  std::string log = {};                  // the origin of the log that it is in, and its place there
  std::uint64_t logIndex = 0;
};

// A third party's statement about the artifact; what it says is for its readers.
struct Attestation {
  std::string predicateType;
  StatementEvidence evidence;
  std::optional<VerificationSummary> summary = {};  // of a verification summary: it is read
  std::optional<Digest> image = {};                 // of an image statement: the image that it names
  std::optional<IrStatement> ir = {};               // of an IR statement: it is read
  std::optional<SignedInput> input = {};            // of an input statement: who signed what of the model
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
  const StatementEvidence* evidence = nullptr;  // of the provenance; null: unknown, and wanted by no rule
  const Manifest* manifest = nullptr;           // likewise
  std::span<const Attestation> attestations = {};
  TimePoint now{};
  std::optional<TimePoint> recallsIssued = {};  // of the newest recalls.json, unless it has expired
};

// Who made these bytes, by the statements that count; each once.
struct Agreement {
  std::set<std::string> workers;  // "w1 (acme)"; an auditor by its id
  std::set<std::string> own;      // those of them that ran in Kiln's sandbox
  std::set<std::string> operators;
};
Agreement agreementOf(const Policy& policy, const PolicyFacts& facts);

// One rule and how it came out: "minBuilders: satisfied by w1 (acme), w2 (acme)" or what is missing.
struct RuleResult {
  bool ok = false;
  std::string rule;
  std::string detail;
};

// Every rule of the policy, in a fixed order; what it does not ask for is left out. The artifact passes if
// all are ok.
std::vector<RuleResult> evaluate(const Policy& policy, const PolicyFacts& facts);

// Whether a policy counts a statement at all: with a log asked for, only one that is there, with enough
// witnesses.
bool countsStatement(const Policy& policy, const StatementEvidence& evidence);

}  // namespace kiln::signing

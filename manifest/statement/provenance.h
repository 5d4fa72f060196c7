// SLSA Provenance v1 of a compile. The mapping is described in manifest/statement/BUILD_TYPE.md.
// Source: slsa.dev/spec/v1.0/provenance.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/spec/compile_spec.h"
#include "manifest/statement/statement.h"

namespace kiln {

inline constexpr char kCompileBuildType[] = "urn:kiln:build-type:compile:v1";
// The by-product that names the artifact's fixtures.json.
inline constexpr char kFixturesByproduct[] = "fixtures";
// The annotation of receipts and fixtures that names a sandbox that is not Kiln's.
inline constexpr char kSandboxAnnotation[] = "sandbox";
// By-products that name the receipts of builders who left other bytes and were outvoted.
inline constexpr char kDissentByproduct[] = "dissent";

// A ResourceDescriptor: an input or a by-product. Written with the SHA-256 under "digest" and the size as the
// annotation "size".
struct Material {
  std::string name;
  std::string uri;  // "" for none
  Digest digest;
  std::map<std::string, std::string> annotations;  // besides "size"
  bool operator==(const Material&) const = default;
};

// A worker whose result went into the artifact, with the document that proves it (signing/receipt/receipt.h).
struct Builder {
  std::string worker;
  std::string operatorName;
  Digest receipt;
  std::string sandbox = {};  // whose it ran in, by name ("reapi-cluster/1"); "" for Kiln's own
  bool operator==(const Builder&) const = default;
};

struct Provenance {
  // Everything the submitter decided: externalParameters(spec), and where they were given "modelSource" (a
  // git URI that the farm resolved) and "toolchainLabel".
  std::map<std::string, std::string> externalParameters;
  // What the farm decided: "action" (a digest), "sandboxPolicy" (as sandboxPolicyText() makes it),
  // "workerClass". Shares no name with the above.
  std::map<std::string, std::string> internalParameters;
  std::vector<Material> resolvedDependencies;  // dependencies(spec), each possibly with a uri and annotations
  std::string builderId;
  std::map<std::string, std::string> builderVersion;
  std::string invocationId;  // the job
  TimePoint startedOn, finishedOn;
  std::vector<Builder> builders;     // at least one; written as by-products named "receipt"
  std::vector<Material> byproducts;  // the others: "log", "evidence", "dissent", at most one "fixtures"
  bool operator==(const Provenance&) const = default;

  // The fixtures.json that goes with the artifact (manifest/artifact/fixture_list.h); nothing if it has none.
  std::optional<Digest> fixtures() const;
  // Whose sandbox made them, by name; "" for Kiln's own, and where there are none.
  std::string fixturesSandbox() const;

  // The predicate.
  Json toJson() const;
  // kInvalidArgument naming the member. Refuses another build type, unknown members and unknown
  // externalParameters.
  static Result<Provenance> fromJson(const Json& predicate);
};

// The internal parameter "sandboxPolicy" of builders that ran under these policies: normally one digest, else
// all of them in order, joined by ",".
std::string sandboxPolicyText(const std::set<Digest>& policies);

// The external parameters that a spec alone decides; all of them, all strings.
Result<std::map<std::string, std::string>> externalParameters(const CompileSpec& spec);
// The inputs that a spec names: "toolchain", then "input/<path>" for each file, the model first, then
// "input/tuning.json" if it has one.
std::vector<Material> dependencies(const CompileSpec& spec);
// kInvalidArgument unless `provenance` tells of exactly this spec: same parameters, same dependencies by name
// and digest.
Status checkAgainstSpec(const Provenance& provenance, const CompileSpec& spec);

// The statement about one artifact, in canonical JSON: what the signer signs.
Result<std::string> provenanceStatement(const Digest& artifact, const Provenance& provenance);

}  // namespace kiln

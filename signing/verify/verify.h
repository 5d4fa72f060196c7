// Verifies an artifact: every blob, every signature, the provenance and the policy. No farm, no network, no
// index.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/artifact/oci.h"
#include "manifest/base/clock.h"
#include "manifest/statement/check_statement.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/reproduction.h"
#include "manifest/statement/tombstone.h"
#include "signing/policy/evaluate.h"
#include "signing/recall/recalls.h"
#include "signing/trust/trust_root.h"

namespace kiln::signing {

// Hands the bytes of one file of the artifact to `sink` in order; stops with the sink's error. The file's
// digest and size are what is expected, not what may be believed. kNotFound if there is none.
using FileReader = std::function<Status(const ArtifactFile& file, const std::function<Status(Bytes)>& sink)>;

// What lies in fixtures/ beside the artifact.
struct OfferedFixtures {
  std::string list;                // fixtures.json, as it is there
  std::vector<std::string> files;  // the paths of all others, below fixtures/
};

struct VerifyRequest {
  std::string_view artifactJson;     // the OCI image manifest
  std::optional<Digest> artifact;    // wanted, by its hash alone; nullopt accepts any
  FileReader read;                   // config ("manifest.json"), layers, "fixtures/<path>"
  std::vector<std::string> bundles;  // Sigstore bundles, JSON; as many as BundleCount allows
  std::optional<OfferedFixtures> fixtures = {};
  // Takes the files as verified before and looks at Manifest, statements, recalls and policy again.
  bool statementsOnly = false;
};

// What a verifier knows besides its root and policy.
struct Known {
  TimePoint latestSeen{};            // it is not earlier, whatever the clock says
  const Recalls* recalls = nullptr;  // the newest; null for none
};

// How lines about rules of the policy begin.
inline constexpr std::string_view kPolicyLine = "policy ";

// One thing that was checked: "file weights/0000.bin", "bundle 1", "policy minBuilders".
struct VerdictLine {
  bool ok = false;
  std::string check;
  std::string detail;
};

struct Verdict {
  bool passed = false;
  Code failure = Code::kDataLoss;  // of the first line that failed
  Digest artifact;
  std::vector<VerdictLine> lines;
  Manifest manifest;                        // if passed
  std::vector<Provenance> statements;       // signed, trusted and about this artifact
  std::vector<CheckStatement> checks;       // likewise
  std::vector<Reproduction> reproductions;  // likewise, and of this very Manifest
  std::vector<Tombstone> tombstones;        // likewise
  std::vector<Attestation> attestations;    // likewise: summaries, and what third parties say
  std::vector<Digest> counted;              // payloads of all these but the tombstones
  Agreement agreement;                      // that the policy counted, if passed
  std::vector<StatementEvidence> evidence;  // of `statements`, one by one
  TimePoint cosigned{};  // witnesses had seen a log with one of the statements at this time; 0 if none did

  // Ok if passed; otherwise the first line that failed: kDataLoss for bytes or signatures that are wrong,
  // kPermissionDenied for trust or policy. Both end `kiln` with exit code 5.
  Status status() const;

  // The first statement about the artifact's IR; null if none counts.
  const IrStatement* ir() const;
};

// Never fails by itself: whatever is wrong is a line of the verdict. At least one bundle must hold a
// provenance statement of this artifact, signed by a key that the root accepts for its builder at the clock's
// time, that agrees with the manifest and satisfies the policy. A bundle that is malformed, replayed from
// another artifact or badly signed fails the artifact, even beside a good one; one by a key that the root
// does not accept (any more), or whose statement was recalled, is noted and not counted. Check statements,
// reproductions, tombstones and third parties' statements are held to the same and kept apart. Recalled
// content fails the artifact, whoever signed it. Fixtures, if there are any, must be exactly those that a
// counted provenance names.
Verdict verifyArtifact(const VerifyRequest& request, const TrustRoot& root, const Policy& policy,
                       const Clock& clock, const Known& known = {});

// An artifact directory: artifact.json, manifest.json, program.so, weights/, fixtures/,
// bundles/*.sigstore.json.
struct DirectoryRequest {
  std::string directory;
  std::optional<Digest> artifact;  // as in VerifyRequest
  bool statementsOnly = false;     // likewise
};

// The same as verifyArtifact for a directory. Symbolic links and special files are refused.
Verdict verifyDirectory(const DirectoryRequest& wanted, const TrustRoot& root, const Policy& policy,
                        const Clock& clock, const Known& known = {});

// The recalls.json that an artifact directory carries, as it is; "" if it has none.
inline constexpr char kRecallsFile[] = "recalls.json";
Result<std::string> recallsIn(const std::string& directory);

}  // namespace kiln::signing

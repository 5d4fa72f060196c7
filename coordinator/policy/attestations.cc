#include "coordinator/policy/attestations.h"

#include <algorithm>

#include "coordinator/farm/log.h"
#include "coordinator/quota/usage.h"
#include "coordinator/recall/recalls.h"
#include "coordinator/signatures/statement_reader.h"
#include "manifest/artifact/oci.h"
#include "manifest/base/printable.h"
#include "manifest/statement/third_party.h"
#include "signing/bundle/bundle.h"
#include "signing/verify/read_statement.h"
#include "storage/index/artifacts/artifact_repository.h"

namespace kiln::service {
namespace {

struct Read {
  signing::Bundle bundle;
  Digest payload;  // the size is 0
  std::string predicateType;
};

Result<Read> read(const std::string& text) {
  if (text.size() > kMaxAttestationBytes)
    return fail(Code::kInvalidArgument,
                "bundle: at most " + std::to_string(kMaxAttestationBytes) + " bytes are taken");
  Read out;
  KILN_ASSIGN(out.bundle, signing::parseBundle(text));
  KILN_ASSIGN(const Statement statement, parseStatement(out.bundle.envelope.payload));
  if (statement.subjects.size() != 1)
    return fail(Code::kInvalidArgument, "statement: must be about the artifact and nothing else");
  KILN_TRY(checkThirdParty(statement));
  out.predicateType = statement.predicateType;
  out.payload = {digestOf(out.bundle.envelope.payload).hash, 0};
  return out;
}

// The artifact's Manifest, with the digest of its OCI manifest and its own.
struct About {
  Digest artifact, config;
  Manifest manifest;
};

Result<About> find(const Stores& stores, const std::string& instance, const std::string& name) {
  KILN_ASSIGN(const Digest digest, Digest::parse(name, 0));
  std::optional<index::ArtifactRecord> record;
  {
    KILN_ASSIGN(auto connection, stores.database.acquire());
    KILN_ASSIGN(record, index::findArtifact(*connection, instance, digest));
  }
  if (!record) return fail(Code::kNotFound, "no artifact " + digest.text() + " is published here");
  About out{record->digest, record->config, {}};
  KILN_ASSIGN(const std::string text,
              storage::getBlob(stores.blobs, instance, record->config, kMaxOciManifestBytes));
  KILN_ASSIGN(const Json json, parseCanonicalJson(text));
  KILN_ASSIGN(out.manifest, Manifest::fromJson(json));
  return out;
}

// Whether the root lets the key speak for this farm: its signer has it, or had it earlier. What it signed in
// one instance is not for others.
bool isFarmsOwn(const signing::TrustRoot& root, const std::string& builderId, const std::string& keyId) {
  return std::ranges::any_of(root.builders, [&](const signing::TrustedBuilder& builder) {
    return builder.id == builderId && std::ranges::find(builder.keys, keyId) != builder.keys.end();
  });
}

// Whether the statement counts under the root, without the log that it is to enter now.
Status check(const Judging& judging, const signing::TrustRoot& root, const std::string& text,
             const Read& read, const About& about) {
  KILN_ASSIGN(const std::string pem, judging.signatory.signer.publicKeyPem());
  KILN_ASSIGN(const signing::PublicKey own, signing::PublicKey::fromPem(pem));
  if (read.bundle.keyId == own.id() || isFarmsOwn(root, judging.signatory.builder.id, read.bundle.keyId))
    return fail(Code::kPermissionDenied, "signed with this farm's own key, which signs through kiln-signer");
  KILN_ASSIGN(const auto recalls, recallsInForce(judging.recalls));
  const signing::StatementReader reader(root, recalls.get(), judging.stores.clock.now());
  auto counted = reader.read(text, {about.artifact, about.config, about.manifest});
  if (!counted) {
    Error error = counted.error().in("the statement, signed with key " + printable(read.bundle.keyId));
    if (error.code == Code::kPermissionDenied)
      error.message +=
          "; the farm takes what its trust root lists a key for: kiln trust add-key --role signer --id "
          "AUTHOR";
    return fail(std::move(error));
  }
  return {};
}

}  // namespace

Result<index::BundleRecord> addAttestation(const Judging& judging, const InstancePolicies& trust,
                                           LogIntake& log, const OfferedStatement& offered,
                                           const AttestationRoom& room) {
  if (!trust.hasRoot())
    return fail(Code::kFailedPrecondition,
                "this farm takes no statements of others: its coordinator was started without --trust-root");
  const std::string& instance = offered.instance;
  KILN_ASSIGN(const Read statement, read(offered.bundle));
  KILN_ASSIGN(const About about, find(judging.stores, instance, offered.artifact));
  KILN_ASSIGN(const signing::TrustRoot root, trust.root());
  KILN_TRY(check(judging, root, offered.bundle, statement, about));
  {
    KILN_ASSIGN(auto connection, judging.stores.database.acquire());
    KILN_ASSIGN(const auto kept, index::findAttestation(*connection, instance, statement.payload));
    if (kept) return *kept;
    KILN_TRY(index::checkRoom(*connection, instance, about.artifact, offered.bundle.size(), room.kept));
    KILN_TRY(quota::checkLeft(*connection, room.quota, instance, quota::Resource::kLogEntries,
                              judging.stores.clock.now()));
  }
  const signing::PublicKey* key = root.findKey(statement.bundle.keyId);  // check() has found it
  KILN_ASSIGN(const std::string logged, log.takeIn(instance, statement.bundle.envelope, *key));
  index::BundleRecord record{digestOf(statement.bundle.envelope.payload),
                             {},
                             statement.predicateType,
                             "",
                             judging.stores.clock.now()};
  KILN_TRY(keepBundle(judging.stores.blobs, instance, logged, record));
  KILN_TRY(judging.stores.database.transact([&](postgres::Connection& c) {
    return index::insertAttestation(c, instance, about.artifact, record, room.kept);
  }));
  logInfo("statement of a third party kept", {{"instance", instance},
                                              {"artifact", about.artifact.text()},
                                              {"type", record.predicateType},
                                              {"key", statement.bundle.keyId}});
  return record;
}

}  // namespace kiln::service

#include "api/cli/audit/log_prove.h"

#include <fmt/format.h>

#include <array>

#include "api/cli/base/print.h"
#include "api/client/artifact_ref.h"
#include "manifest/base/counted.h"
#include "manifest/statement/statement.h"
#include "signing/log/log_proof.h"
#include "signing/trust/root_logs.h"
#include "signing/trust/trust_store.h"

namespace kiln::cli {
namespace {

constexpr std::uint64_t kMaxBundleBytes = 12u << 20;

struct Proven {
  Digest payload;
  std::string predicateType;
  signing::LogProof proof;
};

Result<std::optional<Proven>> prove(const std::string& text, const signing::TrustRoot& root,
                                    const signing::RootLogs& logs) {
  KILN_ASSIGN(const signing::Bundle bundle, signing::parseBundle(text));
  const signing::PublicKey* key = root.findKey(bundle.keyId);
  if (!key || !bundle.logEntry) return std::optional<Proven>();
  KILN_TRY(signing::verifyEnvelope(bundle.envelope, std::array{*key}));
  KILN_ASSIGN(const Statement statement, parseStatement(bundle.envelope.payload));
  KILN_ASSIGN(signing::LogProof proof, signing::checkLogEntry(bundle, *key, logs.logs(), logs.witnesses()));
  return std::optional(Proven{digestOf(bundle.envelope.payload), statement.predicateType, std::move(proof)});
}

}  // namespace

Status proveArtifact(const Context& context, const std::string& artifact) {
  if (context.trustRoot.empty())
    return fail(Code::kInvalidArgument,
                "no trust root is named; give --trust-root FILE or set KILN_TRUST_ROOT");
  KILN_ASSIGN(const auto store, signing::TrustStore::open(context.trustRoot));
  const signing::RootLogs logs(store.root());
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const node::ArtifactRef ref, client::findArtifact(*client, artifact));
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const Digest& digest : ref.bundles) {
    KILN_ASSIGN(const std::string text,
                storage::getBlob(client->blobs(), client->instance(), digest, kMaxBundleBytes));
    auto proven = prove(text, store.root(), logs);
    if (!proven) return fail(client->unreadable(proven.error().in("bundle " + digest.text())));
    if (!*proven) continue;
    const signing::LogProof& proof = (*proven)->proof;
    list.push_back({{"statement", (*proven)->payload.text()},
                    {"predicateType", (*proven)->predicateType},
                    {"origin", proof.origin},
                    {"index", std::to_string(proof.index)},
                    {"treeSize", std::to_string(proof.treeSize)},
                    {"witnesses", proof.cosigned.size()}});
    rows.push_back({(*proven)->payload.text(), printable(proof.origin), fmt::format("entry {}", proof.index),
                    fmt::format("of {}", proof.treeSize), counted(proof.cosigned.size(), "witness"),
                    printable((*proven)->predicateType)});
  }
  if (list.empty())
    return fail(Code::kNotFound, "no statement about " + artifact + " by a key of the root is in a log");
  if (context.json)
    printJson({{"artifact", ref.artifact.text()}, {"entries", std::move(list)}});
  else
    printTable(rows);
  return {};
}

}  // namespace kiln::cli

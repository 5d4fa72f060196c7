#include "api/audit/artifact_audit.h"

#include <algorithm>

#include "api/audit/page_walk.h"
#include "manifest/artifact/bundle_limit.h"
#include "manifest/artifact/manifest.h"
#include "manifest/artifact/oci.h"
#include "storage/tree/digest_proto.h"
#include "storage/tree/directory.h"

namespace kiln::audit {
namespace {

constexpr std::uint64_t kMaxManifest = 4u << 20, kMaxDirectory = 4u << 20;
constexpr std::size_t kMaxStatements = 16 * kMaxBundles;
constexpr char kTable[] = "artifacts";

using FileRow = std::tuple<std::string, std::string, Digest>;  // path, media type, digest

class ArtifactCheck {
 public:
  ArtifactCheck(const Audit& audit, const v1::IndexedArtifact& row, const KnownToolchains& toolchains)
      : audit_(audit), row_(row), toolchains_(toolchains), name_("sha256:" + row.manifest().hash()) {}

  // The rows that the artifact's own bytes decide.
  Status checkBytes() {
    KILN_ASSIGN(const auto text, read(row_.manifest(), kMaxOciManifestBytes, "its manifest"));
    if (!text) return {};
    const auto oci = parseOciManifest(*text);
    if (!oci) return tampered(kTable, "it is no artifact: " + oci.error().message);
    if (oci->config != fromProto(row_.config()).value_or(Digest{}))
      tampered(kTable, "its config is " + oci->config.text());
    checkFiles(*oci);
    KILN_ASSIGN(const auto config, read(toProto(oci->config), kMaxManifest, "its config"));
    if (!config) return {};
    const auto json = parseCanonicalJson(*config);
    const auto manifest = json ? Manifest::fromJson(*json) : fail(json.error());
    if (!manifest) return tampered(kTable, "its config is no Manifest: " + manifest.error().message);
    checkSpec(manifest->spec);
    spec_ = manifest->spec;
    return {};
  }

  // The rows that its statements decide, once these were read.
  Status checkStatements(const ArtifactStatements& statements) {
    auditInherited(audit_, statements);
    if (statements.provenances.empty()) {
      audit_.report(FindingKind::kMissingStatement, "statements", name_, "no provenance of it holds");
      return {};
    }
    for (const Provenance& provenance : statements.provenances)
      if (spec_ && !checkAgainstSpec(provenance, *spec_))
        audit_.report(FindingKind::kBadSignature, "statements", name_, "a provenance tells of another spec");
    checkActions(statements);
    return checkFixtures(statements);
  }

  const std::string& name() const { return name_; }

 private:
  Status tampered(const char* table, std::string what) {
    audit_.report(FindingKind::kTamperedRow, table, name_, std::move(what));
    return {};
  }
  Result<std::optional<std::string>> read(const reapi::Digest& digest, std::uint64_t limit,
                                          const char* name) {
    return readFor(audit_, fromProto(digest).value_or(Digest{}), limit,
                   {FindingKind::kTamperedRow, kTable, name_, name});
  }

  void checkFiles(const OciManifest& oci) {
    std::vector<FileRow> expected, stored;
    for (const ArtifactFile& layer : oci.layers)
      expected.emplace_back(layer.path, layer.mediaType, layer.digest);
    for (const auto& file : row_.files())
      stored.emplace_back(file.path(), file.media_type(), fromProto(file.digest()).value_or(Digest{}));
    std::sort(expected.begin(), expected.end());
    std::sort(stored.begin(), stored.end());
    if (expected != stored) tampered("artifact_files", "they are not the artifact's layers");
  }

  void checkSpec(const CompileSpec& spec) {
    if (spec.target != row_.target()) tampered(kTable, "its target is " + spec.target);
    if (spec.toolchainDigest.text() != row_.toolchain_digest())
      tampered(kTable, "its toolchain is " + spec.toolchainDigest.text());
    const auto label = toolchains_.labels.find(row_.toolchain_label());
    if (label == toolchains_.labels.end() || label->second.hash != spec.toolchainDigest.hash)
      tampered(kTable, "its toolchain is not called " + row_.toolchain_label());
  }

  void checkActions(const ArtifactStatements& statements) {
    for (const std::string& action : row_.actions()) {
      const bool said = std::ranges::any_of(statements.provenances, [&](const Provenance& provenance) {
        const auto at = provenance.internalParameters.find("action");
        return at != provenance.internalParameters.end() && at->second == action;
      });
      if (!said) tampered("artifact_actions", "no provenance says that " + action + " made it");
    }
  }

  Status checkFixtures(const ArtifactStatements& statements) {
    const auto named = [&](const std::optional<Digest>& list) {
      return std::ranges::any_of(statements.provenances,
                                 [&](const Provenance& provenance) { return provenance.fixtures() == list; });
    };
    if (!row_.has_fixtures())
      return named(std::nullopt) ? Status() : tampered(kTable, "its fixtures are not in the row");
    KILN_ASSIGN(const auto bytes, read(row_.fixtures(), kMaxDirectory, "the tree of its fixtures"));
    if (!bytes) return {};
    const auto tree = storage::parseDirectory(*bytes, 1);
    if (!tree) return tampered(kTable, "its fixtures are no tree: " + tree.error().message);
    const auto list =
        std::ranges::find(tree->files(), "fixtures.json", [](const auto& file) { return file.name(); });
    if (list == tree->files().end() || !named(fromProto(list->digest()).value_or(Digest{})))
      return tampered(kTable, "its fixtures are none that a provenance names");
    return {};
  }

  const Audit& audit_;
  const v1::IndexedArtifact& row_;
  const KnownToolchains& toolchains_;
  const std::string name_;
  std::optional<CompileSpec> spec_;
};

}  // namespace

Status auditArtifact(const Audit& audit, IndexSource& source, const v1::IndexedArtifact& row,
                     const KnownToolchains& toolchains, int pageSize, std::uint64_t& statements) {
  ArtifactCheck check(audit, row, toolchains);
  KILN_TRY(check.checkBytes());
  const Digest artifact = fromProto(row.manifest()).value_or(Digest{});
  ArtifactStatements said;
  v1::ListIndexRequest request;
  request.set_artifact(check.name());
  request.set_page_size(pageSize);
  PageWalk walk("statements about " + check.name());
  std::size_t listed = 0;
  do {
    KILN_ASSIGN(const auto page, source.statements(request));
    for (const v1::IndexedStatement& statement : page.statements()) {
      if (++listed > kMaxStatements)
        return fail(Code::kDataLoss, "the farm lists more than " + std::to_string(kMaxStatements) +
                                         " statements about " + check.name() +
                                         ", which nobody could verify; its operator must look at it");
      KILN_TRY(auditStatement(audit, statement, artifact, toolchains.trees, said));
      ++statements;
    }
    KILN_TRY(walk.check(page.next_page_token(), page.statements_size()));
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return check.checkStatements(said);
}

}  // namespace kiln::audit

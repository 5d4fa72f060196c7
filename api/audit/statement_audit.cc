#include "api/audit/statement_audit.h"

#include <algorithm>

#include "manifest/statement/image_statement.h"
#include "manifest/statement/reproduction.h"
#include "manifest/statement/vsa.h"
#include "storage/tree/digest_proto.h"

namespace kiln::audit {
namespace {

using index::Mention;

// A material as its row has it: kind, name, uri, digest.
using MaterialRow = std::tuple<std::string, std::string, std::string, Digest>;
using BuilderRow = std::pair<std::string, std::string>;

std::string originOf(const Material& material) {
  const auto claimed = material.annotations.find("claimedOrigin");
  return material.uri.empty() && claimed != material.annotations.end() ? claimed->second : material.uri;
}

std::vector<MaterialRow> materialsOf(const Provenance& provenance, const KnownTrees& trees) {
  std::vector<MaterialRow> out;
  for (const Material& material : provenance.resolvedDependencies)
    out.emplace_back(out.empty()       ? "toolchain"
                     : out.size() == 1 ? "model"
                                       : "data",
                     material.name, originOf(material), material.digest);
  if (const auto tree = trees.find({provenance.resolvedDependencies.at(0).digest.hash, 0});
      tree != trees.end())
    for (const index::PartRecord& part : tree->second)
      out.emplace_back("component", part.name + " " + part.path, "", part.digest);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<MaterialRow> materialsIn(const v1::ProvenanceStatement& row, bool components) {
  std::vector<MaterialRow> out;
  for (const auto& material : row.materials())
    if (components || material.kind() != "component")
      out.emplace_back(material.kind(), material.name(), material.uri(),
                       fromProto(material.digest()).value_or(Digest{}));
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<BuilderRow> buildersOf(const Provenance& provenance) {
  std::vector<BuilderRow> out;
  for (const Builder& builder : provenance.builders) out.emplace_back(builder.worker, builder.operatorName);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<BuilderRow> buildersIn(const v1::ProvenanceStatement& row) {
  std::vector<BuilderRow> out;
  for (const auto& builder : row.builders()) out.emplace_back(builder.worker(), builder.operator_());
  std::sort(out.begin(), out.end());
  return out;
}

// But for the submitters: no statement names them, and the farm holds them against its jobs.
std::vector<Mention> mentionsIn(const v1::IndexedStatement& row, bool own) {
  std::vector<Mention> out;
  for (const auto& mention : row.mentions()) {
    Mention added{static_cast<index::MentionKind>(mention.kind()), {}};
    if (mention.own() != own || added.kind == index::MentionKind::kSubmitter) continue;
    if (mention.value().size() == added.value.hash.size())
      std::copy(mention.value().begin(), mention.value().end(), added.value.hash.begin());
    out.push_back(added);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Mention> contentOf(std::vector<Mention> mentions) {
  std::erase_if(mentions, [](const Mention& mention) { return !index::isContent(mention.kind); });
  return mentions;
}

// The rows of one statement.
class StatementCheck {
 public:
  StatementCheck(const Audit& audit, const v1::IndexedStatement& row, const Digest& artifact,
                 const SignedStatement& said, ArtifactStatements& out)
      : audit_(audit), row_(row), artifact_(artifact), said_(said), out_(out) {}

  void run(const KnownTrees& trees) {
    const auto about = artifactOf(said_.statement);
    if (!about || about->hash != artifact_.hash)
      return tampered("statements", "it is about another artifact");
    checkMentions();
    const std::string& type = said_.statement.predicateType;
    if (row_.has_verdict()) checkVerdict(row_.verdict());
    if (type == kProvenanceType) return checkProvenance(trees);
    if (type == kReproductionType) checkReproduction();
    if (!buildersIn(row_.statement()).empty()) tampered("builders", "only a provenance has builders");
    if (row_.statement().materials_size() > 0) tampered("materials", "only a provenance has materials");
    out_.inherited.push_back({payload(), mentionsIn(row_, false)});
  }

 private:
  const std::string& payload() const { return row_.statement().statement().payload(); }
  void tampered(const std::string& table, std::string what) {
    audit_.report(FindingKind::kTamperedRow, table, payload(), std::move(what));
  }

  void checkMentions() {
    const auto signer = index::keyValue(said_.keyId);
    if (row_.statement().key().empty())
      return tampered("statements", "the index has not read it: what it mentions does not lead to it");
    if (row_.statement().key() != said_.keyId) tampered("statements", "it is signed with key " + said_.keyId);
    const auto mentions = signer ? index::mentionsOf(said_.payload, *signer) : fail(signer.error());
    if (!mentions) return tampered("mentions", mentions.error().message);
    if (mentions->all != mentionsIn(row_, true))
      tampered("mentions", "they are not what the statement mentions");
  }

  void checkProvenance(const KnownTrees& trees) {
    auto provenance = Provenance::fromJson(said_.statement.predicate);
    if (!provenance || provenance->resolvedDependencies.empty()) return;  // openStatement() has read it
    if (provenance->invocationId != row_.statement().job())
      tampered("statements", "its job is " + provenance->invocationId);
    checkTime(provenance->finishedOn);
    const bool known = trees.contains({provenance->resolvedDependencies[0].digest.hash, 0});
    if (materialsIn(row_.statement(), known) != materialsOf(*provenance, trees))
      tampered("materials", "they are not what the provenance names");
    if (buildersIn(row_.statement()) != buildersOf(*provenance))
      tampered("builders", "they are not whom the provenance names");
    if (!mentionsIn(row_, false).empty()) tampered("mentions", "a provenance inherits nothing");
    out_.contents.push_back(contentOf(mentionsIn(row_, true)));
    out_.provenances.push_back(std::move(*provenance));
  }

  void checkReproduction() {
    const auto again = Reproduction::fromJson(said_.statement.predicate);
    if (!again) return;
    if (again->invocationId != row_.statement().job())
      tampered("statements", "its job is " + again->invocationId);
    checkTime(again->finishedOn);
  }

  // The newest verdict on an artifact spares signing the same again.
  void checkVerdict(const v1::IndexedVerdict& verdict) {
    const auto summary = said_.statement.predicateType == kVsaType
                             ? VerificationSummary::fromJson(said_.statement.predicate)
                             : fail(Code::kInvalidArgument, "it is of another type");
    if (!summary) return tampered("verdicts", "its statement is no verdict: " + summary.error().message);
    if (verdict.artifact() != Digest{artifact_.hash, 0}.text())
      tampered("verdicts", "its statement is about another artifact");
    if (verdict.passed() != summary->passed())
      tampered("verdicts", summary->passed() ? "the artifact had passed" : "the artifact had failed");
    const auto facts = verdictFacts(*summary);
    if (!facts || verdict.facts() != std::string(facts->hash.begin(), facts->hash.end()))
      tampered("verdicts", "its facts are not what the statement says");
  }

  void checkTime(TimePoint finished) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(finished.time_since_epoch()).count();
    if (row_.statement().statement().recorded().seconds() < seconds)
      tampered("statements", "it was recorded before what it tells of had ended");
  }

  const Audit& audit_;
  const v1::IndexedStatement& row_;
  const Digest& artifact_;
  const SignedStatement& said_;
  ArtifactStatements& out_;
};

}  // namespace

Status auditStatement(const Audit& audit, const v1::IndexedStatement& row, const Digest& artifact,
                      const KnownTrees& trees, ArtifactStatements& out) {
  const auto& statement = row.statement().statement();
  for (const std::string& table : row.inconsistent())
    audit.report(FindingKind::kTamperedRow, table, statement.payload(),
                 "a row names another artifact or time than the statement's own row");
  KILN_ASSIGN(const auto said, openStatement(audit, statement, "statements"));
  if (said) StatementCheck(audit, row, artifact, *said, out).run(trees);
  return {};
}

void auditInherited(const Audit& audit, const ArtifactStatements& statements) {
  if (statements.contents.empty()) return;
  std::vector<Mention> all = statements.contents.front(), any = all;
  for (const auto& content : statements.contents) {
    std::vector<Mention> both, either;
    std::ranges::set_intersection(all, content, std::back_inserter(both));
    std::ranges::set_union(any, content, std::back_inserter(either));
    all = std::move(both);
    any = std::move(either);
  }
  for (const auto& each : statements.inherited)
    if (!std::ranges::includes(each.mentions, all) || !std::ranges::includes(any, each.mentions))
      audit.report(FindingKind::kTamperedRow, "mentions", each.payload,
                   "its artifact's content is not what the provenances say");
}

}  // namespace kiln::audit

#include "storage/index/mention/mention.h"

#include <algorithm>

#include "manifest/spec/target.h"
#include "manifest/statement/check_statement.h"
#include "manifest/statement/image_statement.h"
#include "manifest/statement/ir_statement.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/reproduction.h"

namespace kiln::index {
namespace {

constexpr std::size_t kCommitDigits = 40;

bool isHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

class Collector {
 public:
  void digest(MentionKind kind, const Digest& value) { found_.push_back({kind, {value.hash, 0}}); }
  void text(MentionKind kind, std::string_view value) { digest(kind, textValue(value)); }

  // "git+URL@COMMIT#PATH": the URL itself may hold any of these signs, the commit is the first of its form.
  void source(std::string_view uri) {
    if (uri.empty()) return;
    text(MentionKind::kSource, uri);
    if (!uri.starts_with("git+")) return;
    for (std::size_t at = uri.find('@'); at != std::string_view::npos; at = uri.find('@', at + 1)) {
      const std::string_view commit = uri.substr(at + 1, kCommitDigits);
      const std::string_view rest = uri.substr(at + 1 + commit.size());
      if (commit.size() != kCommitDigits || !isHex(commit) || !rest.starts_with('#')) continue;
      text(MentionKind::kSource, uri.substr(4, at - 4));
      return text(MentionKind::kSource, commit);
    }
  }
  void input(const Material& material) {
    digest(material.name == "toolchain" ? MentionKind::kToolchain : MentionKind::kInput, material.digest);
    source(material.uri);
    if (auto claimed = material.annotations.find("claimedOrigin"); claimed != material.annotations.end())
      source(claimed->second);
  }
  void builder(std::string_view worker, std::string_view operatorName) {
    text(MentionKind::kWorker, worker);
    text(MentionKind::kOperator, operatorName);
  }
  void target(const std::string& name) {
    text(MentionKind::kTarget, name);
    for (const std::string& part : targetNames(name)) text(MentionKind::kTarget, part);
  }

  std::vector<Mention> finish() {
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return std::move(found_);
  }

 private:
  std::vector<Mention> found_;
};

void collect(const Provenance& provenance, Collector& to) {
  for (const Material& material : provenance.resolvedDependencies) to.input(material);
  for (const Builder& builder : provenance.builders) to.builder(builder.worker, builder.operatorName);
  if (auto target = provenance.externalParameters.find("target");
      target != provenance.externalParameters.end())
    to.target(target->second);
}

Status collectPredicate(const Statement& statement, Collector& to) {
  if (statement.predicateType == kProvenanceType) {
    KILN_ASSIGN(const Provenance provenance, Provenance::fromJson(statement.predicate));
    collect(provenance, to);
  } else if (statement.predicateType == kReproductionType) {
    KILN_ASSIGN(const Reproduction again, Reproduction::fromJson(statement.predicate));
    to.builder(again.worker, again.operatorName);
  } else if (statement.predicateType == kIrType) {
    KILN_ASSIGN(const IrStatement ir, IrStatement::fromJson(statement.predicate));
    to.builder(ir.worker, ir.operatorName);
  } else if (statement.predicateType == kCheckType) {
    KILN_ASSIGN(const CheckStatement check, CheckStatement::fromJson(statement.predicate));
    to.builder(check.worker, check.operatorName);
    for (const std::string& text : deviceTexts(check.report)) to.text(MentionKind::kDevice, text);
  }
  return {};
}

}  // namespace

bool isContent(MentionKind kind) {
  return kind == MentionKind::kToolchain || kind == MentionKind::kInput || kind == MentionKind::kSource ||
         kind == MentionKind::kTarget || kind == MentionKind::kSubmitter;
}

std::string termOf(std::string_view instance, const Mention& mention) {
  std::string bytes(reinterpret_cast<const char*>(mention.value.hash.data()), mention.value.hash.size());
  const auto kind = static_cast<unsigned>(mention.kind);
  bytes += {static_cast<char>(kind >> 8), static_cast<char>(kind)};
  return digestOf(bytes.append(instance)).hex().substr(0, 32);
}

std::int64_t statementNumber(const Digest& payload) {
  std::uint64_t out = 0;
  for (int i = 0; i < 8; ++i) out = out << 8 | payload.hash[static_cast<std::size_t>(i)];
  return static_cast<std::int64_t>(out);
}

Digest textValue(std::string_view text) {
  return {digestOf(text).hash, 0};
}

Result<Digest> keyValue(std::string_view keyId) {
  if (auto digest = Digest::parse(keyId, 0); digest && keyId.starts_with("sha256:")) return digest;
  Digest out;
  const auto bytes = fromBase64(keyId);
  if (!bytes || bytes->size() != out.hash.size())
    return fail(Code::kInvalidArgument, "a key id is base64 of 32 bytes, or sha256:<hex> of the public key");
  std::copy(bytes->begin(), bytes->end(), out.hash.begin());
  return out;
}

Result<StatementMentions> mentionsOf(std::string_view statement, const Digest& key) {
  KILN_ASSIGN(const Statement parsed, parseStatement(statement));
  const auto artifact = artifactOf(parsed);
  if (!artifact) return fail(Code::kInvalidArgument, "the statement is not about one artifact");
  StatementMentions out;
  out.artifact = *artifact;
  Collector found;
  found.text(MentionKind::kStatement, "");
  found.digest(MentionKind::kArtifact, out.artifact);
  found.digest(MentionKind::kKey, key);
  KILN_TRY(collectPredicate(parsed, found));
  out.all = found.finish();
  return out;
}

}  // namespace kiln::index

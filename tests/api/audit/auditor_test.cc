// An audit of a real index finds every row that was tampered with; and such a row changes no verdict.

#include <filesystem>

#include "api/node/fetch.h"
#include "signing/bundle/bundle.h"
#include "signing/keys/ed25519.h"
#include "storage/index/toolchains/toolchain_repository.h"
#include "tests/api/audit/audited_farm.h"

namespace kiln::audit {
namespace {

using namespace testing;

TEST_F(AuditedFarm, NothingIsWrongWithAnHonestIndex) {
  for (int pageSize : {1, 100}) {
    const auto findings = audited(pageSize);
    EXPECT_TRUE(findings.empty()) << findings[0].table << " " << findings[0].subject << ": "
                                  << findings[0].what;
    EXPECT_EQ(counts_.artifacts, 2u);
    EXPECT_EQ(counts_.statements, 7u)
        << "three provenances; of each artifact a compile and an image statement";
    EXPECT_EQ(counts_.toolchains, 1u);
  }
}

TEST_F(AuditedFarm, ATamperedRowOfEachTableIsFound) {
  const std::string zero = "'\\x" + std::string(64, '0') + "'";
  const std::string of = " WHERE artifact_hash = " + sqlOf(first_);
  const std::string by = " WHERE payload_hash IN (SELECT payload_hash FROM statements" + of + ")";
  const std::string self = " WHERE hash = " + sqlOf(first_);
  tampered("artifacts", "target = 'cpu:x86-64-v4'", "target = 'cpu:x86-64-v3'");
  tampered("artifacts", "toolchain_label = 'kiln-other'", "toolchain_label = '" + std::string(kLabel) + "'");
  tampered("artifacts", "size = size + 1" + self, "size = size - 1" + self);
  tampered("artifacts", "config_size = config_size + 1" + self, "config_size = config_size - 1" + self);
  tampered("artifacts", "toolchain_hash = " + zero, "toolchain_hash = " + sqlOf(tree_.text()));
  tampered("artifacts", "fixtures_size = fixtures_size + 1", "fixtures_size = fixtures_size - 1");
  tampered("artifact_files", "media_type = media_type || 'x'", "media_type = rtrim(media_type, 'x')");
  tampered("artifact_files", "size = size + 1" + of, "size = size - 1" + of);
  tampered("artifact_actions",
           "artifact_hash = CASE artifact_hash WHEN " + sqlOf(first_) + " THEN " + sqlOf(second_) + " ELSE " +
               sqlOf(first_) + " END",
           "artifact_hash = CASE artifact_hash WHEN " + sqlOf(first_) + " THEN " + sqlOf(second_) + " ELSE " +
               sqlOf(first_) + " END");
  tampered("materials", "uri = 'git+https://innocent'" + of + " AND kind = 'model'", "uri = ''" + of);
  tampered("materials", "size = size + 1" + of + " AND kind = 'component'",
           "size = size - 1" + of + " AND kind = 'component'");
  tampered("builders", "operator = 'op2' WHERE worker = 'w1'", "operator = 'op' WHERE worker = 'w1'");
  tampered("mentions", "recorded = recorded + interval '1 s'" + by,
           "recorded = recorded - interval '1 s'" + by);
  tampered("mentions", "kind = kind + 20" + by, "kind = kind - 20" + by);
  tampered("mentions", "own = NOT own" + by, "own = NOT own" + by);
  tampered("statements", "job_id = job_id || 'x' WHERE job_id <> ''", "job_id = rtrim(job_id, 'x')");
  tampered("statements", "signer = " + zero,
           "signer = " + sqlOf("sha256:" + index::keyValue(key_.publicKey().id())->hex()));
  tampered("statements", "predicate_type = predicate_type || 'x'",
           "predicate_type = rtrim(predicate_type, 'x')");
  tampered("toolchains", "description = description || ' '", "description = rtrim(description)");
  tampered("toolchain_parts", "version = version || 'x'", "version = rtrim(version, 'x')");
}

TEST_F(AuditedFarm, RowsThatAreGoneOrAddedAreFound) {
  const auto lost = [&](const std::string& table, const std::string& where, FindingKind kind,
                        const std::string& named) {
    finds("CREATE TABLE kept AS SELECT * FROM " + table + where +
              "; ALTER TABLE kept DROP COLUMN IF EXISTS term, DROP COLUMN IF EXISTS statement; DELETE FROM " +
              table + where,
          "INSERT INTO " + table + " SELECT * FROM kept; DROP TABLE kept", kind, named);
  };
  lost("mentions", "", FindingKind::kTamperedRow, "mentions");
  lost("mentions", " WHERE kind = 2 AND own", FindingKind::kTamperedRow, "mentions");
  lost("mentions", " WHERE kind = 2 AND NOT own", FindingKind::kTamperedRow, "mentions");
  lost("builders", " WHERE worker = 'w2'", FindingKind::kTamperedRow, "builders");
  lost("materials", " WHERE kind = 'component'", FindingKind::kTamperedRow, "materials");
  lost("artifact_files", "", FindingKind::kTamperedRow, "artifact_files");
  lost("toolchain_parts", " WHERE name = 'libc6'", FindingKind::kTamperedRow, "toolchain_parts");
  lost("statements", " WHERE artifact_hash = " + sqlOf(first_), FindingKind::kMissingStatement, "statements");
  lost("toolchain_admissions", "", FindingKind::kMissingStatement, "toolchain_admissions");
  finds(
      "INSERT INTO builders SELECT instance, payload_hash, artifact_hash, 'w9', 'op9' FROM builders WHERE "
      "worker = 'w1'",
      "DELETE FROM builders WHERE worker = 'w9'", FindingKind::kTamperedRow, "builders");
  finds("UPDATE statements SET signer = NULL",
        "UPDATE statements SET signer = " + sqlOf("sha256:" + index::keyValue(key_.publicKey().id())->hex()),
        FindingKind::kTamperedRow, "statements");
}

// An admission whose key the root has let go is a finding until a later one counts in its place; and then
// still if its row says anything else than it does.
TEST_F(AuditedFarm, AReplacedAdmissionNeedsNoKeyOfTheRoot) {
  const auto toolchain = index::findToolchain(*pool_.acquire().value(), "default", kLabel).value();
  const auto text = storage::getBlob(*blobs_, "default", *toolchain.admission, 1 << 20).value();
  const auto said = signing::parseBundle(text).value();
  const auto real =
      ToolchainAdmission::fromJson(parseStatement(said.envelope.payload).value().predicate).value();
  const auto foreign = signing::PrivateKey::create().value();
  const auto admit = [&](std::chrono::seconds later) {
    ToolchainAdmission other = real;
    other.admittedOn += later;
    const std::string payload = admissionStatement(tree_, other).value();
    const auto envelope = signing::signEnvelope(said.envelope.payloadType, payload, foreign).value();
    const Digest bundle = put(signing::makeBundle(envelope, foreign.publicKey()).value());
    return "INSERT INTO toolchain_admissions SELECT instance, label, locked, lock_hash, lock_size, " +
           sqlOf(digestOf(payload).text()) + ", " + sqlOf(bundle.text()) + ", " +
           std::to_string(bundle.size) + ", admitted + interval '" + std::to_string(later.count()) +
           " s' FROM toolchain_admissions";
  };
  finds(admit(std::chrono::seconds(60)),
        "DELETE FROM toolchain_admissions WHERE admitted > (SELECT min(admitted) FROM toolchain_admissions)",
        FindingKind::kBadSignature, "toolchain_admissions");
  run(admit(std::chrono::seconds(-60)));
  EXPECT_TRUE(audited().empty()) << audited()[0].what;
  const std::string old = " WHERE admitted < (SELECT max(admitted) FROM toolchain_admissions)";
  for (const std::string change :
       {"payload_hash = sha256(payload_hash)", "bundle_hash = sha256(bundle_hash)",
        "bundle_size = bundle_size + 1", "lock_hash = sha256(lock_hash)", "lock_size = lock_size + 1",
        "lock_hash = NULL, lock_size = NULL, locked = false", "admitted = admitted - interval '9 s'"}) {
    run("CREATE TABLE kept AS SELECT * FROM toolchain_admissions; UPDATE toolchain_admissions SET " + change +
        old);
    EXPECT_FALSE(audited().empty()) << change;
    run("DELETE FROM toolchain_admissions; INSERT INTO toolchain_admissions SELECT * FROM kept; DROP TABLE "
        "kept");
  }
  EXPECT_TRUE(audited().empty()) << audited()[0].what;
}

// One that another instance was given is a finding; of one that may be anybody's the label is told.
TEST_F(AuditedFarm, AnAdmissionIsOfItsInstance) {
  EXPECT_TRUE(audited().empty());
  EXPECT_TRUE(withoutInstance_.empty());
  const auto toolchain = index::findToolchain(*pool_.acquire().value(), "default", kLabel).value();
  const auto text = storage::getBlob(*blobs_, "default", *toolchain.admission, 1 << 20).value();
  const auto said = signing::parseBundle(text).value();
  auto admission =
      ToolchainAdmission::fromJson(parseStatement(said.envelope.payload).value().predicate).value();
  EXPECT_EQ(admission.instance, "default");
  const auto admit = [&] {
    const std::string payload = admissionStatement(tree_, admission).value();
    const auto envelope = signing::signEnvelope(said.envelope.payloadType, payload, key_).value();
    const Digest bundle = put(signing::makeBundle(envelope, key_.publicKey()).value());
    run("UPDATE toolchain_admissions SET payload_hash = " + sqlOf(digestOf(payload).text()) +
        ", bundle_hash = " + sqlOf(bundle.text()) + ", bundle_size = " + std::to_string(bundle.size));
  };
  admission.instance.reset();
  admit();
  EXPECT_TRUE(audited().empty()) << audited()[0].what;
  EXPECT_EQ(withoutInstance_, std::vector<std::string>{kLabel});
  admission.instance = "b";
  admit();
  std::string all;
  for (const Finding& finding : audited()) all += finding.table + ": " + finding.what + "\n";
  EXPECT_NE(all.find("toolchain_admissions: "), std::string::npos) << all;
  EXPECT_NE(all.find("another instance"), std::string::npos) << all;
}

TEST_F(AuditedFarm, AStatementUnderAnotherArtifactIsFound) {
  const std::string swap = "UPDATE statements SET artifact_hash = CASE artifact_hash WHEN " + sqlOf(first_) +
                           " THEN " + sqlOf(second_) + " ELSE " + sqlOf(first_) + " END";
  finds(swap, swap, FindingKind::kTamperedRow, "statements");
}

TEST_F(AuditedFarm, AMissingOrForeignBundleIsFound) {
  const auto named = artifact(first_).bundles(0);
  const std::string where =
      " WHERE predicate_type = 'https://slsa.dev/provenance/v1' AND artifact_hash = " + sqlOf(first_);
  const auto lead = [&](const Digest& bundle) {
    return "UPDATE statements SET bundle_hash = " + sqlOf(bundle.text()) +
           ", bundle_size = " + std::to_string(bundle.size) + where;
  };
  const std::string back = lead(fromProto(named).value());
  finds(lead(digestOf(std::string_view("nothing"))), back, FindingKind::kMissingStatement, "statements");
  finds(lead(fromProto(artifact(second_).bundles(0)).value()), back, FindingKind::kTamperedRow, "statements");
  finds(lead(put("{}")), back, FindingKind::kBadSignature, "statements");
  const auto text = storage::getBlob(*blobs_, "default", fromProto(named).value(), 1 << 20).value();
  const auto said = signing::parseBundle(text).value();
  const auto foreign = signing::PrivateKey::create().value();
  const auto envelope =
      signing::signEnvelope(said.envelope.payloadType, said.envelope.payload, foreign).value();
  finds(lead(put(signing::makeBundle(envelope, foreign.publicKey()).value())), back,
        FindingKind::kBadSignature, "statements");
}

TEST_F(AuditedFarm, WithoutALogThatHoldsItASignatureIsUnlogged) {
  root_.logs.push_back({"log.example", signing::Ed25519PrivateKey::create().value().publicKey().der(),
                        root_.keys[0].validFrom, root_.keys[0].validUntil});
  const auto findings = audited();
  EXPECT_EQ(std::ranges::count(findings, FindingKind::kUnloggedSignature, &Finding::kind), 8)
      << "seven statements and an admission";
}

TEST_F(AuditedFarm, ARootThatTrustsSomebodyElseBelievesNothingOfIt) {
  root_ =
      signing::developmentRoot(signing::PrivateKey::create().value().publicKey(), kBuilderId, clock_.now());
  const auto findings = audited();
  EXPECT_EQ(std::ranges::count(findings, FindingKind::kBadSignature, &Finding::kind), 8);
  EXPECT_EQ(std::ranges::count(findings, FindingKind::kMissingStatement, &Finding::kind), 2)
      << "each artifact";
}

// Attack case 24: the index is never the authority.
class AttackCases : public AuditedFarm {
 protected:
  // What a client does that asks the index where things are.
  Result<signing::Verdict> fetched(const std::string& digest, int minBuilders = 1) {
    const v1::Artifact found = artifact(digest);
    node::ArtifactRef ref{
        .instance = "default", .artifact = Digest::parse(digest, 0).value(), .bundles = {}, .fixtures = {}};
    ref.artifact.size = fromProto(found.manifest()).value().size;
    for (const auto& bundle : found.bundles()) ref.bundles.push_back(fromProto(bundle).value());
    const node::Trust trust{.root = root_,
                            .policy = {.name = "test",
                                       .allowDevelopment = true,
                                       .builderIds = {"*"},
                                       .minBuilders = minBuilders,
                                       .targets = {"*"},
                                       .toolchains = {"*"}}};
    const std::string out = directory_ / ("fetched " + std::to_string(++fetches_));
    auto verdict = node::fetchArtifact(*blobs_, ref, out, trust, clock_);
    EXPECT_EQ(std::filesystem::exists(out), verdict.has_value()) << "nothing is left of what was refused";
    return verdict;
  }
  int fetches_ = 0;
};

TEST_F(AttackCases, Case24ATamperedRowChangesNoVerdict) {
  ASSERT_TRUE(fetched(first_, 2)) << fetched(first_, 2).error().message;
  EXPECT_FALSE(fetched(second_, 2)) << "one builder";

  run("INSERT INTO builders SELECT DISTINCT instance, payload_hash, artifact_hash, 'w9', 'op9' FROM "
      "builders");
  EXPECT_FALSE(fetched(second_, 2)) << "a builder that only a row names";

  const auto swap = [&](const std::string& column) {
    return "UPDATE statements SET " + column + " = CASE " + column + " WHEN " + sqlOf(first_) + " THEN " +
           sqlOf(second_) + " ELSE " + sqlOf(first_) + " END";
  };
  run(swap("artifact_hash"));
  auto replayed = fetched(second_);
  ASSERT_FALSE(replayed) << "the other's provenance, with two builders";
  EXPECT_NE(replayed.error().details.find("\"exitCode\":5"), std::string::npos) << replayed.error().details;
  run(swap("artifact_hash"));
  EXPECT_TRUE(fetched(first_, 2));

  run("UPDATE artifacts SET size = size + 1");
  EXPECT_FALSE(fetched(first_)) << "bytes of another size";
  run("UPDATE artifacts SET size = size - 1");
  run("DELETE FROM statements");
  EXPECT_FALSE(fetched(first_)) << "nothing says where it comes from";
}

}  // namespace
}  // namespace kiln::audit

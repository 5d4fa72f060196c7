// An audit walks the log itself: what was signed and is gone from the index is named, and so is a log that is
// not what it has signed.
#include <array>
#include <filesystem>
#include <fstream>

#include "coordinator/policy/promoter.h"
#include "signing/bundle/bundle.h"
#include "signing/keys/files.h"
#include "tests/api/audit/logged_farm.h"

namespace kiln::audit {
namespace {

using namespace testing;
namespace fs = std::filesystem;

class AuditedLog : public LoggedFarm {
 protected:
  // Rows of one column, as text.
  std::vector<std::string> column(const std::string& sql) {
    auto rows = pool_.execute(sql);
    EXPECT_TRUE(rows) << rows.error().message;
    return rows->map([](const postgres::Row& row) { return row.get<std::string>("value"); }).value();
  }
  static bool names(const std::vector<Finding>& findings, FindingKind kind, const std::string& table,
                    const std::string& subject) {
    return std::ranges::any_of(findings, [&](const Finding& finding) {
      return finding.kind == kind && finding.table == table && finding.subject == subject;
    });
  }
  static std::string said(const std::vector<Finding>& findings) {
    std::string out;
    for (const Finding& each : findings)
      out += std::string(findingName(each.kind)) + " in " + each.table + ": " + each.subject + ": " +
             each.what + "\n";
    return out;
  }
  // Takes rows away, looks, and puts them back.
  std::vector<Finding> without(const std::string& table, const std::string& where) {
    run("CREATE TABLE kept AS SELECT * FROM " + table + " WHERE " + where + "; DELETE FROM " + table +
        " WHERE " + where);
    auto findings = audited(100);
    run("INSERT INTO " + table + " OVERRIDING SYSTEM VALUE SELECT * FROM kept; DROP TABLE kept");
    return findings;
  }
  // The newest partial tile below tiles/tile/WHERE: its name is its width.
  fs::path tile(const std::string& where) {
    fs::path out;
    int widest = 0;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(tiles_) / "tile" / where))
      if (const int width = entry.is_regular_file() ? std::atoi(entry.path().filename().c_str()) : 0;
          width > widest) {
        widest = width;
        out = entry.path();
      }
    return out;
  }
};

// Whoever waits for the log is told what the log waits for, until it has grown.
TEST_F(AuditedLog, AWaitThatEndsSaysWhatTheLogWaitsFor) {
  const auto why = [&] {
    return sequenced_.growth()
        .await(std::chrono::milliseconds(0), [] { return Result<std::optional<std::string>>(std::nullopt); })
        .error()
        .message;
  };
  const auto comesToSay = [&](const std::string& part) {
    for (int i = 0; i < 1000; ++i) {
      run("SELECT pg_notify('kiln_log_waiting', '0 of 1 witnesses that are needed cosigned')");
      if (why().find(part) != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_NE(why().find("is kiln-log running?"), std::string::npos) << why();
  EXPECT_TRUE(comesToSay("kiln-log waits: 0 of 1 witnesses")) << why();
}

TEST_F(AuditedLog, NothingIsWrongWithAnHonestFarm) {
  const auto findings = audited();
  EXPECT_TRUE(findings.empty()) << said(findings);
  EXPECT_EQ(counts_.log.entries, counts_.statements + 1) << "each statement, and an admission";
  EXPECT_EQ(counts_.log.foreign, 0u);
  EXPECT_TRUE(checkpoint_.starts_with(kOrigin)) << checkpoint_;
  options_.seenCheckpoint = checkpoint_;
  options_.fromEntry = counts_.log.entries - 1;
  EXPECT_TRUE(audited().empty());
  EXPECT_EQ(counts_.log.entries, 1u) << "from where it was told to begin";
}

TEST_F(AuditedLog, EachDeletedStatementIsNamed) {
  const auto payloads = column("SELECT 'sha256:' || encode(payload_hash, 'hex') AS value FROM statements");
  ASSERT_EQ(payloads.size(), 7u);
  for (const std::string& payload : payloads) {
    const auto findings = without("statements", "payload_hash = " + sqlOf(payload));
    EXPECT_TRUE(names(findings, FindingKind::kMissingStatement, "statements", payload)) << said(findings);
  }
  const auto admission =
      column("SELECT 'sha256:' || encode(payload_hash, 'hex') AS value FROM toolchain_admissions");
  const auto findings = without("toolchain_admissions", "true");
  EXPECT_TRUE(names(findings, FindingKind::kMissingStatement, "toolchain_admissions", admission.at(0)))
      << said(findings);
  EXPECT_TRUE(audited().empty()) << "all is back";
}

// Of verdicts the index keeps the newest: an earlier one is in the log alone, and nothing is missing.
TEST_F(AuditedLog, AVerdictThatWasReplacedIsNotMissing) {
  const std::string root = directory_ / "root.json";
  ASSERT_TRUE(signing::writeTextFile(root, root_.toJson().dump()));
  signing::Policy policy{
      .name = "test", .allowDevelopment = true, .builderIds = {"*"}, .targets = {"*"}, .toolchains = {"*"}};
  const auto judged = [&] {
    const service::InstancePolicies policies(root, {{"default", policy}});
    clock_.advance(std::chrono::hours(1));
    EXPECT_EQ(service::Promoter(farm_.judging, policies).judgeDue().value_or(0), 2u);
    return column(
        "SELECT 'sha256:' || encode(payload_hash, 'hex') AS value FROM statements WHERE predicate_type LIKE "
        "'%verification_summary%'");
  };
  ASSERT_EQ(judged().size(), 2u);
  policy.minBuilders = 2;
  const auto newest = judged();
  ASSERT_EQ(newest.size(), 2u);
  const auto findings = audited();
  EXPECT_TRUE(findings.empty()) << said(findings);
  EXPECT_EQ(counts_.log.entries, counts_.statements + 3) << "an admission, and two verdicts of before";
  const auto lost = without("statements", "payload_hash = " + sqlOf(newest[0]));
  EXPECT_TRUE(names(lost, FindingKind::kMissingStatement, "statements", newest[0])) << said(lost);
}

TEST_F(AuditedLog, AnArtifactThatIsGoneWithAllItsRowsIsNamed) {
  const auto payloads = column(
      "SELECT 'sha256:' || encode(payload_hash, 'hex') AS value FROM statements WHERE "
      "artifact_hash = " +
      sqlOf(second_));
  auto connection = pool_.acquire().value();
  ASSERT_TRUE(connection->executeScript("DELETE FROM artifacts WHERE hash = " + sqlOf(second_)));
  const auto findings = audited();
  EXPECT_EQ(findings.size(), payloads.size()) << said(findings);
  for (const std::string& payload : payloads)
    EXPECT_TRUE(names(findings, FindingKind::kMissingStatement, "statements", payload)) << said(findings);
  EXPECT_NE(said(findings).find(second_), std::string::npos) << "the artifact by its digest";
}

TEST_F(AuditedLog, RowsOfTheSignerThatAreGoneOrExchangedAreNamed) {
  const auto lost = without("signatures", "log_index = 1");
  EXPECT_TRUE(names(lost, FindingKind::kMissingStatement, "signatures", "entry 1")) << said(lost);
  run("ALTER TABLE signatures DROP CONSTRAINT signatures_check1");  // an entry is before its checkpoint's end
  const std::string swap =
      "UPDATE signatures SET log_index = log_index + 100 WHERE log_index IN (1, 2); UPDATE signatures SET "
      "log_index = 103 - log_index WHERE log_index > 100";
  run(swap);
  const auto swapped = audited();
  EXPECT_GE(std::ranges::count(swapped, FindingKind::kTamperedRow, &Finding::kind), 2) << said(swapped);
  EXPECT_NE(said(swapped).find("entry 1 of the log is about another statement"), std::string::npos);
  run(swap);
  run("UPDATE signatures SET payload = NULL, payload_hash = NULL, instance = NULL WHERE log_index = 0");
  EXPECT_TRUE(names(audited(), FindingKind::kMissingStatement, "signatures", "entry 0"));
}

TEST_F(AuditedLog, AnotherSignatureThanTheLogHoldsIsNamed) {
  const Digest bundle = fromProto(artifact(first_).bundles(0)).value();
  const auto real =
      signing::parseBundle(storage::getBlob(*blobs_, "default", bundle, 1 << 20).value()).value();
  const std::string payload = digestOf(real.envelope.payload).text();
  const auto lead = [&](const std::string& text) {
    const Digest to = put(text);
    run("UPDATE statements SET bundle_hash = " + sqlOf(to.text()) +
        ", bundle_size = " + std::to_string(to.size) + " WHERE payload_hash = " + sqlOf(payload));
    return audited();
  };
  const auto unlogged = lead(signing::makeBundle(real.envelope, key_.publicKey()).value());
  EXPECT_TRUE(names(unlogged, FindingKind::kUnloggedSignature, "statements", payload)) << said(unlogged);
  const auto again = signing::signEnvelope(real.envelope.payloadType, real.envelope.payload, key_).value();
  const auto resigned = lead(signing::makeBundle(again, key_.publicKey(), real.logEntry).value());
  EXPECT_TRUE(names(resigned, FindingKind::kBadSignature, "statements", payload)) << said(resigned);
  EXPECT_TRUE(names(resigned, FindingKind::kUnloggedSignature, "statements", payload)) << said(resigned);
}

TEST_F(AuditedLog, DamagedTilesAreNamed) {
  const fs::path entries = tile("entries"), hashes = tile("0");
  const fs::path kept = fs::path(directory_.path()) / "kept";
  const auto truncated = [&](const fs::path& file) {
    fs::copy_file(file, kept, fs::copy_options::overwrite_existing);
    fs::resize_file(file, fs::file_size(file) - 1);
    auto findings = audited();
    fs::copy_file(kept, file, fs::copy_options::overwrite_existing);
    return findings;
  };
  const auto shortened = truncated(entries);
  EXPECT_TRUE(names(shortened, FindingKind::kDamagedLog, "log",
                    "entry 0 to " + std::to_string(counts_.log.entries - 1)))
      << said(shortened);
  const auto unhashed = truncated(hashes);
  EXPECT_TRUE(names(unhashed, FindingKind::kDamagedLog, "log", "checkpoint")) << said(unhashed);
  EXPECT_TRUE(audited().empty());
  fs::remove(entries);
  EXPECT_TRUE(std::ranges::any_of(audited(), [](const Finding& each) {
    return each.kind == FindingKind::kDamagedLog;
  })) << "gone";
}

// The log's own key signs another history than the one that was seen.
TEST_F(AuditedLog, AnotherHistoryIsNamed) {
  ASSERT_TRUE(audited().empty());
  const auto signedTree = [&](std::uint64_t size, std::uint8_t fill) {
    signing::TreeHash root;
    root.fill(fill);
    return signing::signCheckpoint({kOrigin, size, root}, sequenced_.key).value().toString();
  };
  options_.seenCheckpoint = signedTree(counts_.log.entries + 1, 1);
  auto findings = audited();
  EXPECT_TRUE(names(findings, FindingKind::kDamagedLog, "log", "checkpoint")) << said(findings);
  EXPECT_NE(said(findings).find("truncated"), std::string::npos) << said(findings);
  EXPECT_EQ(checkpoint_, "") << "nothing to remember";
  options_.seenCheckpoint = signedTree(2, 1);
  findings = audited();
  EXPECT_NE(said(findings).find("rewritten"), std::string::npos) << said(findings);
}

// Rows about a statement may stay while what it is about is gone.
TEST_F(AuditedLog, AStatementWhoseArtifactOrToolchainHasNoRowIsMissing) {
  const auto artifacts = without("artifacts", "hash = " + sqlOf(second_));
  EXPECT_TRUE(std::ranges::any_of(artifacts, [](const Finding& each) {
    return each.kind == FindingKind::kMissingStatement && each.table == "statements";
  })) << said(artifacts);
  const auto toolchains = without("toolchains", "true");
  EXPECT_TRUE(std::ranges::any_of(toolchains, [](const Finding& each) {
    return each.kind == FindingKind::kMissingStatement && each.table == "toolchain_admissions";
  })) << said(toolchains);
  EXPECT_TRUE(audited().empty()) << "all is back";
}

// A recall that the log holds and the farm lacks, or has in another version, is named; so is recalls.json
// that is none.
TEST_F(AuditedLog, ARecallThatIsGoneIsNamed) {
  const auto key = signing::PrivateKey::create().value();
  root_.recallKeys = signing::RecallKeys{{1, {key.publicKey()}}, 1, 10};
  ASSERT_TRUE(signing::writeTextFile(trustRoot_, root_.toJson().dump()));
  std::optional<signing::Recalls> current;
  for (const char* worker : {"w8", "w9"}) {
    const signing::Recall news{
        signing::RecallKind::kWorker, worker, "bad", clock_.now(), {}, {}, {}, {}, true};
    const auto text = signing::Recalls::issue(current ? &*current : nullptr, news, std::array{key},
                                              clock_.now(), clock_.now() + std::chrono::hours(1000), "");
    auto published = publish(text.value());
    ASSERT_TRUE(published) << published.error().message;
    current = std::move(*published);
  }
  EXPECT_TRUE(audited().empty()) << said(audited());
  EXPECT_EQ(counts_.log.recalls, 2u);
  EXPECT_EQ(counts_.log.foreign, 0u) << "a recall is of no instance";
  const std::string newest = "entry " + std::to_string(counts_.log.entries - 1);
  const auto older = without("recalls", "version = 2");
  ASSERT_EQ(older.size(), 1u) << said(older);
  EXPECT_TRUE(names(older, FindingKind::kMissingStatement, "recalls", newest)) << said(older);
  EXPECT_EQ(without("recalls", "true").size(), 2u);
  run("UPDATE recalls SET document = 'x' || document");
  EXPECT_TRUE(names(audited(), FindingKind::kTamperedRow, "recalls", "recalls.json")) << said(audited());
}

// Rows are looked at whatever became of the checkpoints that cover them; a proof that leads nowhere is named.
TEST_F(AuditedLog, ALostCheckpointHidesNothingElse) {
  const std::string of2 =
      "'checkpoint of ' || tree_size || ' entries' AS value FROM signatures WHERE log_index = 2";
  const std::string covering = column("SELECT " + of2).at(0);
  const std::string payload =
      column("SELECT 'sha256:' || encode(payload_hash, 'hex') AS value FROM signatures WHERE log_index = 2")
          .at(0);
  run("CREATE TABLE lost AS SELECT * FROM log_checkpoints; DELETE FROM log_checkpoints WHERE size = "
      "(SELECT tree_size FROM signatures WHERE log_index = 2)");
  const auto findings = without("statements", "payload_hash = " + sqlOf(payload));
  EXPECT_TRUE(names(findings, FindingKind::kMissingStatement, "log_checkpoints", covering)) << said(findings);
  EXPECT_TRUE(names(findings, FindingKind::kMissingStatement, "statements", payload)) << said(findings);
  run("DELETE FROM log_checkpoints; INSERT INTO log_checkpoints SELECT * FROM lost");
  run("UPDATE signatures SET proof = sha256(proof) WHERE log_index = 2");
  const auto unproven = audited();
  EXPECT_TRUE(names(unproven, FindingKind::kTamperedRow, "signatures", "entry 2")) << said(unproven);
}

// A log that is shown as it was, and then as it is.
class GrowingLog final : public signing::LogSource {
 public:
  GrowingLog(signing::LogSource& log, std::string before) : log_(log), before_(std::move(before)) {}
  const std::string& where() const override { return log_.where(); }
  Result<std::string> read(const signing::TilePath& path) override { return log_.read(path); }
  Result<std::string> checkpoint() override { return asked_++ == 0 ? before_ : log_.checkpoint(); }

 private:
  signing::LogSource& log_;
  const std::string before_;
  int asked_ = 0;
};

TEST_F(AuditedLog, ALogThatGrowsMeanwhileIsNotDamaged) {
  const std::string before = column(
                                 "SELECT note AS value FROM log_checkpoints WHERE size < (SELECT size FROM "
                                 "log) ORDER BY size DESC LIMIT "
                                 "1")
                                 .at(0);
  GrowingLog log(*log_, before);
  options_.log = &log;
  // With a row gone, the farm's answer reaches beyond what is walked.
  const auto findings = without("signatures", "log_index = 1");
  EXPECT_TRUE(names(findings, FindingKind::kMissingStatement, "signatures", "entry 1")) << said(findings);
  EXPECT_TRUE(std::ranges::none_of(findings, [](const Finding& each) {
    return each.kind == FindingKind::kDamagedLog;
  })) << said(findings);
}

// What is of another tenant is counted and not looked at; but that tenant's index must have it.
TEST_F(AuditedLog, EntriesOfOtherInstancesAreCounted) {
  const std::string its = " WHERE payload_hash = (SELECT payload_hash FROM signatures WHERE log_index = 2)";
  run("UPDATE signatures SET instance = 'other' WHERE log_index = 2");
  const auto misplaced = audited();
  EXPECT_TRUE(names(misplaced, FindingKind::kTamperedRow, "signatures", "entry 2"))
      << "the statement is where it was: " << said(misplaced);
  run("CREATE TABLE kept AS SELECT * FROM statements" + its + "; DELETE FROM statements" + its);
  const auto hidden = audited();
  EXPECT_TRUE(names(hidden, FindingKind::kMissingStatement, "signatures", "entry 2")) << said(hidden);
  run("UPDATE kept SET instance = 'other'; INSERT INTO statements SELECT * FROM kept");
  EXPECT_TRUE(names(audited(), FindingKind::kMissingStatement, "signatures", "entry 2"))
      << "a statement about an artifact that the other instance has not";
  run("CREATE TABLE its AS SELECT a.* FROM artifacts a JOIN kept k ON k.artifact_hash = a.hash; UPDATE its "
      "SET instance = 'other'; INSERT INTO artifacts SELECT * FROM its");
  const auto moved = audited();
  EXPECT_FALSE(names(moved, FindingKind::kMissingStatement, "signatures", "entry 2")) << said(moved);
  EXPECT_EQ(counts_.log.foreign, 1u);
  v1::ListLoggedRequest request;
  request.set_from(2);
  request.set_page_size(1);
  FarmSource source(*auditStub_, farm_.recalls);
  const auto page = source.logged(request);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->entries_size(), 1);
  EXPECT_TRUE(page->entries(0).foreign());
  EXPECT_EQ(page->entries(0).payload() + page->entries(0).statement(), "");
}

// A verdict is in the log alone once a later one of its instance replaced it: an instance without one has
// replaced nothing.
TEST_F(AuditedLog, AVerdictIsNotHiddenByAnotherInstancesName) {
  const std::string root = directory_ / "root.json";
  ASSERT_TRUE(signing::writeTextFile(root, root_.toJson().dump()));
  const signing::Policy policy{
      .name = "test", .allowDevelopment = true, .builderIds = {"*"}, .targets = {"*"}, .toolchains = {"*"}};
  const service::InstancePolicies policies(root, {{"default", policy}});
  ASSERT_EQ(service::Promoter(farm_.judging, policies).judgeDue().value_or(0), 2u);
  ASSERT_TRUE(audited().empty());
  const std::string newest = "entry " + std::to_string(counts_.log.entries - 1);
  run("UPDATE signatures SET instance = 'other' WHERE log_index = (SELECT max(log_index) FROM signatures); "
      "DELETE FROM statements WHERE predicate_type LIKE '%verification_summary%' AND payload_hash = (SELECT "
      "payload_hash FROM signatures ORDER BY log_index DESC LIMIT 1); DELETE FROM verdicts");
  const auto hidden = audited();
  EXPECT_TRUE(names(hidden, FindingKind::kMissingStatement, "signatures", newest)) << said(hidden);
}

// The signer's copy of what it signed is held against the log as well, whichever instance it is of.
TEST_F(AuditedLog, ARewrittenPayloadIsNamed) {
  run("UPDATE signatures SET payload = 'x' WHERE log_index = 1");
  const auto findings = audited();
  ASSERT_EQ(findings.size(), 1u) << said(findings);
  EXPECT_TRUE(names(findings, FindingKind::kTamperedRow, "signatures", "entry 1")) << said(findings);
  run("UPDATE signatures SET payload_hash = sha256(payload) WHERE log_index = 1");
  EXPECT_TRUE(names(audited(), FindingKind::kTamperedRow, "signatures", "entry 1")) << "its hash as well";
}

}  // namespace
}  // namespace kiln::audit

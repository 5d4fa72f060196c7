// What a statement mentions finds it: alone, combined, within a window of time, page by page.
#include <algorithm>
#include <set>

#include "manifest/statement/provenance.h"
#include "manifest/statement/reproduction.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/artifacts/mention_repository.h"
#include "storage/index/audit/affected.h"
#include "storage/index/audit/audit_repository.h"
#include "storage/index/toolchains/toolchain_parts.h"
#include "tests/storage/index/index_fixture.h"

namespace kiln::index {
namespace {

using namespace testing;
using postgres::Connection;

Digest named(const std::string& name) {
  return {digestOf(name).hash, 0};
}
Mention text(MentionKind kind, const std::string& value) {
  return {kind, textValue(value)};
}
Mention toolchain(const std::string& name) {
  return {MentionKind::kToolchain, named(name)};
}

class AffectedTest : public ::testing::Test {
 protected:
  Connection connection_ = std::move(*Connection::open(newIndex()));

  void artifact(const std::string& name) {
    ASSERT_TRUE(connection_.execute(
        "INSERT INTO artifacts (instance, hash, size, config_hash, config_size, target, toolchain_label, "
        "toolchain_hash, published) VALUES ('default', $1, 1, $1, 1, 'cpu', 'l', $1, $2) ON CONFLICT DO "
        "NOTHING",
        {Bytes(named("artifact " + name).hash), kStart}));
  }
  // A statement `name` about an artifact, some minutes after the start; returns its payload.
  Digest statement(const std::string& name, const std::string& about, int minute,
                   std::vector<Mention> mentions, const char* type = kProvenanceType) {
    artifact(about);
    BundleRecord bundle{named("payload " + name), named("bundle " + name), type, "j",
                        kStart + std::chrono::minutes(minute)};
    bundle.signer = named("key");
    bundle.mentions = std::move(mentions);
    bundle.mentions.push_back({MentionKind::kStatement, textValue("")});
    Status status = insertStatement(connection_, "default", named("artifact " + about), bundle);
    EXPECT_TRUE(status) << status.error().message;
    return bundle.payload;
  }
  // All pages of `limit`.
  std::vector<Digest> affected(AffectedQuery query, int limit = 50) {
    query.instance = "default";
    std::vector<Digest> out;
    for (int pages = 0; pages < 1000; ++pages) {
      auto page = findAffected(connection_, query, limit);
      EXPECT_TRUE(page) << page.error().message;
      if (!page) break;
      EXPECT_LE(page->entries.size(), static_cast<std::size_t>(limit));
      for (const AffectedRecord& entry : page->entries) out.push_back(entry.statement.payload);
      if (!page->next) return out;
      query.after = page->next;
    }
    ADD_FAILURE() << "the pages do not end";
    return out;
  }
};

TEST_F(AffectedTest, ConditionsAreCombinedNewestFirst) {
  const auto a = statement("a", "a", 1, {toolchain("t1"), text(MentionKind::kWorker, "w1")});
  const auto b = statement("b", "b", 2, {toolchain("t1"), text(MentionKind::kWorker, "w2")});
  const auto c = statement("c", "c", 3, {toolchain("t2"), text(MentionKind::kWorker, "w1")});
  EXPECT_EQ(affected({.all = {{toolchain("t1")}}}), (std::vector{b, a}));
  EXPECT_EQ(affected({.all = {{text(MentionKind::kWorker, "w1")}}}), (std::vector{c, a}));
  EXPECT_EQ(affected({.all = {{toolchain("t1")}, {text(MentionKind::kWorker, "w1")}}}), std::vector{a});
  EXPECT_EQ(affected({.all = {{toolchain("t1"), toolchain("t2")}}}), (std::vector{c, b, a})) << "any of";
  EXPECT_EQ(affected({}), (std::vector{c, b, a})) << "no condition: all";
  EXPECT_TRUE(affected({.all = {{toolchain("t3")}, {text(MentionKind::kWorker, "w1")}}}).empty());
  auto page = findAffected(connection_, {.instance = "other", .all = {{toolchain("t1")}}}, 9);
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->entries.empty()) << "of one instance";
}

TEST_F(AffectedTest, TheWindowHoldsItsBeginAndNotItsEnd) {
  std::vector<Digest> all;
  for (int minute = 0; minute < 5; ++minute)
    all.push_back(statement(std::to_string(minute), "a", minute, {toolchain("t")}));
  const auto at = [](int minute) { return kStart + std::chrono::minutes(minute); };
  EXPECT_EQ(affected({.all = {{toolchain("t")}}, .since = at(1), .until = at(3)}),
            (std::vector{all[2], all[1]}));
  EXPECT_EQ(affected({.since = at(4)}), std::vector{all[4]}) << "a window alone is a question";
  EXPECT_TRUE(affected({.all = {{toolchain("t")}}, .since = at(3), .until = at(3)}).empty());
}

TEST_F(AffectedTest, PagesShareNothingAndMissNothingEvenAtOneMoment) {
  std::set<Digest> wanted;
  for (int i = 0; i < 300; ++i) {
    std::vector<Mention> mentions{toolchain("t"), text(MentionKind::kWorker, "w" + std::to_string(i % 3))};
    const auto payload = statement(std::to_string(i), "a", i / 100, std::move(mentions));
    if (i % 3 == 1) wanted.insert(payload);
  }
  for (int limit : {1, 7, 50, 500}) {
    const auto found = affected({.all = {{toolchain("t")}, {text(MentionKind::kWorker, "w1")}}}, limit);
    EXPECT_EQ(found.size(), wanted.size()) << limit;
    EXPECT_EQ(std::set(found.begin(), found.end()), wanted) << limit;
  }
}

// Both are common, they never meet, and a page looks at so many rows and no more.
TEST_F(AffectedTest, ConditionsThatNeverMeetComeToAnEnd) {
  ASSERT_NO_FATAL_FAILURE(artifact("a"));
  ASSERT_TRUE(
      connection_.execute("INSERT INTO statements SELECT 'default', sha256(i::text::bytea), $1, 't', $1, 1, "
                          "'j', $2::timestamptz + i * interval '1 s', $1 FROM generate_series(1, 20000) i",
                          {Bytes(named("artifact a").hash), kStart}));
  ASSERT_TRUE(
      connection_.execute("INSERT INTO mentions SELECT 'default', CASE i % 2 WHEN 0 THEN 2 ELSE 6 END, CASE "
                          "i % 2 WHEN 0 THEN $1 ELSE $2 "
                          "END, true, $3::timestamptz + i * interval '1 s', sha256(i::text::bytea) FROM "
                          "generate_series(1, 20000) i",
                          {Bytes(named("t").hash), Bytes(textValue("w").hash), kStart}));
  AffectedQuery query{.instance = "default", .all = {{toolchain("t")}, {text(MentionKind::kWorker, "w")}}};
  auto page = findAffected(connection_, query, 50);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_TRUE(page->entries.empty());
  EXPECT_TRUE(page->next) << "there is more to look at";
  EXPECT_TRUE(affected(query).empty());
  query.since = kStart + std::chrono::seconds(20'001);
  EXPECT_FALSE(findAffected(connection_, query, 50)->next)
      << "outside the time of both there is nothing to look at";
}

TEST_F(AffectedTest, TheSchemaComputesTermsAsTheProgramDoes) {
  for (const char* instance : {"default", "", "a\\b", "\xc3\xa4"})
    for (const MentionKind kind : {MentionKind::kStatement, MentionKind::kDevice}) {
      const Mention mention{kind, named("value")};
      auto rows = connection_.execute(
          "SELECT replace(mention_term($1, $2::smallint, $3)::text, '-', '') AS term, statement_number($3) "
          "AS "
          "number",
          {instance, static_cast<int>(kind), Bytes(mention.value.hash)});
      ASSERT_TRUE(rows) << rows.error().message;
      EXPECT_EQ((*rows)[0].get<std::string>("term"), termOf(instance, mention)) << instance;
      EXPECT_EQ((*rows)[0].get<std::int64_t>("number"), statementNumber(mention.value));
    }
}

// One list is where the other has nothing, for a long stretch in the middle: it is skipped.
TEST_F(AffectedTest, WhereOneConditionHasNothingIsSkipped) {
  const auto a = statement("a", "a", 0, {toolchain("t"), text(MentionKind::kWorker, "w")});
  ASSERT_TRUE(
      connection_.execute("INSERT INTO statements SELECT 'default', sha256(i::text::bytea), $1, 't', $1, 1, "
                          "'j', $2::timestamptz + i "
                          "* interval '1 s', $1 FROM generate_series(100, 30000) i",
                          {Bytes(named("artifact a").hash), kStart}));
  ASSERT_TRUE(connection_.execute(
      "INSERT INTO mentions SELECT 'default', CASE WHEN i BETWEEN 15000 AND 25000 THEN 6 ELSE 2 END, CASE "
      "WHEN i "
      "BETWEEN 15000 AND 25000 THEN $1 ELSE $2 END, true, $3::timestamptz + i * interval '1 s', "
      "sha256(i::text::bytea) FROM generate_series(100, 30000) i",
      {Bytes(textValue("w").hash), Bytes(named("t").hash), kStart}));
  const AffectedQuery query{.instance = "default",
                            .all = {{toolchain("t")}, {text(MentionKind::kWorker, "w")}}};
  const auto page = findAffected(connection_, query, 50);
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->entries.size(), 1u) << "on the first page";
  EXPECT_EQ(page->entries[0].statement.payload, a);
}

TEST_F(AffectedTest, ContentIsFoundByItsProvenanceAndWhoByTheirOwnStatements) {
  const auto built = statement("built", "a", 1, {toolchain("t"), text(MentionKind::kWorker, "w1")});
  const auto again = statement("again", "a", 2, {text(MentionKind::kWorker, "w2")}, kReproductionType);
  EXPECT_EQ(affected({.all = {{toolchain("t")}}}), std::vector{built}) << "once: the one that says so";
  EXPECT_EQ(affected({.all = {{text(MentionKind::kWorker, "w2")}}}), std::vector{again});
  EXPECT_EQ(affected({.all = {{toolchain("t")}, {text(MentionKind::kWorker, "w2")}}}), std::vector{again})
      << "what w2 did to anything made with t";
}

TEST_F(AffectedTest, StatementsAreUnreadUntilTheirMentionsAreThere) {
  artifact("a");
  BundleRecord bundle{named("p"), named("b"), kProvenanceType, "j", kStart};
  ASSERT_TRUE(insertStatement(connection_, "default", named("artifact a"), bundle));
  EXPECT_EQ(*countUnread(connection_, "default", 10), 1u);
  auto unread = *listUnread(connection_, true, nullptr, 10);
  ASSERT_EQ(unread.size(), 1u);
  EXPECT_TRUE(listUnread(connection_, true, &unread[0], 10)->empty());
  EXPECT_TRUE(listUnread(connection_, false, nullptr, 10)->empty());
  unread[0].bundle.signer = named("key");
  unread[0].bundle.mentions = {toolchain("t")};
  for (int twice = 0; twice < 2; ++twice)
    ASSERT_TRUE(insertMentions(connection_, "default", unread[0].bundle));
  EXPECT_EQ(*countUnread(connection_, "default", 10), 0u);
  const auto stored = *listStatementsOf(connection_, "default", named("artifact a"), {}, 10);
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].bundle.signer, named("key"));
  EXPECT_EQ(stored[0].bundle.mentions, std::vector{toolchain("t")});
}

TEST_F(AffectedTest, APartIsFoundByDigestNameAndVersion) {
  const std::vector<PartRecord> parts{{"component", "ptxas", "13.0.88", "bin/ptxas", named("ptxas")},
                                      {"package", "libc6", "2.36-9", "", named("libc")}};
  for (const char* tree : {"tree 1", "tree 2"})
    ASSERT_TRUE(insertParts(connection_, "default", named(tree), parts));
  ASSERT_TRUE(insertParts(connection_, "default", named("tree 3"),
                          {{"component", "ptxas", "12.9", "bin/ptxas", named("old ptxas")}}));
  const auto trees = [&](const std::string& part, int limit = 10) {
    return treesWithPart(connection_, "default", part, limit)->size();
  };
  EXPECT_EQ(trees(named("ptxas").text()), 2u);
  EXPECT_EQ(trees("ptxas@13.0.88"), 2u);
  EXPECT_EQ(trees("ptxas@12.9"), 1u);
  EXPECT_EQ(trees("ptxas"), 3u);
  EXPECT_EQ(trees("libc6@2.36-9"), 2u);
  EXPECT_EQ(trees("ptxas@"), 0u);
  EXPECT_EQ(trees("ptxas", 2), 3u) << "one more than the limit, so that the caller can tell";
  auto listed = *listParts(connection_, "default", named("tree 1"));
  EXPECT_EQ(listed, parts);
}

}  // namespace
}  // namespace kiln::index

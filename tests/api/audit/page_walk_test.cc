// An audit of a farm whose lists have no end.
#include "api/audit/page_walk.h"

#include <gtest/gtest.h>

#include "api/audit/auditor.h"
#include "signing/keys/keys.h"
#include "signing/trust/trust_root.h"
#include "tests/support/memory_blob_store.h"

namespace kiln::audit {
namespace {

TEST(PageWalk, LetsListsEndThatGoOn) {
  PageWalk walk("things");
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(walk.check("page " + std::to_string(i), 1)) << i;
  EXPECT_TRUE(walk.check("", 0));
}

TEST(PageWalk, EndsInACircleHoweverLong) {
  for (const int length : {1, 2, 7, 1000}) {
    PageWalk walk("things");
    Status status;
    int pages = 0;
    for (; status && pages < 10 * length; ++pages) status = walk.check(std::to_string(pages % length), 1);
    ASSERT_FALSE(status) << length;
    EXPECT_EQ(status.error().code, Code::kDataLoss);
    EXPECT_LE(pages, 4 * length);
  }
}

TEST(PageWalk, EndsWhereNothingComesAnyMore) {
  PageWalk walk("things", 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(walk.check("a" + std::to_string(i), 0));
  EXPECT_TRUE(walk.check("b", 1));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(walk.check("c" + std::to_string(i), 0));
  EXPECT_FALSE(walk.check("d", 0));
}

// Each list says that there is more: never with an entry, or with one and the same, or with ever new ones.
class EndlessIndex final : public IndexSource {
 public:
  std::string endless;  // the list
  bool withEntries = false;

  Result<v1::ListIndexedArtifactsResponse> artifacts(const v1::ListIndexRequest&) override {
    v1::ListIndexedArtifactsResponse out;
    if (endless == "statements" || (endless == "artifacts" && withEntries))
      out.add_artifacts()->mutable_manifest()->set_hash(std::string(64, 'a'));
    if (endless == "artifacts") out.set_next_page_token(fresh());
    return out;
  }
  Result<v1::ListIndexedStatementsResponse> statements(const v1::ListIndexRequest&) override {
    v1::ListIndexedStatementsResponse out;
    if (endless != "statements") return out;
    if (withEntries) out.add_statements();
    out.set_next_page_token(fresh());
    return out;
  }
  Result<v1::ListIndexedToolchainsResponse> toolchains(const v1::ListIndexRequest&) override {
    v1::ListIndexedToolchainsResponse out;
    if (endless != "toolchains") return out;
    out.set_next_page_token(fresh());
    if (!withEntries) return out;
    auto& row = *out.add_toolchains();
    row.set_label(std::string(9 - out.next_page_token().size(), '0') + out.next_page_token());
    row.set_description_json(std::string(4 << 20, 'x'));
    return out;
  }
  Result<v1::ListIndexedTuningResponse> tuning(const v1::ListIndexRequest&) override {
    v1::ListIndexedTuningResponse out;
    if (endless == "tuning") out.set_next_page_token(fresh());
    if (endless == "tuning" && withEntries)
      out.add_records()->mutable_record()->set_hash(std::string(64, 'a'));
    return out;
  }
  Result<v1::ListLoggedResponse> logged(const v1::ListLoggedRequest&) override {
    return v1::ListLoggedResponse();
  }
  Result<std::string> recalls() override { return std::string(); }

 private:
  std::string fresh() { return std::to_string(++pages_); }
  int pages_ = 0;
};

TEST(EndlessLists, EachEndsTheAudit) {
  const signing::TrustRoot root = signing::developmentRoot(signing::PrivateKey::create().value().publicKey(),
                                                           "urn:kiln:test", SystemClock().now());
  testing_support::MemoryBlobStore store;
  const BlobReader blobs(store, "default");
  for (const std::string list : {"artifacts", "statements", "toolchains", "tuning"}) {
    for (const bool withEntries : {false, true}) {
      EndlessIndex index;
      index.endless = list;
      index.withEntries = withEntries;
      AuditOptions options;
      options.found = [](const Finding&) {};
      const auto audited = auditIndex(index, blobs, root, SystemClock().now(), options);
      ASSERT_FALSE(audited) << list;
      EXPECT_EQ(audited.error().code, Code::kDataLoss) << list << ": " << audited.error().message;
      EXPECT_NE(audited.error().message.find("its operator must look at it"), std::string::npos)
          << audited.error().message;
    }
  }
}

}  // namespace
}  // namespace kiln::audit

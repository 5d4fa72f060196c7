// What the instance's policy refuses, or what was recalled, does not leave over HTTP.
#include "coordinator/web/releases.h"

#include "coordinator/recall/recalls.h"
#include "coordinator/web/published_blobs.h"
#include "signing/keys/files.h"
#include "tests/api/gateway/http.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::server {
namespace {

using service::testing::FarmTest;

class ReleasesTest : public FarmTest {
 protected:
  ReleasesTest() {
    EXPECT_TRUE(addToolchain(putToolchain()).ok());
    signing::TrustRoot root =
        signing::developmentRoot(key_.publicKey(), service::testing::kBuilderId, clock_.now());
    root.recallKeys = signing::RecallKeys{{1, {recallKey_.publicKey()}}, 1, 10};
    EXPECT_TRUE(signing::writeTextFile(trustRoot_, root.toJson().dump()));
    auto one = worker("w1");
    const v1::Job job = submitted(request("first"));
    settle(job.id(), {one.get()});
    artifact_ = Digest::parse(get(job.id()).artifacts(0).digest(), 0).value();
  }
  ~ReleasesTest() override {
    if (web_) web_->stop();
  }
  static signing::Policy policy() {
    return {
        .name = "test", .allowDevelopment = true, .builderIds = {"*"}, .targets = {"*"}, .toolchains = {"*"}};
  }
  void serve(std::map<std::string, signing::Policy> policies) {
    policies_.emplace(trustRoot_, std::move(policies));
    releases_ = std::make_shared<Releases>(farm_.judging, *policies_);
    web_ =
        gateway::Gateway::start({}, {.artifacts = std::make_shared<PublishedBlobs>(pool_),
                                     .blobs = std::shared_ptr<storage::BlobStore>(blobs_.get(), [](auto*) {}),
                                     .metrics = registry_,
                                     .health = [] { return Status(); },
                                     .release = releases_})
            .value();
  }
  testing_support::HttpReply pull(const std::string& what) const {
    return testing_support::httpGet("http://127.0.0.1:" + std::to_string(web_->port()) +
                                        "/v2/default/artifacts/" + what + artifact_.text(),
                                    {});
  }
  void recall(signing::RecallKind kind, const std::string& what) {
    const bool lift = kind == signing::RecallKind::kLift;
    const signing::Recall entry{kind, what, "bad", clock_.now(), {}, {}, {}, {}, !lift};
    const auto text = signing::Recalls::issue(recalls_ ? &*recalls_ : nullptr, entry, std::array{recallKey_},
                                              clock_.now(), clock_.now() + std::chrono::days(7), "")
                          .value();
    auto published = putInForce({trustRoot_}, text);
    ASSERT_TRUE(published) << published.error().message;
    recalls_ = std::move(*published);
  }

  const std::string trustRoot_ = directory_ / "root.json";
  const signing::PrivateKey recallKey_ = signing::PrivateKey::create().value();
  std::optional<signing::Recalls> recalls_;
  std::optional<service::InstancePolicies> policies_;
  std::shared_ptr<Releases> releases_;
  std::unique_ptr<gateway::Gateway> web_;
  Digest artifact_;
};

TEST_F(ReleasesTest, WhatThePolicyAcceptsGoesOut) {
  serve({{"default", policy()}});
  for (const char* what : {"manifests/", "blobs/", "referrers/"}) EXPECT_EQ(pull(what).status, 200) << what;
  EXPECT_EQ(releases_->check("default", digestOf("nothing")).error().code, Code::kNotFound);
  EXPECT_TRUE(releases_->check("other", artifact_)) << "has no policy, and nothing is recalled";
}

TEST_F(ReleasesTest, WhatThePolicyRefusesDoesNotAndTheRulesAreNamed) {
  signing::Policy strict = policy();
  strict.name = "production";
  strict.minBuilders = 2;
  strict.requireCheck = true;
  serve({{"default", strict}});
  for (const char* what : {"manifests/", "blobs/", "referrers/"}) {
    const auto reply = pull(what);
    EXPECT_EQ(reply.status, 403) << what;
    for (const char* named : {"DENIED", "production", "minBuilders", "requireCheck"})
      EXPECT_NE(reply.body.find(named), std::string::npos) << reply.body;
    EXPECT_EQ(reply.body.find("allowDevelopment"), std::string::npos) << "what is satisfied is not listed";
  }
}

TEST_F(ReleasesTest, ARecallIsToldAndALiftRestores) {
  for (bool withPolicy : {true, false}) {
    clock_.advance(std::chrono::minutes(1));  // no recall is there twice
    if (web_) web_->stop();
    serve(withPolicy ? std::map<std::string, signing::Policy>{{"default", policy()}}
                     : std::map<std::string, signing::Policy>{});
    EXPECT_EQ(pull("manifests/").status, 200);
    recall(signing::RecallKind::kToolchain, putToolchain().text());
    const auto reply = pull("manifests/");
    EXPECT_EQ(reply.status, 403);
    EXPECT_NE(reply.body.find("bad (toolchain sha256:"), std::string::npos) << reply.body;
    recall(signing::RecallKind::kLift, recalls_->entries.back().id().text());
    EXPECT_EQ(pull("manifests/").status, 200);
  }
}

// Recalled evidence leaves too few builders; and a rule about age comes true by the clock alone.
TEST_F(ReleasesTest, FactsAndTimeChangeTheVerdict) {
  signing::Policy young = policy();
  young.maxAgeSeconds = 3600;
  serve({{"default", young}});
  EXPECT_EQ(pull("blobs/").status, 200);
  recall(signing::RecallKind::kWorker, "w1");
  EXPECT_EQ(pull("blobs/").status, 403);
  recall(signing::RecallKind::kLift, recalls_->entries.back().id().text());
  EXPECT_EQ(pull("blobs/").status, 200);
  clock_.advance(std::chrono::hours(2));
  const auto reply = pull("blobs/");
  EXPECT_EQ(reply.status, 403);
  EXPECT_NE(reply.body.find("maxAgeSeconds"), std::string::npos) << reply.body;
}

// The blobs of one pull are not judged one by one: with the statements gone from the store, what was found
// for these facts stands for its minute.
TEST_F(ReleasesTest, AVerdictIsCachedForItsFacts) {
  serve({{"default", policy()}});
  EXPECT_EQ(pull("manifests/").status, 200);
  const Digest bundle = fromProto(artifact(artifact_.text()).bundles(0)).value();
  std::filesystem::remove(directory_ / ("store/blobs/" + bundle.hex().substr(0, 2) + "/" + bundle.hex()));
  EXPECT_EQ(pull("blobs/").status, 200);
  clock_.advance(std::chrono::minutes(1));
  EXPECT_NE(pull("blobs/").status, 200);
}

}  // namespace
}  // namespace kiln::server

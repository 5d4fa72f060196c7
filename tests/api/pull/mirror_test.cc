// Pulling from a mirror that lies, is cut, or is no mirror.
#include "api/pull/mirror.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "manifest/artifact/oci_layout.h"
#include "tests/api/node/signed_artifact.h"
#include "tests/support/http_listener.h"

namespace kiln::pull {
namespace {

using testing_support::httpAnswer;
using testing_support::HttpSeen;

// Serves one artifact, and what a test changes of it.
struct PullTest : testing::Test {
  testing_support::SignedArtifact artifact;
  testing_support::TempDirectory directory;
  std::map<std::string, std::string> files;                   // what follows /v2/default/artifacts/
  std::function<std::string(const std::string&)> other = {};  // a raw answer instead; "" for the right one
  testing_support::HttpListener server{[this](const HttpSeen& seen) {
    const std::string name = seen.target.substr(std::string("/v2/default/artifacts/").size());
    if (other)
      if (std::string raw = other(name); !raw.empty()) return raw;
    const auto found = files.find(name);
    return found == files.end() ? httpAnswer(404, R"({"errors":[{"code":"X","message":"not here"}]})")
                                : httpAnswer(200, found->second);
  }};

  void SetUp() override {
    std::vector<LayoutEntry> entries;
    const auto add = [&](const std::string& manifest, const char* type) {
      files["manifests/" + digestOf(manifest).text()] = manifest;
      entries.push_back({digestOf(manifest), type});
    };
    add(makeBundleReferrer(artifact.ref.artifact, artifact.ref.bundles[0]).value(), kBundleType);
    Referrer fixtures{kFixturesType, artifact.ref.artifact, digestOf(kEmptyConfig), {}};
    for (const FixtureFile& file : artifact.ref.fixtures)
      fixtures.layers.push_back({file.path, kBlobMediaType, file.digest});
    add(makeReferrer(fixtures).value(), kFixturesType);
    files["referrers/" + artifact.ref.artifact.text()] = makeReferrersIndex(entries).value();
    files["manifests/" + artifact.ref.artifact.text()] = artifact.farm.ociText;
    for (const auto& [what, digest] : artifact.blobs())
      files["blobs/" + digest.text()] =
          storage::getBlob(artifact.farm.store, "default", digest, 1 << 20).value();
    for (const FixtureFile& file : artifact.ref.fixtures)
      files["blobs/" + file.digest.text()] =
          storage::getBlob(artifact.farm.store, "default", file.digest, 1 << 20).value();
    files.erase("blobs/" + artifact.ref.artifact.text());  // a manifest is no blob of the pull API
  }
  Result<signing::Verdict> fetch() {
    KILN_ASSIGN(const auto mirror, Mirror::open(server.url(), "default", {}));
    KILN_ASSIGN(const auto ref, mirror->find(artifact.ref.artifact));
    return node::fetchArtifact(mirror->blobs(), ref, directory / "out", artifact.trust, SystemClock());
  }
  void expectRefused(Code code) {
    const auto refused = fetch();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, code) << refused.error().message;
    EXPECT_FALSE(std::filesystem::exists(directory / "out"));
  }
  std::string program() const { return "blobs/" + artifact.farm.manifest.program.digest.text(); }
};

TEST_F(PullTest, FetchesWhatVerifies) {
  const auto fetched = fetch();
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_TRUE(std::filesystem::exists(directory / "out/fixtures/default/input_0.npy"));
}

TEST_F(PullTest, BytesThatAreOthersAreRefused) {
  for (const auto& [name, right] : std::map(files)) {
    if (name.starts_with("referrers/")) continue;
    files[name][right.size() / 2] = static_cast<char>(right[right.size() / 2] ^ 1);
    const auto refused = fetch();
    ASSERT_FALSE(refused) << name;
    EXPECT_NE(refused.error().details.find("\"exitCode\":5"), std::string::npos) << refused.error().message;
    files[name] = right;
  }
  EXPECT_FALSE(std::filesystem::exists(directory / "out"));
  EXPECT_TRUE(fetch());
}

TEST_F(PullTest, AnAnswerThatIsCutIsAnOutage) {
  other = [&](const std::string& name) {
    if (name != program()) return std::string();
    std::string whole = httpAnswer(200, files[name], {"Connection: close"});
    return whole.substr(0, whole.size() - 5);
  };
  expectRefused(Code::kUnavailable);
}

TEST_F(PullTest, ABlobThatIsMissingIsNotFound) {
  files.erase(program());
  EXPECT_FALSE(fetch());
  EXPECT_FALSE(std::filesystem::exists(directory / "out"));
}

TEST_F(PullTest, SaysWhatTheMirrorSays) {
  other = [](const std::string&) {
    return httpAnswer(403, R"({"errors":[{"code":"DENIED","message":"recalled: wrong weights"}]})");
  };
  const auto refused = fetch();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_NE(refused.error().message.find("recalled: wrong weights"), std::string::npos);
}

TEST_F(PullTest, AnotherServersAnswersAreNoEvidenceButAnOutage) {
  other = [](const std::string&) { return httpAnswer(302, "", {"Location: http://127.0.0.1:1/"}); };
  expectRefused(Code::kUnavailable);
  other = [](const std::string&) { return httpAnswer(503, "<html>"); };
  expectRefused(Code::kUnavailable);
}

TEST_F(PullTest, ReferrersThatAreTooManyOrUnreadableAreRefused) {
  const std::string place = "referrers/" + artifact.ref.artifact.text();
  std::vector<LayoutEntry> many;
  for (int i = 0; i < 400; ++i) many.push_back({digestOf(std::to_string(i)), kBundleType});
  files[place] = makeReferrersIndex(many).value();
  expectRefused(Code::kDataLoss);
  files[place] = "{";
  expectRefused(Code::kDataLoss);
}

TEST_F(PullTest, AManifestWithoutAnEndIsStopped) {
  other = [&](const std::string& name) {
    return name.starts_with("manifests/") ? httpAnswer(200, std::string(5 << 20, 'x')) : std::string();
  };
  expectRefused(Code::kDataLoss);
}

TEST(PullUrl, WantsAnHttpUrl) {
  for (const char* bad :
       {"", "mirror.example", "http://", "ftp://mirror", "https://u@mirror", "http://m/?x", "http://m/ a"})
    EXPECT_EQ(Mirror::open(bad, "default", {}).error().code, Code::kInvalidArgument) << bad;
  EXPECT_EQ(Mirror::open("https://mirror.example/", "default", {}).value()->url(), "https://mirror.example");
}

}  // namespace
}  // namespace kiln::pull

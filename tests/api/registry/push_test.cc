// A layout sent to a registry whose answers are written here: one that behaves, and ones that do not.
#include "api/registry/push.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "manifest/artifact/media_types.h"
#include "manifest/artifact/oci_layout.h"
#include "manifest/json/json.h"
#include "tests/support/http_listener.h"
#include "tests/support/temp_directory.h"

namespace kiln::registry {
namespace {

namespace fs = std::filesystem;
using testing_support::httpAnswer;
using testing_support::HttpListener;
using testing_support::HttpSeen;

std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct RegistryPush : ::testing::Test {
  testing_support::TempDirectory directory;
  const std::string root = directory / "layout";
  const std::string artifactText =
      R"({"artifactType":"application/vnd.kiln.artifact.v1+json","config":{"digest":")" +
      digestOf(kEmptyConfig).text() +
      R"(","mediaType":"application/vnd.oci.empty.v1+json","size":2},"layers":[]})";
  const Digest artifact = digestOf(artifactText);
  const std::string bundle = readFile(KILN_GOLDEN "/v1/bundle.sigstore.json");

  // What the registry holds, by what stands behind /v2/team/model/; and what it was asked for.
  Mutex mutex;
  std::map<std::string, std::string> held;
  std::vector<HttpSeen> seen;
  std::string challenge, wanted;  // the header of a 401, and the Authorization that is accepted
  std::string location = "/v2/team/model/blobs/uploads/1?state=x";
  bool lists = true;
  std::function<std::string(const HttpSeen&)> instead = [](const HttpSeen&) { return std::string(); };
  std::function<void()> paused = [] {};
  HttpListener listener{[this](const HttpSeen& request) { return answer(request); }};
  std::string host = listener.url().substr(7);

  RegistryPush() {
    fs::create_directories(root + "/blobs/sha256");
    std::ofstream(root + "/oci-layout") << kOciLayoutText;
    put(artifactText);
    put(kEmptyConfig);
    const Digest referrer = put(makeBundleReferrer(artifact, put(bundle)).value());
    const std::vector<LayoutEntry> referrers{{referrer, kBundleType}};
    const Digest tag = put(makeReferrersIndex(referrers).value());
    std::ofstream(root + "/index.json") << makeLayoutIndex(artifact, referrers, tag).value();
  }
  Digest put(std::string_view text) {
    const Digest digest = digestOf(text);
    std::ofstream(root + "/blobs/sha256/" + digest.hex(), std::ios::binary) << text;
    return digest;
  }
  std::string answer(const HttpSeen& request) {
    const MutexLock lock(mutex);
    seen.push_back(request);
    if (std::string other = instead(request); !other.empty()) return other;
    if (request.target.starts_with("/token")) return httpAnswer(200, R"({"token":"t0k3n"})");
    const auto given = request.headers.find("authorization");
    if (!wanted.empty() && (given == request.headers.end() || given->second != wanted))
      return httpAnswer(401, "", {"WWW-Authenticate: " + challenge});
    const std::string prefix = "/v2/team/model/";
    if (!request.target.starts_with(prefix)) return httpAnswer(404);
    const std::string name = request.target.substr(prefix.size());
    if (request.method == "POST") return httpAnswer(202, "", {"Location: " + location});
    if (request.method == "PUT") {
      const auto digest = name.find("digest=sha256%3A");
      held[digest == name.npos ? name : "blobs/sha256:" + name.substr(digest + 16)] = request.body;
      return lists && request.body.find("\"subject\"") != std::string::npos
                 ? httpAnswer(201, "", {"OCI-Subject: " + artifact.text()})
                 : httpAnswer(201);
    }
    const auto found = held.find(name);
    if (found == held.end()) return httpAnswer(404);
    return httpAnswer(200, request.method == "HEAD" ? "" : found->second);
  }
  Result<PushSummary> push(SessionOptions options = {}, const std::string& tag = "") {
    KILN_ASSIGN(const auto reference, Reference::parse(host + "/team/model"));
    KILN_ASSIGN(auto session, Session::open(reference, std::move(options)));
    KILN_ASSIGN(const auto layout, storage::OciLayoutStore::open(root));
    KILN_ASSIGN(const auto done, pushLayout(session, *layout, root, [this] { paused(); }));
    if (!tag.empty()) KILN_TRY(tagFirst(session, *layout, tag));
    return done;
  }
  std::size_t uploads() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(seen, [](const HttpSeen& one) { return one.method == "POST"; }));
  }
};

TEST_F(RegistryPush, SendsBlobsBeforeManifestsAndTheTagLast) {
  const auto done = push({}, "1.0");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->manifests, 2u);
  EXPECT_EQ(done->blobs, 2u);
  EXPECT_EQ(done->sent, 2u);
  EXPECT_EQ(done->bytes, bundle.size() + 2);
  EXPECT_EQ(held.at("blobs/" + digestOf(bundle).text()), bundle);
  EXPECT_EQ(held.at("manifests/" + artifact.text()), artifactText);
  EXPECT_EQ(seen.back().target, "/v2/team/model/manifests/1.0");
  EXPECT_EQ(seen.back().headers.at("content-type"), kOciManifestMediaType);
  for (const auto& [name, bytes] : held)
    if (const auto at = name.find("sha256:"); at != name.npos)
      EXPECT_EQ(digestOf(bytes).text(), name.substr(at));
}

TEST_F(RegistryPush, AnnotatesBundlesAsCosignReadsThem) {
  ASSERT_TRUE(push());
  std::size_t found = 0;
  for (const auto& [name, bytes] : held)
    if (bytes.find("\"subject\"") != std::string::npos) {
      const Json json = parseJson(bytes).value();
      EXPECT_EQ(json["annotations"]["dev.sigstore.bundle.content"], "dsse-envelope");
      EXPECT_EQ(json["annotations"]["dev.sigstore.bundle.predicateType"], "https://slsa.dev/provenance/v1");
      EXPECT_EQ(json["subject"]["digest"], artifact.text());
      ++found;
    }
  EXPECT_EQ(found, 1u);
}

TEST_F(RegistryPush, SendsNoBlobTwice) {
  ASSERT_TRUE(push());
  EXPECT_EQ(uploads(), 2u);
  const auto again = push();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->sent, 0u);
  EXPECT_EQ(uploads(), 2u);
  // One that broke off goes on with what is missing.
  held.erase("blobs/" + digestOf(bundle).text());
  EXPECT_EQ(push().value().sent, 1u);
}

// Another push that had read the index before this one wrote it, and writes it after.
TEST_F(RegistryPush, PutsBackWhatAnotherPushAtTheSameTimeHasTakenOut) {
  lists = false;
  const std::string tag = "manifests/sha256-" + artifact.hex();
  const std::string others = R"({"schemaVersion":2,"manifests":[{"digest":"sha256:other","size":7}]})";
  int overwritten = 0;
  paused = [&] {
    const MutexLock lock(mutex);
    if (overwritten++ < 2) held[tag] = others;
  };
  const auto done = push();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(overwritten, 3) << "written three times, and read once more";
  const Json list = parseJson(held.at(tag)).value()["manifests"];
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["digest"], "sha256:other");
  EXPECT_EQ(list[1]["artifactType"], kBundleType);
}

TEST_F(RegistryPush, EndsWhereAnIndexIsOverwrittenWithoutEnd) {
  lists = false;
  const std::string tag = "manifests/sha256-" + artifact.hex();
  int overwritten = 0;
  paused = [&] {
    const MutexLock lock(mutex);
    held.erase(tag);
    ++overwritten;
  };
  const auto done = push();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kUnavailable);
  EXPECT_NE(done.error().message.find("push again"), std::string::npos) << done.error().message;
  EXPECT_EQ(overwritten, 6);
  EXPECT_TRUE(held.contains("manifests/" + artifact.text())) << "all else is there";
}

TEST_F(RegistryPush, KeepsAnIndexWhereTheRegistryListsNoReferrers) {
  lists = false;
  const std::string tag = "manifests/sha256-" + artifact.hex();
  held[tag] = R"({"schemaVersion":2,"manifests":[{"digest":"sha256:other","size":7}]})";
  ASSERT_TRUE(push());
  ASSERT_TRUE(push());
  const Json index = parseJson(held.at(tag)).value();
  ASSERT_EQ(index["manifests"].size(), 2u);
  EXPECT_EQ(index["manifests"][0]["digest"], "sha256:other");
  EXPECT_EQ(index["manifests"][1]["artifactType"], kBundleType);
  EXPECT_EQ(index["manifests"][1]["annotations"]["dev.sigstore.bundle.content"], "dsse-envelope");
  held[tag] = "[]";
  const auto other = push();
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kFailedPrecondition);
}

TEST_F(RegistryPush, SendsCredentialsWhereTheyAreAskedFor) {
  challenge = "Basic realm=\"x\"";
  wanted = "Basic dTpw";
  EXPECT_TRUE(push({.credentials = {.basic = "dTpw"}}));
  challenge = "Bearer realm=\"" + listener.url() + "/token\",service=\"a b\"";
  wanted = "Bearer t0k3n";
  EXPECT_TRUE(push({.credentials = {.basic = "dTpw"}}));
  const auto token =
      std::ranges::find_if(seen, [](const HttpSeen& one) { return one.target.starts_with("/token"); });
  ASSERT_NE(token, seen.end());
  EXPECT_EQ(token->target, "/token?scope=repository%3Ateam%2Fmodel%3Apull%2Cpush&service=a%20b");
  EXPECT_EQ(token->headers.at("authorization"), "Basic dTpw");
  wanted = "Bearer own";
  EXPECT_TRUE(push({.credentials = {.bearer = "own"}}));
}

TEST_F(RegistryPush, SaysWhatTheRegistryRefusesAndNoSecret) {
  challenge = "Basic realm=\"x\"";
  wanted = "Basic other";
  const auto denied = push({.credentials = {.basic = "czNjcjN0"}});
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, Code::kUnauthenticated);
  EXPECT_NE(denied.error().message.find("do not allow"), std::string::npos) << denied.error().message;
  wanted.clear();
  instead = [](const HttpSeen& one) {
    return one.method == "POST" ? httpAnswer(403, R"({"errors":[{"code":"DENIED","message":"czNjcjN0"}]})")
                                : std::string();
  };
  const auto refused = push({.credentials = {.basic = "czNjcjN0"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_NE(refused.error().message.find("403 DENIED"), std::string::npos);
  EXPECT_EQ(refused.error().message.find("czNjcjN0"), std::string::npos);
}

TEST_F(RegistryPush, GoesNowhereElse) {
  for (const char* elsewhere :
       {"http://127.0.0.1:1/v2/x", "https://evil.example.com/", "", "x", "ftp://a/", "/a b"}) {
    location = elsewhere;
    const auto done = push();
    ASSERT_FALSE(done) << elsewhere;
    EXPECT_EQ(done.error().code, Code::kFailedPrecondition) << elsewhere;
  }
  wanted = "Bearer x";
  for (const char* realm : {"http://127.0.0.1:1/token", "http://evil.example.com/",
                            "https://user@evil.example.com/", "", "file:///etc"}) {
    challenge = std::string("Bearer realm=\"") + realm + "\"";
    const auto done = push({.credentials = {.basic = "dTpw"}});
    ASSERT_FALSE(done) << realm;
    EXPECT_EQ(done.error().code, Code::kFailedPrecondition) << realm;
  }
}

TEST_F(RegistryPush, TakesHostileAnswersForErrors) {
  for (const std::string& bad :
       {httpAnswer(500), httpAnswer(429), httpAnswer(400, std::string(1 << 20, 'x')),
        httpAnswer(418, "{\"errors\":[{\"code\":\"\\u001b[31m\"}]}"),
        std::string("HTTP/1.1 200 x\r\nConnection: close\r\n"),
        "HTTP/1.1 404 x\r\nConnection: close\r\nx: " + std::string(100 << 10, 'y') + "\r\n\r\n"}) {
    instead = [&](const HttpSeen&) { return bad; };
    const auto done = push();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message.find('\x1b'), std::string::npos);
  }
}

TEST_F(RegistryPush, KeepsCredentialsOffPlainHttpToOthers) {
  const auto reference = Reference::parse("registry.example.com/m").value();
  const auto open = Session::open(reference, {.plainHttp = true, .credentials = {.basic = "dTpw"}});
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, Code::kInvalidArgument);
  EXPECT_TRUE(Session::open(reference, {.plainHttp = true}));
  EXPECT_TRUE(Session::open(reference, {.credentials = {.basic = "dTpw"}}));
}

}  // namespace
}  // namespace kiln::registry

// The gateway over real HTTP (libcurl) and a real LocalBlobStore.
#include "api/gateway/gateway.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "api/console/files.h"
#include "manifest/artifact/oci_layout.h"
#include "manifest/json/json.h"
#include "storage/blob/local_blob_store.h"
#include "tests/api/gateway/http.h"
#include "tests/api/gateway/raw_socket.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_directory.h"

namespace kiln::gateway {
namespace {

using testing_support::httpGet;
using testing_support::HttpReply;
using testing_support::readAll;

class MapLookup final : public ArtifactLookup {
 public:
  Result<Digest> findManifest(const std::string& instance, const Digest& hash) override {
    return find(manifests, instance, hash);
  }
  Result<Digest> findBlob(const std::string& instance, const Digest& hash) override {
    return find(blobs, instance, hash);
  }
  // Of everything here, the one artifact; of the config, another one too.
  Result<std::vector<Digest>> findArtifactsOf(const std::string&, const Digest& blob) override {
    std::vector<Digest> out{manifests.at(0)};
    if (blob == shared) out.insert(out.begin(), digestOf("another artifact"));
    return out;
  }
  Result<PublishedArtifact> findReferrers(const std::string& instance, const Digest& artifact) override {
    KILN_ASSIGN(const Digest found, findManifest(instance, artifact));
    return PublishedArtifact{found, bundles};
  }
  Result<PublishedArtifact> findReferrer(const std::string& instance, const Digest& hash) override {
    for (const Digest& bundle : bundles)
      if (instance == "default" &&
          digestOf(makeBundleReferrer(manifests.at(0), bundle).value()).hash == hash.hash)
        return PublishedArtifact{manifests.at(0), {bundle}};
    return fail(Code::kNotFound, "instance \"" + instance + "\" has no such artifact");
  }
  std::vector<Digest> manifests, blobs, bundles;
  Digest shared;

 private:
  static Result<Digest> find(const std::vector<Digest>& all, const std::string& instance,
                             const Digest& hash) {
    for (const auto& digest : all) {
      if (instance == "default" && digest.hash == hash.hash) return digest;
    }
    return fail(Code::kNotFound, "instance \"" + instance + "\" has no such artifact");
  }
};

class Refusals final : public ReleaseGate {
 public:
  Status check(const std::string&, const Digest& artifact) override {
    ++asked;
    if (!refused.contains(artifact)) return {};
    return fail(Code::kPermissionDenied, "the policy production refuses it: minBuilders");
  }
  std::set<Digest> refused;
  std::atomic<int> asked = 0;
};

class OneTileLog final : public LogFiles {
 public:
  Result<std::string> checkpoint() override { return "a note\n"; }
  Result<std::string> tile(const std::string& path) override {
    if (path != "tile/0/000.p/3") return fail(Code::kNotFound, "the log has no such tile");
    return std::string("\0hashes", 7);
  }
};

class GatewayTest : public testing::Test {
 protected:
  void SetUp() override {
    storage::LocalBlobStoreOptions local;
    local.directory = directory_ / "store";
    blobs_ = std::move(*storage::LocalBlobStore::open(local));
    for (std::size_t i = 0; i < large_.size(); ++i) large_[i] = static_cast<char>(i * 31 + i / 4093);
    layer_ = *storage::putBlob(*blobs_, "default", asBytes(large_));
    empty_ = *storage::putBlob(*blobs_, "default", asBytes(""));
    config_ = *storage::putBlob(*blobs_, "default", asBytes(R"({"kind":"Manifest"})"));
    const auto entry = [](const char* type, const Digest& digest, const char* title) {
      return Json{{"mediaType", type},
                  {"digest", digest.text()},
                  {"size", digest.size},
                  {"annotations", {{"org.opencontainers.image.title", title}}}};
    };
    text_ = Json{{"schemaVersion", 2},
                 {"mediaType", "application/vnd.oci.image.manifest.v1+json"},
                 {"artifactType", "application/vnd.kiln.artifact.v1+json"},
                 {"config", entry("application/vnd.kiln.manifest.v1+json", config_, "manifest.json")},
                 {"layers", {entry("application/vnd.kiln.program.v1+elf", layer_, "program.so")}}}
                .dump();
    manifest_ = *storage::putBlob(*blobs_, "default", asBytes(text_));
    lookup_->manifests = {manifest_};
    bundles_ = {*storage::putBlob(*blobs_, "default", asBytes(R"({"bundle":1})")),
                *storage::putBlob(*blobs_, "default", asBytes(R"({"bundle":2})"))};
    lookup_->blobs = {layer_, config_, empty_, bundles_[0], bundles_[1]};
    lookup_->bundles = bundles_;
  }

  void start(GatewayOptions options = {}) {
    options.clock = std::make_shared<testing_support::ManualClock>();
    GatewayBackend backend{
        lookup_, blobs_,  std::make_shared<prometheus::Registry>(), [this] { return health_; }, log_,
        {},      release_};
    backend.page = page_;
    gateway_ = std::move(*Gateway::start(options, std::move(backend)));
    base_ = "http://127.0.0.1:" + std::to_string(gateway_->port());
  }
  HttpReply get(const std::string& path, std::vector<std::string> headers = {}, const char* method = "GET") {
    HttpReply reply = httpGet(base_ + path, std::move(headers), method);
    // RFC 9110 6.6.1 wants it of every answer.
    if (reply.status != 0) EXPECT_EQ(reply.headers["date"], "Fri, 15 Jan 2027 08:00:00 GMT") << path;
    return reply;
  }
  // A connected socket, for what libcurl would not send.
  int connectRaw() { return testing_support::connectTo(gateway_->port()); }

  testing_support::TempDirectory directory_;
  std::string large_ = std::string(5'000'000, '\0');
  std::string text_;
  std::shared_ptr<storage::LocalBlobStore> blobs_;
  Digest layer_, config_, empty_, manifest_;
  std::vector<Digest> bundles_;
  std::shared_ptr<MapLookup> lookup_ = std::make_shared<MapLookup>();
  Status health_;
  std::shared_ptr<OneTileLog> log_;
  std::shared_ptr<Refusals> release_;
  PageFiles page_;
  std::unique_ptr<Gateway> gateway_;
  std::string base_;
};

TEST_F(GatewayTest, ServesTheLogsFiles) {
  start();
  EXPECT_EQ(get("/log/checkpoint").status, 404) << "a farm without a log";
  gateway_->stop();
  log_ = std::make_shared<OneTileLog>();
  start();
  const auto note = get("/log/checkpoint");
  EXPECT_EQ(note.status, 200);
  EXPECT_EQ(note.body, "a note\n");
  EXPECT_EQ(note.headers.at("cache-control"), "no-cache");
  const auto tile = get("/log/tile/0/000.p/3");
  EXPECT_EQ(tile.status, 200);
  EXPECT_EQ(tile.body, std::string("\0hashes", 7));
  EXPECT_NE(tile.headers.at("cache-control").find("immutable"), std::string::npos);
  EXPECT_EQ(get("/log/tile/0/000").status, 404);
  EXPECT_EQ(get("/log/lock").status, 404);
}

TEST_F(GatewayTest, ServesAPageUnderAStrictPolicy) {
  start();
  EXPECT_EQ(get("/").status, 404) << "a side without a page";
  gateway_->stop();
  page_ = console::findFile;
  start();
  for (const auto& [path, type] : {std::pair<const char*, const char*>{"/", "text/html; charset=utf-8"},
                                   {"/console.js", "text/javascript; charset=utf-8"},
                                   {"/console.css", "text/css; charset=utf-8"}}) {
    const auto file = get(path);
    EXPECT_EQ(file.status, 200) << path;
    EXPECT_EQ(file.body, console::findFile(path)->bytes) << path;
    EXPECT_EQ(file.headers.at("content-type"), type);
    EXPECT_EQ(file.headers.at("content-security-policy"), kPagePolicy);
    EXPECT_EQ(file.headers.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(file.headers.at("referrer-policy"), "no-referrer");
  }
  EXPECT_EQ(get("/").body.find("<script>"), std::string::npos) << "no script is inline";
  for (const char* path : {"/console.", "/console.map", "/console.js?x", "/index.html", "//"})
    EXPECT_EQ(get(path).status, 404) << path;
}

// What a browser asks for on behalf of another site's page carries the certificate that it holds.
TEST_F(GatewayTest, APageOfAnotherSiteGetsNothingButThePageItself) {
  page_ = console::findFile;
  start();
  for (const char* site : {"cross-site", "same-site"}) {
    const std::vector<std::string> fields{std::string("Sec-Fetch-Site: ") + site};
    for (const std::string& path :
         {std::string("/v2/"), std::string("/log/checkpoint"), std::string("/metrics"),
          "/v2/default/artifacts/manifests/" + manifest_.text()})
      EXPECT_EQ(get(path, fields).status, 403) << path;
    EXPECT_EQ(get("/", fields).status, 200) << "a link to it may be followed";
  }
  for (const char* path : {"/", "/v2/", "/nothing"})
    EXPECT_EQ(get(path, {"Sec-Fetch-Site: same-origin"}).headers.at("cross-origin-resource-policy"),
              "same-origin");
}

TEST_F(GatewayTest, ServesManifestByDigest) {
  start();
  const auto reply = get("/v2/default/artifacts/manifests/" + manifest_.text());
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, text_);
  EXPECT_EQ(reply.headers.at("content-type"), "application/vnd.oci.image.manifest.v1+json");
  EXPECT_EQ(reply.headers.at("docker-content-digest"), manifest_.text());
  EXPECT_EQ(reply.headers.at("docker-distribution-api-version"), "registry/2.0");
  const auto head = get("/v2/default/artifacts/manifests/" + manifest_.text(), {}, "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), std::to_string(text_.size()));
  EXPECT_EQ(head.body, "");
}

TEST_F(GatewayTest, ServesBlobsWholeInPartAndByHead) {
  start();
  const auto path = "/v2/default/artifacts/blobs/" + layer_.text();
  const auto whole = get(path);
  EXPECT_EQ(whole.status, 200);
  EXPECT_TRUE(whole.body == large_);
  EXPECT_EQ(whole.headers.at("content-type"), "application/octet-stream");
  EXPECT_EQ(whole.headers.at("docker-content-digest"), layer_.text());
  const auto part = get(path, {"Range: bytes=1000000-1000099"});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, large_.substr(1'000'000, 100));
  EXPECT_EQ(part.headers.at("content-range"), "bytes 1000000-1000099/5000000");
  EXPECT_EQ(get(path, {"Range: bytes=5000000-"}).status, 416);
  const auto lines = get(path, {"Range: lines=1-2"});
  EXPECT_EQ(lines.status, 200);
  EXPECT_EQ(lines.headers.count("content-range"), 0u);
  EXPECT_TRUE(lines.body == large_);
  const auto head = get(path, {}, "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "5000000");
  // A range is of what GET sends (RFC 9110 14.2).
  const auto ranged = get(path, {"Range: bytes=1000000-1000099"}, "HEAD");
  EXPECT_EQ(ranged.status, 200);
  EXPECT_EQ(ranged.headers.at("content-length"), "5000000");
  EXPECT_EQ(ranged.headers.count("content-range"), 0u);
  EXPECT_EQ(get(path, {"Range: bytes=5000000-"}, "HEAD").status, 200);
  const auto empty = get("/v2/default/artifacts/blobs/" + empty_.text());
  EXPECT_EQ(empty.status, 200);
  EXPECT_EQ(empty.body, "");
}

// Bytes under a digest never change, so whoever has them need not be sent them.
TEST_F(GatewayTest, ConditionalRequests) {
  start();
  for (const Digest& digest : {layer_, manifest_}) {
    const auto path =
        "/v2/default/artifacts/" + std::string(digest == layer_ ? "blobs/" : "manifests/") + digest.text();
    const auto tag = get(path).headers.at("etag");
    EXPECT_EQ(tag, "\"" + digest.text() + "\"");
    for (const std::string& known : {tag, "W/" + tag, "\"x\", " + tag, std::string("*")}) {
      for (const char* method : {"GET", "HEAD"}) {
        const auto reply = get(path, {"If-None-Match: " + known}, method);
        EXPECT_EQ(reply.status, 304) << known;
        EXPECT_EQ(reply.body, "");
        EXPECT_EQ(reply.headers.at("etag"), tag);
      }
    }
    EXPECT_EQ(get(path, {"If-None-Match: \"sha256:other\""}).status, 200);
    EXPECT_EQ(get(path, {"If-None-Match: \"x\"", "If-None-Match: " + tag}).status, 304)
        << "one list in two fields";
    EXPECT_EQ(get(path, {"If-Match: \"x\", " + tag}).status, 200);
    EXPECT_EQ(get(path, {"If-Match: *"}).status, 200);
    for (const std::string& other : {std::string("\"x\""), "W/" + tag})
      EXPECT_EQ(get(path, {"If-Match: " + other, "If-None-Match: " + tag}).status, 412) << other;
  }
  const auto path = "/v2/default/artifacts/blobs/" + layer_.text();
  const auto part = get(path, {"Range: bytes=10-19", "If-Range: \"" + layer_.text() + "\""});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, large_.substr(10, 10));
  const auto whole = get(path, {"Range: bytes=10-19", "If-Range: \"sha256:other\""});
  EXPECT_EQ(whole.status, 200);
  EXPECT_TRUE(whole.body == large_);
  EXPECT_EQ(get("/v2/default/artifacts/blobs/" + digestOf("nothing").text(), {"If-None-Match: *"}).status,
            404);
}

TEST_F(GatewayTest, BundlesAreReferrers) {
  start();
  const auto path = "/v2/default/artifacts/referrers/" + manifest_.text();
  const auto reply = get(path);
  ASSERT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "application/vnd.oci.image.index.v1+json");
  EXPECT_FALSE(reply.headers.contains("oci-filters-applied"));
  const Json list = parseJson(reply.body)->at("manifests");
  ASSERT_EQ(list.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(list[i].at("artifactType"), kBundleType);
    // Each descriptor leads to a manifest about the artifact, and that to the bundle.
    const std::string digest = list[i].at("digest");
    const auto manifest = get("/v2/default/artifacts/manifests/" + digest);
    ASSERT_EQ(manifest.status, 200);
    EXPECT_EQ(digestOf(manifest.body).text(), digest);
    EXPECT_EQ(manifest.headers.at("docker-content-digest"), digest);
    EXPECT_EQ(list[i].at("size"), manifest.body.size());
    const auto referrer = parseReferrer(manifest.body);
    ASSERT_TRUE(referrer) << referrer.error().message;
    EXPECT_EQ(referrer->subject, manifest_);
    const auto bundle = get("/v2/default/artifacts/blobs/" + referrer->layers.at(0).digest.text());
    EXPECT_EQ(digestOf(bundle.body), bundles_[i]);
    EXPECT_EQ(get("/v2/default/artifacts/blobs/" + referrer->config.text()).body, kEmptyConfig);
  }
  const auto filtered = get(path + "?artifactType=application%2Fvnd.dev.sigstore.bundle.v0.3%2Bjson");
  EXPECT_EQ(filtered.body, reply.body);
  EXPECT_EQ(filtered.headers.at("oci-filters-applied"), "artifactType");
  EXPECT_EQ(parseJson(get(path + "?artifactType=application/x").body)->at("manifests").size(), 0u);
  // To what is not there, or not this instance's, nothing refers.
  EXPECT_EQ(parseJson(get("/v2/default/artifacts/referrers/" + layer_.text()).body)->at("manifests").size(),
            0u);
  EXPECT_EQ(parseJson(get("/v2/other/artifacts/referrers/" + manifest_.text()).body)->at("manifests").size(),
            0u);
}

TEST_F(GatewayTest, OnlyWhatTheInstancePublished) {
  start();
  const auto secret = *storage::putBlob(*blobs_, "default", asBytes("somebody's model"));
  const auto hidden = get("/v2/default/artifacts/blobs/" + secret.text());
  EXPECT_EQ(hidden.status, 404);
  EXPECT_EQ(parseJson(hidden.body)->at("errors").at(0).at("code"), "BLOB_UNKNOWN");
  const auto other = get("/v2/other/artifacts/manifests/" + manifest_.text());
  EXPECT_EQ(other.status, 404);
  EXPECT_EQ(parseJson(other.body)->at("errors").at(0).at("code"), "MANIFEST_UNKNOWN");
}

TEST_F(GatewayTest, WhatThePolicyRefusesDoesNotGoOut) {
  release_ = std::make_shared<Refusals>();
  start();
  const std::string base = "/v2/default/artifacts/";
  const Digest referrer = digestOf(makeBundleReferrer(manifest_, bundles_[0]).value());
  const std::vector<std::string> paths{"manifests/" + manifest_.text(), "manifests/" + referrer.text(),
                                       "blobs/" + layer_.text(),        "blobs/" + config_.text(),
                                       "blobs/" + bundles_[0].text(),   "referrers/" + manifest_.text()};
  for (const std::string& path : paths) EXPECT_EQ(get(base + path).status, 200) << path;
  release_->refused = {manifest_};
  for (const std::string& path : paths)
    for (const char* method : {"GET", "HEAD"}) {
      const auto reply = get(base + path, {"If-None-Match: *"}, method);
      EXPECT_EQ(reply.status, 403) << path;
      if (method == std::string("HEAD")) continue;
      const Json error = parseJson(reply.body)->at("errors").at(0);
      EXPECT_EQ(error.at("code"), "DENIED");
      EXPECT_NE(error.at("message").get<std::string>().find("minBuilders"), std::string::npos);
    }
  EXPECT_EQ(get(base + "blobs/" + digestOf("nothing").text()).status, 404);
  // A blob goes out as part of whatever may go out.
  lookup_->shared = config_;
  EXPECT_EQ(get(base + "blobs/" + config_.text()).status, 200);
  EXPECT_EQ(get(base + "blobs/" + layer_.text()).status, 403);
  release_->refused.insert(digestOf("another artifact"));
  EXPECT_EQ(get(base + "blobs/" + config_.text()).status, 403);
}

TEST_F(GatewayTest, TagsAndWritesAreRefusedInOciForm) {
  start();
  const auto tag = get("/v2/default/artifacts/manifests/latest");
  EXPECT_EQ(tag.status, 400);
  EXPECT_EQ(parseJson(tag.body)->at("errors").at(0).at("code"), "DIGEST_INVALID");
  const auto write = get("/v2/default/artifacts/blobs/uploads/", {}, "DELETE");
  EXPECT_EQ(write.status, 405);
  EXPECT_EQ(write.headers.at("allow"), "GET, HEAD");
}

TEST_F(GatewayTest, CorruptBlobIsNeverServedWhole) {
  start();
  const auto path = directory_ / ("store/blobs/" + layer_.hex().substr(0, 2) + "/" + layer_.hex());
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  FILE* file = std::fopen(path.c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  std::fseek(file, 4'000'000, SEEK_SET);
  std::fputc('X', file);
  std::fclose(file);
  const auto reply = get("/v2/default/artifacts/blobs/" + layer_.text());
  EXPECT_TRUE(reply.status == 500 || reply.body.size() < large_.size());
  EXPECT_FALSE(reply.body == large_);
  EXPECT_EQ(get("/v2/default/artifacts/blobs/" + layer_.text()).status, 404);  // quarantined
}

TEST_F(GatewayTest, MetricsAndHealth) {
  start();
  EXPECT_EQ(get("/v2/").status, 200);
  EXPECT_EQ(get("/healthz").body, "ok\n");
  const auto metrics = get("/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_NE(metrics.body.find("kiln_gateway_requests_total{status=\"200\"}"), std::string::npos)
      << metrics.body;
  health_ = fail(Code::kUnavailable, "connection to socket \"/home/of/the/farm\" failed");
  EXPECT_EQ(get("/healthz").status, 503);
  EXPECT_EQ(get("/healthz").body.find('/'), std::string::npos) << "names a path of the host";
}

TEST_F(GatewayTest, RefusesToLeaveLoopback) {
  for (const char* address : {"0.0.0.0", "192.168.1.1", "example.org", "::"}) {
    GatewayOptions options;
    options.address = address;
    const auto started = Gateway::start(
        options, {lookup_, blobs_, std::make_shared<prometheus::Registry>(), [this] { return health_; }});
    ASSERT_FALSE(started) << address;
    EXPECT_EQ(started.error().code, Code::kInvalidArgument);
  }
}

TEST_F(GatewayTest, ListensOnLoopbackUnderAnyOfItsNames) {
  for (const char* address : {"127.0.0.1", "localhost"}) {
    const auto started = Gateway::start(
        {.address = address},
        {lookup_, blobs_, std::make_shared<prometheus::Registry>(), [this] { return health_; }});
    ASSERT_TRUE(started) << address << ": " << started.error().message;
    EXPECT_GT((*started)->port(), 0);
  }
}

TEST_F(GatewayTest, LimitsOnHeadersBodiesAndTime) {
  start();
  EXPECT_EQ(get("/v2/", {"X-Filler: " + std::string(20000, 'x')}).status, 431);
  const int body = connectRaw();
  const std::string claim = "GET /v2/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n";
  ASSERT_GT(::write(body, claim.data(), claim.size()), 0);
  EXPECT_NE(readAll(body).find(" 413 "), std::string::npos);
  ::close(body);
  const int garbage = connectRaw();
  ASSERT_GT(::write(garbage, "\x16\x03\x01 nonsense\r\n\r\n", 16), 0);
  EXPECT_NE(readAll(garbage).find(" 400 "), std::string::npos);
  ::close(garbage);
  GatewayOptions options;
  options.headerTimeout = std::chrono::milliseconds(300);
  start(options);
  const int slow = connectRaw();
  ASSERT_GT(::write(slow, "GET /v2", 7), 0);
  EXPECT_EQ(readAll(slow), "");  // closed after the timeout
  ::close(slow);
}

// The third takes the place of one that keeps its connection without asking for anything.
TEST_F(GatewayTest, BoundsConnections) {
  start({.limits = {.connections = 2}});
  const int first = connectRaw(), second = connectRaw();
  const auto answered = [](int fd) {
    const std::string request = "GET /v2/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
    if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) < 0) return false;
    std::string answer;
    char buffer[4096];
    for (ssize_t n; !answer.ends_with("{}\n") && (n = ::read(fd, buffer, sizeof buffer)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(n));
    return answer.ends_with("{}\n");
  };
  EXPECT_TRUE(answered(first));
  EXPECT_TRUE(answered(second));
  int third = -1;
  for (bool in = false; !in;) {  // until one of them has been noticed to wait
    if (third >= 0) ::close(third);
    third = connectRaw();
    in = answered(third);
  }
  EXPECT_EQ(answered(first) + answered(second), 1) << "one of them was closed";
  for (const int fd : {first, second, third}) ::close(fd);
}

TEST_F(GatewayTest, StopsWhileAClientDawdles) {
  start();
  const int fd = connectRaw();
  const auto request =
      "GET /v2/default/artifacts/blobs/" + layer_.text() + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_GT(::write(fd, request.data(), request.size()), 0);
  char buffer[16];
  ASSERT_GT(::read(fd, buffer, sizeof buffer), 0);  // the answer has begun, and nobody reads on
  gateway_->stop();
  ::close(fd);
}

// Clients that ask for much and read nothing hold their own connections, not the gateway.
TEST_F(GatewayTest, DawdlersKeepNobodyElseWaiting) {
  start();
  std::string requests;
  for (int i = 0; i < 8; ++i)
    requests += "GET /v2/default/artifacts/blobs/" + layer_.text() + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  std::vector<int> dawdlers;
  for (int i = 0; i < 16; ++i) {
    dawdlers.push_back(connectRaw());
    ASSERT_GT(::write(dawdlers.back(), requests.data(), requests.size()), 0);
    char buffer[16];
    ASSERT_GT(::read(dawdlers.back(), buffer, sizeof buffer), 0);
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, GatewayOptions{}.writeTimeout / 2);
  for (const int fd : dawdlers) ::close(fd);
}

TEST_F(GatewayTest, SkopeoCopiesTheArtifact) {
  if (std::system("command -v skopeo >/dev/null 2>&1") != 0) GTEST_SKIP() << "skopeo is not installed";
  start();
  const auto target = directory_ / "copied";
  const auto command =
      "skopeo copy --src-tls-verify=false docker://127.0.0.1:" + std::to_string(gateway_->port()) +
      "/default/artifacts@" + manifest_.text() + " dir:" + target + " >/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(digestOfFile(target + "/manifest.json")->hex(), manifest_.hex());
  EXPECT_EQ(digestOfFile(target + "/" + layer_.hex())->hex(), layer_.hex());
  EXPECT_EQ(digestOfFile(target + "/" + config_.hex())->hex(), config_.hex());
}

// Another OCI client: the manifest, and every blob that it names, by digest.
TEST_F(GatewayTest, CraneFetchesTheArtifact) {
  if (std::system("command -v crane >/dev/null 2>&1") != 0) GTEST_SKIP() << "crane is not installed";
  start();
  const auto repository = "127.0.0.1:" + std::to_string(gateway_->port()) + "/default/artifacts@";
  const auto fetch = [&](const std::string& what, const Digest& digest) {
    const auto file = directory_ / digest.hex();
    const auto command = "crane " + what + " --insecure " + repository + digest.text() + " > " + file;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return digestOfFile(file).value();
  };
  EXPECT_EQ(fetch("manifest", manifest_), manifest_);
  for (const Digest& blob : {config_, layer_}) EXPECT_EQ(fetch("blob", blob), blob);
  const auto referrer = makeBundleReferrer(manifest_, bundles_[0]).value();
  EXPECT_EQ(fetch("manifest", digestOf(referrer)), digestOf(referrer));
}

TEST_F(GatewayTest, ManyClientsAtOnce) {
  start();
  std::vector<std::thread> clients;
  std::atomic<int> good{0};
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&] {
      for (int k = 0; k < 4; ++k) good += get("/v2/default/artifacts/blobs/" + layer_.text()).body == large_;
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(good, 64);
}

}  // namespace
}  // namespace kiln::gateway

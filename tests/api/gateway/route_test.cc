#include "api/gateway/route.h"

#include <gtest/gtest.h>

#include <random>

#include "api/gateway/http_date.h"
#include "api/gateway/request_check.h"

namespace kiln::gateway {
namespace {

const std::string kHash(64, 'a');

TEST(GatewayRoute, KnowsItsPaths) {
  EXPECT_EQ(parseRoute("/healthz")->kind, RouteKind::kHealth);
  EXPECT_EQ(parseRoute("/metrics")->kind, RouteKind::kMetrics);
  EXPECT_EQ(parseRoute("/v2/")->kind, RouteKind::kBase);
  const auto manifest = parseRoute("/v2/default/artifacts/manifests/sha256:" + kHash);
  ASSERT_TRUE(manifest);
  EXPECT_EQ(manifest->kind, RouteKind::kManifest);
  EXPECT_EQ(manifest->instance, "default");
  EXPECT_EQ(manifest->hash.hex(), kHash);
  EXPECT_EQ(parseRoute("/v2/team-1/artifacts/blobs/sha256:" + kHash)->kind, RouteKind::kBlob);
}

TEST(GatewayRoute, AnImageIsNamedByItsArtifact) {
  const auto image = parseRoute("/v2/default/artifacts/manifests/image-" + kHash);
  ASSERT_TRUE(image);
  EXPECT_EQ(image->kind, RouteKind::kManifest);
  EXPECT_TRUE(image->image);
  EXPECT_EQ(image->hash.hex(), kHash);
  EXPECT_FALSE(parseRoute("/v2/default/artifacts/manifests/sha256:" + kHash)->image);
  for (const std::string bad : {"image", "image-sha256:", "Image-", "image_", "latest"})
    EXPECT_FALSE(parseRoute("/v2/default/artifacts/manifests/" + bad + kHash)) << bad;
  EXPECT_FALSE(parseRoute("/v2/default/artifacts/blobs/image-" + kHash));
  EXPECT_FALSE(parseRoute("/v2/default/artifacts/referrers/image-" + kHash));
}

TEST(GatewayRoute, ReferrersMayBeAskedForByType) {
  const std::string path = "/v2/default/artifacts/referrers/sha256:" + kHash;
  EXPECT_EQ(parseRoute(path)->kind, RouteKind::kReferrers);
  EXPECT_EQ(parseRoute(path)->artifactType, "");
  EXPECT_EQ(parseRoute(path + "?artifactType=a/b+c")->artifactType, "a/b+c");
  EXPECT_EQ(parseRoute(path + "?artifactType=a%2Fb%2bc")->artifactType, "a/b+c");
  for (const char* bad : {"?", "?x=1", "?artifactType=a&n=1", "?artifactType=%", "?artifactType=%2",
                          "?artifactType=%zz", "?artifactType=%00", "?artifactType=a b"})
    EXPECT_FALSE(parseRoute(path + bad)) << bad;
  EXPECT_FALSE(parseRoute("/v2/default/artifacts/blobs/sha256:" + kHash + "?artifactType=a"));
}

TEST(GatewayRoute, HostsOfAuthorities) {
  EXPECT_EQ(hostIn("Farm.Example.org:443"), "farm.example.org");
  EXPECT_EQ(hostIn("localhost"), "localhost");
  EXPECT_EQ(hostIn("localhost:"), "localhost");
  EXPECT_EQ(hostIn("[2001:DB8::1]:80"), "[2001:db8::1]");
  for (const char* none : {"", ":80", "a b", "a/b", "a@b", "a:b", "a:80:80", "a:123456", "[::1", "[]",
                           "[::1]80", "[x]", "a,b?", "a#b", "a\tb"})
    EXPECT_EQ(hostIn(none), std::nullopt) << none;
  EXPECT_EQ(originForm("/v2/"), "/v2/");
  EXPECT_EQ(originForm("http://a/v2/?x=y"), "/v2/?x=y");
  EXPECT_EQ(originForm("http://a"), "/");
  EXPECT_EQ(originForm("http://a?x"), "/?x");
  EXPECT_EQ(originForm("ftp://a/v2/"), "ftp://a/v2/");
  EXPECT_EQ(originForm("*"), "*");
}

TEST(GatewayRoute, DatesAreThoseOfHttp) {
  const auto at = [](const char* time) { return httpDate(parseRfc3339(time).value()); };
  EXPECT_EQ(at("1994-11-06T08:49:37Z"), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(at("2024-02-29T23:59:59Z"), "Thu, 29 Feb 2024 23:59:59 GMT");
}

TEST(GatewayRoute, EntityTags) {
  EXPECT_TRUE(namesTag("\"a\"", "\"a\""));
  EXPECT_TRUE(namesTag(" \"b\" ,\tW/\"a\"", "\"a\""));
  EXPECT_TRUE(namesTag("*", "\"a\""));
  EXPECT_FALSE(namesTag("", "\"a\""));
  EXPECT_FALSE(namesTag("a", "\"a\""));
  EXPECT_FALSE(namesTag("\"ab\",,", "\"a\""));
}

TEST(GatewayRoute, KnowsTheLogsFiles) {
  EXPECT_EQ(parseRoute("/log/checkpoint")->kind, RouteKind::kCheckpoint);
  const auto tile = parseRoute("/log/tile/entries/x001/234.p/5");
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->kind, RouteKind::kTile);
  EXPECT_EQ(tile->tile, "tile/entries/x001/234.p/5");
  for (const char* target : {"/log", "/log/", "/log/lock", "/log/checkpoint.staged", "/log/tile/0/../../lock",
                             "/log/tile/0/000.p/256", "/log/tile/0/0"})
    EXPECT_EQ(parseRoute(target).error().code, Code::kNotFound) << target;
}

TEST(GatewayRoute, RefusesTagsAndMalformedDigests) {
  for (const std::string& reference : {std::string("latest"), kHash, "sha256:" + kHash.substr(1),
                                       "sha512:" + kHash, "sha256:" + std::string(64, 'A')}) {
    const auto route = parseRoute("/v2/default/artifacts/manifests/" + reference);
    ASSERT_FALSE(route) << reference;
    EXPECT_EQ(route.error().code, Code::kInvalidArgument);
  }
}

TEST(GatewayRoute, KnowsTheFilesOfAPage) {
  for (const char* target : {"/", "/console.js", "/console.css?x"}) {
    const auto page = parseRoute(target);
    ASSERT_TRUE(page) << target;
    EXPECT_EQ(page->kind, RouteKind::kPage);
    EXPECT_EQ(page->file, target) << "a path, whatever is in it; who has the files knows them by it";
  }
}

TEST(GatewayRoute, EverythingElseIsNotFound) {
  for (const std::string& target :
       {std::string(""), std::string("//"), std::string("/v2/x"), "/v2//artifacts/blobs/sha256:" + kHash,
        "/v2/default/other/blobs/sha256:" + kHash, "/v2/../artifacts/blobs/sha256:" + kHash + "/",
        "/v2/default/artifacts/blobs/sha256:" + kHash + "/", "/v2/De/artifacts/blobs/sha256:" + kHash,
        std::string("/metrics?x"), std::string("/healthz/")}) {
    const auto route = parseRoute(target);
    ASSERT_FALSE(route) << target;
    EXPECT_EQ(route.error().code, Code::kNotFound) << target;
  }
}

TEST(GatewayRoute, RangesOfABlob) {
  const auto check = [](const char* header, std::uint64_t offset, std::uint64_t length) {
    const auto range = parseRange(header, 100);
    ASSERT_TRUE(range && *range) << header;
    EXPECT_EQ((*range)->offset, offset) << header;
    EXPECT_EQ((*range)->length, length) << header;
  };
  check("bytes=0-0", 0, 1);
  check("bytes=10-19", 10, 10);
  check("bytes=90-", 90, 10);
  check("bytes=-5", 95, 5);
  check("bytes=-500", 0, 100);
  check("bytes=50-4000", 50, 50);
  check("Bytes=50-59", 50, 10);
  for (const char* bad : {"", "bytes=", "bytes=a-b", "bytes=5", "bytes=9-1", "bytes=0-1,3-4", "lines",
                          "bytes=--1", "bytes=0-99999999999999999999999"}) {
    EXPECT_FALSE(parseRange(bad, 100)) << bad;
  }
  const auto otherUnit = parseRange("lines=0-1", 100);
  EXPECT_TRUE(otherUnit && !*otherUnit) << "is as if it were not there";
  EXPECT_EQ(parseRange("bytes=100-", 100).error().code, Code::kOutOfRange);
  EXPECT_EQ(parseRange("bytes=0-", 0).error().code, Code::kOutOfRange);
}

TEST(GatewayRoute, SurvivesMutatedInput) {
  std::mt19937 random(7);
  const std::string seed = "/v2/default/artifacts/manifests/sha256:" + kHash;
  for (int i = 0; i < 20000; ++i) {
    std::string target = seed.substr(0, random() % (seed.size() + 1));
    for (int k = 0; k < 3 && !target.empty(); ++k)
      target[random() % target.size()] = static_cast<char>(random());
    (void)parseRoute(target);
    (void)parseRange("bytes=" + target.substr(0, 8), random());
  }
}

}  // namespace
}  // namespace kiln::gateway

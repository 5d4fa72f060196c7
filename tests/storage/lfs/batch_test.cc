#include "storage/lfs/batch.h"

#include <gtest/gtest.h>

#include "storage/lfs/server_url.h"

namespace kiln::lfs {
namespace {

const LargeFile kOne{"m.onnx", digestOf("one"), ""}, kTwo{"w.bin", digestOf("second"), ""};

std::string object(const LargeFile& file, const std::string& rest) {
  return R"({"oid":")" + file.object.hex() + R"(","size":)" + std::to_string(file.object.size) + "," + rest +
         "}";
}
std::string at(const std::string& href, const std::string& more = "") {
  return R"("actions":{"download":{"href":")" + href + "\"" + more + "}}";
}
Result<std::vector<Download>> read(const std::string& objects, const std::vector<LargeFile>& files = {kOne}) {
  return readBatch(R"({"objects":[)" + objects + "]}", files);
}

TEST(LfsBatch, AsksForEachObjectOnce) {
  const std::vector<LargeFile> files = {kOne, kTwo, {"copy.onnx", kOne.object, ""}};
  EXPECT_EQ(batchRequest(files).value(), R"({"hash_algo":"sha256","objects":[{"oid":")" + kOne.object.hex() +
                                             R"(","size":3},{"oid":")" + kTwo.object.hex() +
                                             R"(","size":6}],"operation":"download","transfers":["basic"]})");
}

TEST(LfsBatch, AnswersAreInTheOrderOfTheFiles) {
  const auto downloads =
      read(object(kTwo, at("https://b/2", R"(,"header":{"authorization":"Basic eA==","X-A":"1"})")) + "," +
               object(kOne, at("https://a/1")),
           {kOne, kTwo, kOne});
  ASSERT_TRUE(downloads) << downloads.error().message;
  ASSERT_EQ(downloads->size(), 3u);
  EXPECT_EQ((*downloads)[0].href, "https://a/1");
  EXPECT_FALSE((*downloads)[0].authorizes);
  EXPECT_EQ((*downloads)[1].href, "https://b/2");
  EXPECT_EQ((*downloads)[1].headers, (std::vector<std::string>{"X-A: 1", "authorization: Basic eA=="}));
  EXPECT_TRUE((*downloads)[1].authorizes);
  EXPECT_EQ((*downloads)[2].href, "https://a/1");
}

TEST(LfsBatch, WhatIsNoAnswerIsTheServersFault) {
  for (const std::string& answer :
       {std::string("{"), std::string("[]"), std::string("{}"), std::string(R"({"objects":{}})"),
        std::string(R"({"objects":[1]})"), std::string(R"({"objects":[{"oid":7}]})"),
        R"({"objects":[)" + object(kOne, R"("actions":[])") + "]}",
        R"({"objects":[)" + object(kOne, at("")) + "]}", R"({"objects":[)" + object(kOne, at("a\\nb")) + "]}",
        R"({"objects":[)" + object(kOne, at("https://a", R"(,"header":{"a b":"1"})")) + "]}",
        R"({"objects":[)" + object(kOne, at("https://a", R"(,"header":{"a":1})")) + "]}",
        R"({"objects":[)" + object(kOne, at("https://a", R"(,"header":{"Content-Length":"1"})")) + "]}",
        R"({"objects":[)" + object(kOne, at(std::string(9000, 'x'))) + "]}"}) {
    const auto downloads = readBatch(answer, std::vector<LargeFile>{kOne});
    ASSERT_FALSE(downloads) << answer;
    EXPECT_EQ(downloads.error().code, Code::kDataLoss) << answer << ": " << downloads.error().message;
  }
}

TEST(LfsServerUrl, IsWhereGitLfsLooks) {
  const std::pair<const char*, const char*> servers[] = {
      {"https://g.example.org/a/b", "https://g.example.org/a/b.git/info/lfs"},
      {"https://g.example.org:8443/a/b.git/", "https://g.example.org:8443/a/b.git/info/lfs"},
      {"ssh://git@g.example.org:2222/a/b.git", "https://g.example.org/a/b.git/info/lfs"},
      {"https://[::1]:1/a", "https://[::1]:1/a.git/info/lfs"}};
  for (const auto& [url, server] : servers)
    EXPECT_EQ(textOf(serverOf(source::parseGitUrl(url).value())), server);
}

TEST(LfsServerUrl, PlacesAreThoseThatLibcurlConnectsTo) {
  const auto place = [](const std::string& href) {
    const auto found = placeOf(href);
    return found ? found->scheme + " " + found->host + " " + found->port : std::string("refused");
  };
  EXPECT_EQ(place("https://CDN.example.org:443/o?sig=1"), "https cdn.example.org ");
  EXPECT_EQ(place("https://cdn.example.org.:8443/o#x"), "https cdn.example.org 8443");
  EXPECT_EQ(place("http://[::1]:1/o"), "http ::1 1");
  EXPECT_EQ(place("https://127.1/o"), "https 127.0.0.1 ");
  for (const char* bad :
       {"file:///etc/passwd", "gopher://a/", "https://u:p@a/", "//a/b", "/a/b", "https:///a", "https://a b/",
        "https://\xc3\xa9.example.org/", "https://%61/..", "https://a@b@c/"})
    EXPECT_TRUE(place(bad) == "refused" || place(bad) == "https a ") << bad << ": " << place(bad);
}

}  // namespace
}  // namespace kiln::lfs

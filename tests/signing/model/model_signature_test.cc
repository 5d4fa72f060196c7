#include "signing/model/model_signature.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "manifest/base/file.h"
#include "manifest/statement/statement.h"
#include "signing/dsse/dsse.h"
#include "tests/support/temp_directory.h"

namespace kiln::signing {
namespace {

namespace fs = std::filesystem;
using testing_support::TempDirectory;

std::string peer(const std::string& name) {
  return readRegular(std::string(KILN_SOURCE_DIR) + "/tests/signing/model/peer/" + name, 1 << 20).value();
}

std::vector<ModelKey> peerKey(const std::string& name) {
  return {ModelKey::fromPem(peer(name + ".pem")).value()};
}

void put(const std::string& path, std::string_view content) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

// What peer/make.sh signs.
class ModelSignature : public ::testing::Test {
 protected:
  ModelSignature() {
    put(model_ + "/signme-1", "signme-1\n");
    put(model_ + "/signme-2", "signme-2");
    put(model_ + "/ignore-me", "");
    put(model_ + "/subdir/ein Gewicht \xc3\xa4.bin", "adapter");
    put(model_ + "/.git/HEAD", "x");
  }

  // Signs, then checks.
  Status again(const ModelScope& scope = {}) {
    KILN_ASSIGN(const std::string text, signModel(model_, key_, scope));
    KILN_ASSIGN(const SignedModel opened, openModelSignature(text, keys()));
    return checkModel(model_, opened.manifest, scope);
  }
  Result<SignedModel> opened(const std::string& text) { return openModelSignature(text, keys()); }
  std::vector<ModelKey> keys() { return {ModelKey::fromPem(key_.publicKey().pem()).value()}; }
  // What is wrong with the model; "" for nothing.
  std::string wrong(const ModelManifest& said, const ModelScope& scope = {}) {
    const Status good = checkModel(model_, said, scope);
    if (good) return {};
    EXPECT_EQ(good.error().code, Code::kDataLoss);
    return good.error().message;
  }
  ModelManifest said() { return opened(signModel(model_, key_).value())->manifest; }
  // A signature of this statement, whatever it says.
  std::string signedText(const std::string& statement) {
    const Envelope envelope = signEnvelope(kInTotoPayload, statement, key_).value();
    return Json{{"mediaType", "application/vnd.dev.sigstore.bundle.v0.3+json"},
                {"verificationMaterial", {{"publicKey", {{"hint", "any"}}}}},
                {"dsseEnvelope", envelope.toJson()}}
        .dump();
  }

  TempDirectory home_;
  const std::string model_ = home_ / "model";
  const PrivateKey key_ = PrivateKey::create().value();
};

TEST_F(ModelSignature, OfAnotherImplementationHoldsOnEveryCurve) {
  for (const char* curve : {"p256", "p384", "p521"}) {
    const auto signedModel = openModelSignature(peer(std::string(curve) + ".sig"), peerKey(curve));
    ASSERT_TRUE(signedModel) << curve << ": " << signedModel.error().message;
    EXPECT_EQ(signedModel->signer.keyId, peerKey(curve)[0].id());
    EXPECT_EQ(signedModel->manifest.resources.size(), 3u);
    EXPECT_TRUE(checkModel(model_, signedModel->manifest)) << curve;
  }
  EXPECT_EQ(openModelSignature(peer("p256.sig"), peerKey("p384")).error().code, Code::kDataLoss);
}

TEST_F(ModelSignature, OfAnotherImplementationOverLinksAndOneFile) {
  put(home_ / "links/real", "data");
  fs::create_symlink("real", home_ / "links/link");
  const auto links = openModelSignature(peer("links.sig"), peerKey("p256")).value();
  EXPECT_TRUE(checkModel(home_ / "links", links.manifest));
  fs::remove(home_ / "links/link");
  fs::create_symlink("/dev/null", home_ / "links/link");
  EXPECT_FALSE(checkModel(home_ / "links", links.manifest));

  const auto file = openModelSignature(peer("file.sig"), peerKey("p256")).value();
  EXPECT_TRUE(checkModel(model_ + "/signme-1", file.manifest));
  EXPECT_FALSE(checkModel(model_ + "/signme-2", file.manifest));
  EXPECT_FALSE(checkModel(model_, file.manifest));
}

TEST_F(ModelSignature, OfEarlierReleasesAndOfGoHolds) {
  const std::string folder = std::string(KILN_SOURCE_DIR) + "/tests/signing/model/historical/";
  const std::vector<ModelKey> keys{
      ModelKey::fromPem(readRegular(folder + "key.pem", 1 << 10).value()).value()};
  EXPECT_EQ(modelKeyHint(keys[0].pem()), "e8450dec4eb99dae995da9af1bc2cc9f76ed669ee2e744f57abba763df3e3f8e");
  put(home_ / "simple/signme-1", "signme-1\n");
  put(home_ / "simple/signme-2", "signme-2");
  put(home_ / "simple/ignore-me", "");
  for (const char* name : {"v0.3.1-elliptic-key", "v1.0.0-elliptic-key", "v1.0.1-elliptic-key",
                           "v1.1.0-elliptic-key", "key-simple-go"}) {
    const auto signedModel = openModelSignature(readRegular(folder + name + ".sig", 1 << 20).value(), keys);
    ASSERT_TRUE(signedModel) << name << ": " << signedModel.error().message;
    const bool whole = signedModel->manifest.resources[0].name == kWholeModel;
    EXPECT_TRUE(checkModel(home_ / (whole ? "simple/signme-1" : "simple"), signedModel->manifest,
                           {"", {"ignore-me"}, false}))
        << name;
    put(home_ / "simple/signme-1", "changed");
    EXPECT_FALSE(checkModel(home_ / (whole ? "simple/signme-1" : "simple"), signedModel->manifest,
                            {"", {"ignore-me"}, false}));
    put(home_ / "simple/signme-1", "signme-1\n");
  }
}

TEST_F(ModelSignature, NamesWhatWasChangedIsMissingOrWasAdded) {
  const ModelManifest manifest = said();
  EXPECT_EQ(wrong(manifest), "");
  put(model_ + "/signme-1", "other");
  EXPECT_NE(wrong(manifest).find("changed is \"signme-1\""), std::string::npos) << wrong(manifest);
  put(model_ + "/signme-1", "signme-1\n");
  put(model_ + "/new", "");
  EXPECT_NE(wrong(manifest).find("not signed is \"new\""), std::string::npos);
  EXPECT_EQ(wrong(manifest, {"", {}, true}), "");
  EXPECT_EQ(wrong(manifest, {"", {"./new"}, false}), "");
  fs::remove(model_ + "/signme-2");
  EXPECT_NE(wrong(manifest, {"", {}, true}).find("missing is \"signme-2\""), std::string::npos);
}

TEST_F(ModelSignature, LeavesOutWhatGitKeepsAtTheTopAlone) {
  put(model_ + "/subdir/.gitignore", "x");
  const ModelManifest manifest = said();
  std::vector<std::string> names;
  for (const ModelResource& resource : manifest.resources) names.push_back(resource.name);
  EXPECT_EQ(names, (std::vector<std::string>{"ignore-me", "signme-1", "signme-2", "subdir/.gitignore",
                                             "subdir/ein Gewicht \xc3\xa4.bin"}));
  put(model_ + "/.git/HEAD", "another");
  EXPECT_EQ(wrong(manifest), "");
}

TEST_F(ModelSignature, AnIgnoredPathIsExactAndTakesAllBelowIt) {
  const std::string text =
      signModel(model_, key_, {"", {"subdir//", "signme-1", "../model/signme-2"}}).value();
  const ModelManifest manifest = opened(text)->manifest;
  EXPECT_EQ(manifest.resources.size(), 2u);  // ignore-me, signme-2
  EXPECT_EQ(manifest.ignorePaths, (std::vector<std::string>{".git", ".gitattributes", ".github", ".gitignore",
                                                            "signme-1", "subdir"}));
}

TEST_F(ModelSignature, LiesInTheFolderAndIsNoPartOfTheModel) {
  const std::string path = modelSignaturePath(model_);
  EXPECT_EQ(path, model_ + "/model.sig");
  put(path, "an earlier one");
  EXPECT_TRUE(again({path}));
  EXPECT_EQ(opened(signModel(model_, key_, {path}).value())->manifest.resources.size(), 4u);
}

TEST_F(ModelSignature, RefusesLinksSpecialFilesAndCircles) {
  const ModelManifest manifest = said();
  fs::create_symlink("signme-1", model_ + "/link");
  EXPECT_NE(wrong(manifest).find("symbolic link"), std::string::npos);
  EXPECT_NE(wrong(manifest, {"", {}, true}).find("symbolic link"), std::string::npos);
  EXPECT_EQ(signModel(model_, key_).error().code, Code::kDataLoss);
  fs::remove(model_ + "/link");
  ASSERT_EQ(::mkfifo((model_ + "/fifo").c_str(), 0600), 0);
  EXPECT_NE(wrong(manifest).find("neither a file nor a folder"), std::string::npos);
  fs::remove(model_ + "/fifo");
  fs::create_symlink(".", model_ + "/circle");
  ModelManifest followed = manifest;
  followed.allowSymlinks = true;
  EXPECT_NE(wrong(followed).find("circle"), std::string::npos) << wrong(followed);
}

TEST_F(ModelSignature, AModelWithoutFilesIsNotSigned) {
  fs::create_directories(home_ / "empty/.git");
  put(home_ / "empty/.gitignore", "x");
  EXPECT_EQ(signModel(home_ / "empty", key_).error().code, Code::kInvalidArgument);
  EXPECT_EQ(signModel(home_ / "nothing", key_).error().code, Code::kNotFound);
}

TEST_F(ModelSignature, EveryFlippedBitOfTheEnvelopeIsRefused) {
  const std::string text = signModel(model_, key_).value();
  const std::size_t begin = text.find("dsseEnvelope");
  for (std::size_t i = begin; i < text.find("verificationMaterial"); ++i) {
    std::string bad = text;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(opened(bad)) << i;
  }
}

// The reference implementation compares paths part by part, others byte by byte.
TEST_F(ModelSignature, TheOrderOfTheFilesIsItsProducers) {
  put(model_ + "/subdir.json", "{}");
  put(model_ + "/subdir-2.bin", "more");
  ModelManifest other = said();
  ASSERT_TRUE(std::ranges::is_sorted(other.resources, {}, &ModelResource::name));
  std::ranges::reverse(other.resources);
  const auto signedModel = opened(signedText(other.statement().value()));
  ASSERT_TRUE(signedModel) << signedModel.error().message;
  EXPECT_TRUE(checkModel(model_, signedModel->manifest));
  EXPECT_TRUE(std::ranges::is_sorted(signedModel->manifest.resources, {}, &ModelResource::name));

  std::ranges::sort(other.resources, {}, &ModelResource::name);
  other.resources.push_back(other.resources.front());
  const auto twice = opened(signedText(other.statement().value()));
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("there twice"), std::string::npos) << twice.error().message;
}

TEST_F(ModelSignature, SignsNothingThatIsTooLargeToBeRead) {
  std::string deep = home_ / "large";
  for (int i = 0; i < 14; ++i) deep += "/" + std::string(250, 'd');
  for (int i = 0; i < 2800; ++i) put(deep + "/" + std::to_string(i), "");
  const auto text = signModel(home_ / "large", key_);
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("bytes"), std::string::npos) << text.error().message;
}

TEST_F(ModelSignature, RefusesStatementsOfOtherForms) {
  const std::string good = said().statement().value();
  EXPECT_TRUE(opened(signedText(good)));
  const auto refused = [&](auto change) {
    Json json = Json::parse(good);
    change(json);
    const auto got = opened(signedText(json.dump()));
    return got ? Code{} : got.error().code;
  };
  EXPECT_EQ(refused([](Json& json) { json["_type"] = "https://in-toto.io/Statement/v0.1"; }),
            Code::kDataLoss);
  EXPECT_EQ(refused([](Json& json) { json["predicateType"] = "https://example.com/x"; }), Code::kDataLoss);
  EXPECT_EQ(refused([](Json& json) { json["predicate"]["resources"] = Json::array(); }), Code::kDataLoss);
  EXPECT_EQ(refused([](Json& json) { json["predicate"].erase("serialization"); }), Code::kDataLoss);
  EXPECT_EQ(refused([](Json& json) { json["predicate"]["resources"][0]["name"] = "../x"; }), Code::kDataLoss);
  EXPECT_EQ(refused([](Json& json) { json["predicate"]["resources"][0]["name"] = "/x"; }), Code::kDataLoss);
  EXPECT_EQ(refused([](Json& json) { json["predicate"]["resources"][0]["name"] = "."; }), Code::kDataLoss);
  EXPECT_EQ(refused([](Json& json) { json["predicate"]["resources"][1]["name"] = "ignore-me"; }),
            Code::kDataLoss);
  EXPECT_EQ(refused([](Json& json) { json["predicate"]["resources"].erase(0); }), Code::kDataLoss);
  EXPECT_EQ(refused([](Json& json) { json["predicate"]["resources"][0]["algorithm"] = "blake3"; }),
            Code::kUnimplemented);
  EXPECT_EQ(refused([](Json& json) { json["predicate"]["serialization"]["method"] = "trees"; }),
            Code::kUnimplemented);
  EXPECT_EQ(refused([](Json& json) { json["predicate"]["serialization"]["method"] = "shards"; }),
            Code::kDataLoss);
  EXPECT_EQ(refused([](Json& json) { json["predicate"]["more"] = 1.5; }), Code{});  // is not read
}

TEST_F(ModelSignature, InShardsEveryByteCounts) {
  const ModelScope scope{"", {}, false, 4};
  ASSERT_TRUE(again(scope));
  const ModelManifest said = opened(signModel(model_, key_, scope).value())->manifest;
  ASSERT_EQ(said.shardBytes, 4u);
  ASSERT_EQ(said.resources.size(), 3u) << "the file without bytes has no shard";
  EXPECT_EQ(said.resources[0].name, "signme-1");
  EXPECT_EQ(said.resources[0].digest.size, 9u);
  ASSERT_EQ(said.resources[0].shards.size(), 3u);
  EXPECT_EQ(said.resources[0].shards[1].hash, digestOf("me-1").hash);
  EXPECT_EQ(said.resources[0].shards[2].hash, digestOf("\n").hash);
  for (const char* other : {"signme-2\n", "signme-1", "signme-1\n\n", "me-1sign\n", "sign", ""}) {
    put(model_ + "/signme-1", other);
    EXPECT_NE(wrong(said).find("changed is \"signme-1\""), std::string::npos) << other;
  }
  put(model_ + "/signme-1", "signme-1\n");
  EXPECT_EQ(wrong(said), "");
  put(model_ + "/empty", "");
  EXPECT_EQ(wrong(said), "") << "of files without bytes shards say nothing";
  put(model_ + "/more", "x");
  EXPECT_NE(wrong(said).find("not signed is \"more\""), std::string::npos);
  fs::remove(model_ + "/more");
  fs::remove(model_ + "/signme-2");
  EXPECT_NE(wrong(said).find("missing is \"signme-2\""), std::string::npos);
  put(model_ + "/a:0:4", "x");
  EXPECT_EQ(signModel(model_, key_, scope).error().code, Code::kInvalidArgument)
      << "a name that a shard could have";
}

TEST_F(ModelSignature, AFileInShardsHasOneDigest) {
  const ModelManifest several = opened(signModel(model_, key_, {"", {}, false, 4}).value())->manifest;
  const ModelManifest one = opened(signModel(model_, key_, {"", {}, false, 64}).value())->manifest;
  const Digest right = digestOf("signme-1\n"), wrong = digestOf("signme-2");
  EXPECT_EQ(one.resources[0].digest.hash, right.hash) << "one shard is the file";
  for (const ModelManifest* said : {&several, &one}) {
    EXPECT_TRUE(checkFile(model_ + "/signme-1", *said, said->resources[0], right));
    EXPECT_FALSE(checkFile(model_ + "/signme-1", *said, said->resources[0], wrong));
  }
  // Whoever changes the file after it was compared, with the digest of what is sent.
  put(model_ + "/signme-1", "signme-2");
  EXPECT_FALSE(checkFile(model_ + "/signme-1", several, several.resources[0], wrong));
  EXPECT_FALSE(checkFile(model_ + "/signme-1", several, several.resources[0], right));
}

TEST_F(ModelSignature, ShardsThatMakeUpNoFileAreRefused) {
  using Names = std::vector<std::string>;
  const auto read = [&](const Names& names, const Json& size = 4) {
    Json list = Json::array();
    Hasher root;
    for (const std::string& name : names) {
      list.push_back({{"name", name}, {"algorithm", "sha256-sharded-4"}, {"digest", digestOf("x").hex()}});
      root.update(digestOf("x").hash);
    }
    const Json statement{{"_type", "https://in-toto.io/Statement/v1"},
                         {"predicateType", kModelSignatureType},
                         {"subject", {{{"name", "m"}, {"digest", {{"sha256", root.finish().hex()}}}}}},
                         {"predicate",
                          {{"resources", list},
                           {"serialization",
                            {{"method", "shards"},
                             {"hash_type", "sha256"},
                             {"allow_symlinks", false},
                             {"shard_size", size}}}}}};
    const auto got = ModelManifest::fromStatement(statement.dump());
    return got ? std::string("read") : got.error().message;
  };
  EXPECT_EQ(read({"a:0:4", "a:4:8", "a:8:9", "b/c:0:1"}), "read");
  EXPECT_EQ(read({"a:4:8", "b:0:1", "a:0:4"}), "read") << "in any order";
  EXPECT_EQ(read({".:0:4", ".:4:5"}), "read") << "a model that is one file";
  const Names refused[] = {{"a"},
                           {"a:0"},
                           {":0:1"},
                           {"a:0:0"},
                           {"a:0:5"},
                           {"a:4:8"},
                           {"a:0:4", "a:5:8"},
                           {"a:0:3", "a:3:6"},
                           {"a:0:4", "a:0:4"},
                           {"a:0:4", "a:2:6"},
                           {"a:00:4"},
                           {"a:0:+4"},
                           {"a:0:-1"},
                           {"a: 0:4"},
                           {"a:0:4 "},
                           {"../a:0:4"},
                           {"/a:0:4"},
                           {".:0:4", "a:0:4"},
                           {"a:b:0:4"},
                           {"a:0:18446744073709551616"}};
  for (const Names& names : refused) EXPECT_NE(read(names), "read") << names[0];
  EXPECT_EQ(read({"a:0:4"}, 4.0), "read") << "as the Python package writes it";
  for (const Json& size : {Json(0), Json(-4), Json(4.5), Json("4"), Json(true), Json(1e300), Json()})
    EXPECT_NE(read({"a:0:4"}, size), "read") << size;
  EXPECT_NE(read({"a:0:4"}, 8), "read") << "an algorithm of another size";
}

TEST_F(ModelSignature, RefusesBundlesOfOtherForms) {
  const std::string good = signModel(model_, key_).value();
  const auto refused = [&](auto change) {
    Json json = Json::parse(good);
    change(json);
    const auto got = opened(json.dump());
    return got ? Code{} : got.error().code;
  };
  EXPECT_EQ(refused([](Json& json) { json["mediaType"] = "application/json"; }), Code::kDataLoss);
  EXPECT_EQ(refused([](Json& json) { json.erase("dsseEnvelope"); }), Code::kDataLoss);
  EXPECT_EQ(refused([](Json& json) { json["dsseEnvelope"]["signatures"] = Json::array(); }), Code::kDataLoss);
  EXPECT_EQ(refused([](Json& json) { json["dsseEnvelope"]["payloadType"] = "text/plain"; }), Code::kDataLoss);
  EXPECT_EQ(
      refused([](Json& json) { json["verificationMaterial"] = {{"x509CertificateChain", Json::object()}}; }),
      Code::kDataLoss);
  // As earlier releases of the peer wrote them.
  EXPECT_EQ(refused([](Json& json) { json["dsseEnvelope"]["signatures"][0]["keyid"] = nullptr; }), Code{});
  EXPECT_EQ(refused([](Json& json) { json["verificationMaterial"]["publicKey"] = {{"rawBytes", "AA=="}}; }),
            Code{});
  EXPECT_EQ(opened("").error().code, Code::kDataLoss);
  EXPECT_EQ(opened(good.substr(0, 100)).error().code, Code::kDataLoss);
  EXPECT_EQ(opened(R"({"garbage": true})").error().code, Code::kDataLoss);
  EXPECT_EQ(opened(std::string(1 << 20, '[')).error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace kiln::signing

// Container images of artifacts over real HTTP: what is pulled, by whom, and what becomes of rows that lie.
#include <gtest/gtest.h>

#include <set>

#include "api/gateway/gateway.h"
#include "manifest/artifact/media_types.h"
#include "manifest/artifact/oci.h"
#include "manifest/artifact/oci_layout.h"
#include "storage/oci/image_layer.h"
#include "tests/api/gateway/http.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_blob_store.h"

namespace kiln::gateway {
namespace {

using testing_support::httpGet;
using testing_support::HttpReply;

const std::string kPath = "/v2/default/artifacts/";

// One artifact with one image.
class OneImage final : public ArtifactLookup, public ImageLookup, public ReleaseGate {
 public:
  Result<Digest> findManifest(const std::string& instance, const Digest& hash) override {
    if (instance == "default" && hash.hash == image.image.artifact.hash) return image.image.artifact;
    return fail(Code::kNotFound, "no such artifact is published");
  }
  Result<Digest> findBlob(const std::string&, const Digest& hash) override {
    if (hash.hash == image.bundle.hash) return image.bundle;
    return fail(Code::kNotFound, "no published artifact names this blob");
  }
  Result<std::vector<Digest>> findArtifactsOf(const std::string&, const Digest&) override {
    return std::vector{image.image.artifact};
  }
  Result<PublishedArtifact> findReferrers(const std::string& instance, const Digest& artifact) override {
    KILN_ASSIGN(const Digest found, findManifest(instance, artifact));
    return PublishedArtifact{found, {image.bundle}};
  }
  Result<PublishedArtifact> findReferrer(const std::string&, const Digest&) override {
    return fail(Code::kNotFound, "no artifact or bundle is published under this digest");
  }
  Result<std::optional<PublishedImage>> findImage(const std::string& instance, const Digest& hash) override {
    for (const Digest& known : names)
      if (instance == "default" && known.hash == hash.hash) return std::optional(image);
    return std::optional<PublishedImage>();
  }
  Result<std::vector<PublishedImage>> findImagesOf(const std::string& instance,
                                                   const Digest& artifact) override {
    if (instance != "default" || artifact.hash != image.image.artifact.hash)
      return std::vector<PublishedImage>();
    return std::vector{image};
  }
  Status check(const std::string&, const Digest& artifact) override {
    if (refused && artifact == image.image.artifact)
      return fail(Code::kPermissionDenied, "the artifact was recalled");
    return {};
  }

  PublishedImage image;
  std::vector<Digest> names;
  bool refused = false;
};

class ImageTest : public testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] = static_cast<char>(i * 31 + i / 4093);
    const Digest config = put(R"({"kind":"Manifest"})");
    const Digest program = put("program"), weights = put(weights_);
    const auto layer = [](const char* type, const Digest& digest, const char* title) {
      return Json{{"mediaType", type},
                  {"digest", digest.text()},
                  {"size", digest.size},
                  {"annotations", {{"org.opencontainers.image.title", title}}}};
    };
    const std::string text =
        toCanonicalJson(
            {{"schemaVersion", 2},
             {"mediaType", kOciManifestMediaType},
             {"artifactType", kArtifactType},
             {"config",
              {{"mediaType", kManifestMediaType}, {"digest", config.text()}, {"size", config.size}}},
             {"layers",
              {layer(kProgramMediaType, program, "program.so"),
               layer(kWeightsMediaType, weights, "weights/0000.bin")}}})
            .value();
    const Digest artifact = put(text);
    const OciManifest oci = parseOciManifest(text).value();
    PublishedImage& image = farm_->image;
    image.image = {artifact, "cpu:x86-64-v3", {}, {put("a provenance"), put("a compile statement")}};
    for (const storage::ImageLayer& one :
         {storage::ImageLayer::ofArtifact(oci), storage::ImageLayer::ofBundles(image.image.bundles)})
      image.image.layers.push_back(one.digest(storage::readerOf(*store_, "default")).value());
    documents_ = makeImage(image.image).value();
    image.digest = digestOf(documents_.manifest);
    image.bundle = put("an image statement");
    const Digest referrer = digestOf(makeBundleReferrer(image.digest, image.bundle).value());
    farm_->names = {image.digest, digestOf(documents_.config), image.image.layers[0], image.image.layers[1],
                    referrer};
  }

  void start(bool images = true) {
    GatewayOptions options;
    options.clock = std::make_shared<testing_support::ManualClock>();
    GatewayBackend backend{
        farm_, store_, std::make_shared<prometheus::Registry>(), [] { return Status(); }, {}, {}, farm_};
    if (images) backend.images = farm_;
    gateway_ = std::move(*Gateway::start(options, std::move(backend)));
  }
  HttpReply get(const std::string& path, std::vector<std::string> headers = {}, const char* method = "GET") {
    return httpGet("http://127.0.0.1:" + std::to_string(gateway_->port()) + path, std::move(headers), method);
  }
  Digest put(std::string_view text) { return storage::putBlob(*store_, "default", asBytes(text)).value(); }
  std::string artifactPath(const char* kind) {
    return kPath + kind + "/" + farm_->image.image.artifact.text();
  }

  std::string weights_ = std::string(1'000'000, '\0');
  std::shared_ptr<testing_support::MemoryBlobStore> store_ =
      std::make_shared<testing_support::MemoryBlobStore>();
  std::shared_ptr<OneImage> farm_ = std::make_shared<OneImage>();
  ImageDocuments documents_;
  std::unique_ptr<Gateway> gateway_;
};

// As a node pulls: the manifest, then all that it names.
TEST_F(ImageTest, IsPulledByDigestAndByTheTagOfItsArtifact) {
  start();
  const auto byDigest = get(kPath + "manifests/" + farm_->image.digest.text());
  ASSERT_EQ(byDigest.status, 200) << byDigest.body;
  EXPECT_EQ(byDigest.body, documents_.manifest);
  EXPECT_EQ(byDigest.headers.at("content-type"), kOciManifestMediaType);
  EXPECT_EQ(byDigest.headers.at("docker-content-digest"), farm_->image.digest.text());
  const auto byTag = get(kPath + "manifests/image-" + farm_->image.image.artifact.hex());
  EXPECT_EQ(byTag.body, documents_.manifest);
  EXPECT_EQ(byTag.headers.at("docker-content-digest"), farm_->image.digest.text());
  const Json manifest = Json::parse(byTag.body);
  EXPECT_EQ(manifest["subject"]["digest"], farm_->image.image.artifact.text());
  EXPECT_EQ(get(kPath + "blobs/" + manifest["config"]["digest"].get<std::string>()).body, documents_.config);
  for (const Json& layer : manifest["layers"]) {
    const std::string path = kPath + "blobs/" + layer["digest"].get<std::string>();
    const auto head = get(path, {}, "HEAD");
    EXPECT_EQ(head.headers.at("content-length"), std::to_string(layer["size"].get<std::uint64_t>()));
    const auto whole = get(path);
    ASSERT_EQ(whole.status, 200);
    EXPECT_EQ(layer["digest"], digestOf(whole.body).text()) << "the bytes are those of the digest";
    // What broke off goes on.
    const auto rest = get(path, {"Range: bytes=700-"});
    EXPECT_EQ(rest.status, 206);
    EXPECT_TRUE(rest.body == whole.body.substr(700));
    EXPECT_EQ(get(path, {"Range: bytes=" + std::to_string(whole.body.size()) + "-"}).status, 416);
    EXPECT_EQ(get(path, {"If-None-Match: \"" + layer["digest"].get<std::string>() + "\""}).status, 304);
  }
}

TEST_F(ImageTest, IsFoundByWhatItRefersTo) {
  start();
  const Json list = Json::parse(get(artifactPath("referrers")).body)["manifests"];
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["artifactType"], kBundleType);
  EXPECT_EQ(list[1]["artifactType"], kOciImageConfigMediaType);
  EXPECT_EQ(list[1]["digest"], farm_->image.digest.text());
  EXPECT_EQ(list[1]["size"], documents_.manifest.size());
  const auto images = get(artifactPath("referrers") + "?artifactType=" + kOciImageConfigMediaType);
  EXPECT_EQ(Json::parse(images.body)["manifests"].size(), 1u);
  const auto bundles =
      get(artifactPath("referrers") + "?artifactType=application%2Fvnd.dev.sigstore.bundle.v0.3%2Bjson");
  EXPECT_EQ(Json::parse(bundles.body)["manifests"].size(), 1u);
  // To the image refers the statement that names it.
  const Json about = Json::parse(get(kPath + "referrers/" + farm_->image.digest.text()).body)["manifests"];
  ASSERT_EQ(about.size(), 1u);
  const auto manifest = get(kPath + "manifests/" + about[0]["digest"].get<std::string>());
  ASSERT_EQ(manifest.status, 200);
  EXPECT_EQ(about[0]["digest"], digestOf(manifest.body).text());
  const Referrer referrer = parseReferrer(manifest.body).value();
  EXPECT_EQ(referrer.subject.hash, farm_->image.digest.hash);
  EXPECT_EQ(get(kPath + "blobs/" + referrer.layers.at(0).digest.text()).body, "an image statement");
}

TEST_F(ImageTest, GoesOutWhereItsArtifactDoes) {
  farm_->refused = true;
  start();
  std::vector<std::string> paths{"manifests/image-" + farm_->image.image.artifact.hex(),
                                 "referrers/" + farm_->image.digest.text()};
  for (const Digest& name : {farm_->names[0], farm_->names[4]}) paths.push_back("manifests/" + name.text());
  for (const Digest& name : {farm_->names[1], farm_->names[2], farm_->names[3]})
    paths.push_back("blobs/" + name.text());
  for (const std::string& path : paths)
    for (const char* method : {"GET", "HEAD"}) EXPECT_EQ(get(kPath + path, {}, method).status, 403) << path;
  farm_->refused = false;
  for (const std::string& path : paths) {
    EXPECT_EQ(get(kPath + path).status, 200) << path;
    const auto other = get("/v2/other/artifacts/" + path);
    if (path.starts_with("referrers"))
      EXPECT_EQ(Json::parse(other.body)["manifests"].size(), 0u);
    else
      EXPECT_EQ(other.status, 404) << path;
  }
}

TEST_F(ImageTest, NamesAreNotMixedUp) {
  start();
  for (const std::string& path :
       {"blobs/" + farm_->names[0].text(), "manifests/" + farm_->names[1].text(),
        "manifests/" + farm_->names[2].text(), "blobs/" + farm_->names[4].text(),
        "manifests/image-" + farm_->image.digest.hex(), "manifests/image-" + digestOf("nothing").hex()})
    EXPECT_EQ(get(kPath + path).status, 404) << path;
  for (const std::string& path :
       {std::string("manifests/image-"), "manifests/image-x" + digestOf("x").hex(),
        "blobs/image-" + farm_->image.image.artifact.hex(),
        "referrers/image-" + farm_->image.image.artifact.hex(), std::string("manifests/latest")})
    EXPECT_EQ(get(kPath + path).status, 400) << path;
}

// The index is no authority: a row that was changed is served to nobody.
TEST_F(ImageTest, RowsThatMakeAnotherImageAreRefused) {
  const ArtifactImage good = farm_->image.image;
  const std::string manifest = kPath + "manifests/" + farm_->image.digest.text();
  const std::string layer = kPath + "blobs/" + good.layers[0].text();
  start();
  farm_->image.image.target = "cpu:aarch64";
  for (const std::string& path : {manifest, layer, artifactPath("referrers")})
    EXPECT_EQ(get(path).status, 500) << path;
  farm_->image.image = good;
  farm_->image.image.layers[0].size += 512;
  EXPECT_EQ(get(layer).status, 500);
  farm_->image.image = good;
  farm_->image.image.bundles.pop_back();
  EXPECT_EQ(get(kPath + "blobs/" + good.layers[1].text()).status, 500);
  EXPECT_EQ(get(layer).status, 200);
}

TEST_F(ImageTest, ALayerWhoseFilesAreGoneIsNotBegun) {
  start();
  store_->forget("default", digestOf(weights_));
  const std::string layer = kPath + "blobs/" + farm_->image.image.layers[0].text();
  EXPECT_EQ(get(layer).status, 404);
  EXPECT_EQ(get(layer, {}, "HEAD").status, 404);
}

TEST_F(ImageTest, ASideWithoutImagesHasNone) {
  start(false);
  EXPECT_EQ(get(kPath + "manifests/" + farm_->image.digest.text()).status, 404);
  EXPECT_EQ(get(kPath + "manifests/image-" + farm_->image.image.artifact.hex()).status, 404);
  EXPECT_EQ(Json::parse(get(artifactPath("referrers")).body)["manifests"].size(), 1u);
}

}  // namespace
}  // namespace kiln::gateway

// A mirror behind the gateway, over real HTTP: what kiln fetch gets of it, and what it does not hand out.
#include "api/mirror/served.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "api/gateway/log_files.h"
#include "api/pull/mirror.h"
#include "manifest/json/json.h"
#include "manifest/statement/image_statement.h"
#include "signing/bundle/bundle.h"
#include "storage/oci/image_layer.h"
#include "tests/api/gateway/http.h"
#include "tests/api/mirror/mirrored_farm.h"

namespace kiln::mirror {
namespace {

using testing_support::httpGet;

struct ServedTest : testing::Test, testing_support::MirroredFarm {
  std::shared_ptr<prometheus::Registry> metrics = std::make_shared<prometheus::Registry>();
  std::shared_ptr<Served> served;
  std::unique_ptr<gateway::Gateway> server;

  void SetUp() override {
    ASSERT_TRUE(update());
    start();
  }
  void start() {
    ServeOptions options{place, directory / "root.json", directory / "policy.json", std::nullopt,
                         std::chrono::hours(1)};
    served = Served::open(options, time, *metrics).value();
    server = gateway::Gateway::start({}, {.artifacts = served,
                                          .blobs = served->blobs(),
                                          .metrics = metrics,
                                          .health = [this] { return served->health(); },
                                          .log = std::make_shared<gateway::PublishedLogFiles>(served->log()),
                                          .release = served,
                                          .unhealthy = "the mirror is stale",
                                          .images = served})
                 .value();
  }
  // `key` signs which image is made of the artifact and the bundles that there are; the farm has that, too.
  // `more` is one bundle more in the image, which the farm does not offer with the artifact.
  StatedImage addImage(const signing::PrivateKey& key, const std::string& more = "") {
    ArtifactImage image{artifact.ref.artifact, artifact.farm.manifest.spec.target, {}, artifact.ref.bundles};
    if (!more.empty()) image.bundles.push_back(artifact.farm.put(more));
    const OciManifest oci = parseOciManifest(artifact.farm.ociText).value();
    for (const auto& layer :
         {storage::ImageLayer::ofArtifact(oci), storage::ImageLayer::ofBundles(image.bundles)})
      image.layers.push_back(layer.digest(storage::readerOf(artifact.farm.store, "default")).value());
    const std::string statement = imageStatement(image).value();
    const auto envelope = signing::signEnvelope(signing::kInTotoPayload, statement, key).value();
    artifact.ref.bundles.push_back(artifact.farm.put(signing::makeBundle(envelope, key.publicKey()).value()));
    farm.offered = {artifact.ref};
    return readImageStatement(parseStatement(statement).value(), image.artifact, image.target).value();
  }
  Status takeAll() {
    options.all = true;
    KILN_TRY(update());
    served->refresh();
    return {};
  }
  testing_support::HttpReply get(const std::string& path) const {
    return httpGet(url() + "/v2/default/artifacts/" + path, {});
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server->port()); }
  Result<signing::Verdict> fetch(const std::string& to) {
    KILN_ASSIGN(const auto mirror, pull::Mirror::open(url(), "default", {}));
    KILN_ASSIGN(const auto ref, mirror->find(artifact.ref.artifact));
    return node::fetchArtifact(mirror->blobs(), ref, to, trust(), SystemClock());
  }
};

TEST_F(ServedTest, ANodeFetchesAllOfAnArtifact) {
  const auto fetched = fetch(directory / "out");
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_EQ(fetched->artifact, artifact.ref.artifact);
  for (const char* file :
       {"program.so", "manifest.json", "fixtures/fixtures.json", "fixtures/default/input_0.npy"})
    EXPECT_TRUE(std::filesystem::exists(directory / "out" + "/" + file)) << file;
}

TEST_F(ServedTest, OciClientsFindWhatRefersToIt) {
  const std::string name = artifact.ref.artifact.text();
  const auto list = httpGet(url() + "/v2/default/artifacts/referrers/" + name, {});
  ASSERT_EQ(list.status, 200) << list.body;
  std::set<std::string> types;
  const Json index = parseJson(list.body).value();
  for (const Json& entry : index.at("manifests")) {
    types.insert(entry.at("artifactType").get<std::string>());
    const auto manifest =
        httpGet(url() + "/v2/default/artifacts/manifests/" + entry.at("digest").get<std::string>(), {});
    ASSERT_EQ(manifest.status, 200) << manifest.body;
    EXPECT_EQ(digestOf(manifest.body).text(), entry.at("digest").get<std::string>());
  }
  EXPECT_EQ(types, (std::set<std::string>{kBundleType, kFixturesType}));
  EXPECT_EQ(httpGet(url() + "/v2/other/artifacts/manifests/" + name, {}).status, 404);
  EXPECT_EQ(httpGet(url() + "/v2/default/artifacts/blobs/" + digestOf("other").text(), {}).status, 404);
}

TEST_F(ServedTest, ImagesThatTheFarmHasSignedAreMadeOfWhatIsHere) {
  const StatedImage image = addImage(artifact.farm.key);
  ASSERT_TRUE(takeAll());
  const auto manifest = get("manifests/image-" + artifact.ref.artifact.hex());
  ASSERT_EQ(manifest.status, 200) << manifest.body;
  EXPECT_EQ(digestOf(manifest.body), image.digest);
  EXPECT_EQ(get("manifests/" + image.digest.text()).body, manifest.body);
  const Json parts = parseJson(manifest.body).value();
  std::vector<Json> blobs = parts.at("layers");
  ASSERT_EQ(blobs.size(), 2u);
  blobs.push_back(parts.at("config"));
  for (const Json& blob : blobs) {
    const auto bytes = get("blobs/" + blob.at("digest").get<std::string>());
    ASSERT_EQ(bytes.status, 200) << bytes.body;
    EXPECT_EQ(digestOf(bytes.body).text(), blob.at("digest").get<std::string>());
  }
  const Json about = parseJson(get("referrers/" + image.digest.text()).body).value();
  ASSERT_EQ(about.at("manifests").size(), 1u) << "the statement that names it";
  const std::string statement = about.at("manifests").at(0).at("digest");
  EXPECT_EQ(digestOf(get("manifests/" + statement).body).text(), statement);
  EXPECT_NE(get("referrers/" + artifact.ref.artifact.text()).body.find(image.digest.text()),
            std::string::npos);
}

TEST_F(ServedTest, TheIrComesAlongAsAReferrer) {
  const IrStatement ir = artifact.addIr(artifact.farm.key);
  farm.offered = {artifact.ref};
  ASSERT_TRUE(takeAll());
  const auto manifest = get("manifests/" + ir.ir.text());
  ASSERT_EQ(manifest.status, 200) << manifest.body;
  EXPECT_EQ(digestOf(manifest.body), ir.ir);
  EXPECT_NE(get("referrers/" + artifact.ref.artifact.text()).body.find(ir.ir.text()), std::string::npos);
  for (const ModelFile& file : ir.files)
    EXPECT_EQ(digestOf(get("blobs/" + file.digest.text()).body), file.digest) << file.path;

  const auto mirror = pull::Mirror::open(url(), "default", {}).value();
  const auto ref = mirror->find(artifact.ref.artifact);
  ASSERT_TRUE(ref) << ref.error().message;
  auto trusted = trust();
  const auto verdict = node::fetchIr(mirror->blobs(), *ref, directory / "ir", trusted, SystemClock());
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_EQ(digestOfFile(directory / "ir/10-program.ll").value(), ir.files[1].digest);
}

TEST_F(ServedTest, AnImageOfARecalledArtifactIsRefused) {
  const StatedImage image = addImage(artifact.farm.key);
  ASSERT_TRUE(takeAll());
  farm.recallsText = issue("", {artifact.ref.artifact});
  ASSERT_TRUE(takeAll());
  EXPECT_EQ(get("manifests/image-" + artifact.ref.artifact.hex()).status, 403);
  EXPECT_EQ(get("manifests/" + image.digest.text()).status, 403);
  for (const Digest& layer : image.image.layers) EXPECT_EQ(get("blobs/" + layer.text()).status, 403);
}

TEST_F(ServedTest, AnImageWhoseStatementDoesNotCountIsNotServed) {
  const StatedImage image = addImage(signing::PrivateKey::create().value());
  ASSERT_TRUE(takeAll());
  EXPECT_EQ(get("manifests/image-" + artifact.ref.artifact.hex()).status, 404);
  EXPECT_EQ(get("blobs/" + image.image.layers[0].text()).status, 404);
}

TEST_F(ServedTest, AnImageOfBundlesThatAreNotHereIsNotServed) {
  const StatedImage image = addImage(artifact.farm.key, "a bundle that is gone");
  ASSERT_TRUE(takeAll());
  EXPECT_EQ(get("manifests/" + image.digest.text()).status, 404);
}

TEST_F(ServedTest, ARecordOfAnEarlierReleaseHasNoImagesUntilAllIsRead) {
  addImage(artifact.farm.key);
  ASSERT_TRUE(takeAll());
  const std::string file = place + "/artifacts/" + artifact.ref.artifact.hex() + ".json";
  Json text = parseJson(record()->text()).value();
  text.erase("images");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  std::ofstream(file) << text.dump();
  options.all = false;
  ASSERT_TRUE(update());
  EXPECT_TRUE(record()->images.empty());
  ASSERT_TRUE(takeAll());
  EXPECT_EQ(record()->images.size(), 1u);
  EXPECT_EQ(get("manifests/image-" + artifact.ref.artifact.hex()).status, 200);
}

TEST_F(ServedTest, WhatIsRecalledIsRefusedOnceTheMirrorKnows) {
  farm.recallsText = issue("", {artifact.ref.artifact});
  ASSERT_TRUE(update());
  const auto refused = fetch(directory / "out");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_NE(refused.error().message.find("wrong weights"), std::string::npos) << refused.error().message;
  for (const auto& [what, digest] : artifact.blobs())
    EXPECT_NE(httpGet(url() + "/v2/default/artifacts/blobs/" + digest.text(), {}).status, 200) << what;
  // The recalls themselves go out.
  const std::string recalls = digestOf(farm.recallsText).text();
  EXPECT_EQ(httpGet(url() + "/v2/default/artifacts/blobs/" + recalls, {}).body, farm.recallsText);
}

TEST_F(ServedTest, OffersTheRecallsWithEachArtifact) {
  farm.recallsText = issue("", {digestOf("another")});
  ASSERT_TRUE(update());
  const auto mirror = pull::Mirror::open(url(), "default", {}).value();
  EXPECT_EQ(mirror->find(artifact.ref.artifact)->recalls, farm.recallsText);
}

TEST_F(ServedTest, ARootOrPolicyThatRefusesItHoldsItBack) {
  std::ofstream(directory / "policy.json") << signing::Policy{node::defaultPolicy()}.toJson().dump();
  ASSERT_EQ(update()->refused, 0u) << "what is here is not looked at again";
  EXPECT_EQ(fetch(directory / "out").error().code, Code::kPermissionDenied) << "the root is for development";
}

TEST_F(ServedTest, ABlobThatIsDamagedIsNotHandedOut) {
  const Digest weights = artifact.blobs()[3].second;
  const std::string file = place + "/blobs/blobs/" + weights.hex().substr(0, 2) + "/" + weights.hex();
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  std::ofstream(file, std::ios::in).put('!');
  EXPECT_NE(httpGet(url() + "/v2/default/artifacts/blobs/" + weights.text(), {}).status, 200);
  EXPECT_FALSE(fetch(directory / "out"));
  EXPECT_FALSE(std::filesystem::exists(directory / "out"));
}

TEST_F(ServedTest, SaysThatItIsStale) {
  EXPECT_EQ(httpGet(url() + "/healthz", {}).status, 200);
  time.advance(std::chrono::hours(2));
  const auto stale = httpGet(url() + "/healthz", {});
  EXPECT_EQ(stale.status, 503);
  EXPECT_EQ(stale.body, "the mirror is stale\n");
  EXPECT_TRUE(fetch(directory / "out")) << "what is there is served";
}

TEST_F(ServedTest, CountsWhatItHolds) {
  const std::string text = httpGet(url() + "/metrics", {}).body;
  EXPECT_NE(text.find("kiln_mirror_artifacts 1"), std::string::npos) << text;
}

TEST_F(ServedTest, ADamagedRecordHoldsUpNoOther) {
  std::ofstream(place + "/artifacts/" + std::string(64, '0') + ".json") << "{";
  ASSERT_TRUE(update());
  EXPECT_TRUE(fetch(directory / "out"));
  EXPECT_EQ(httpGet(url() + "/healthz", {}).status, 503);
}

}  // namespace
}  // namespace kiln::mirror

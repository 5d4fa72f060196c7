#include "signing/model/input_statement.h"

#include <gtest/gtest.h>

#include "manifest/statement/statement.h"
#include "signing/model/model_manifest.h"
#include "tests/support/sample_spec.h"

namespace kiln::signing {
namespace {

class InputStatement : public ::testing::Test {
 protected:
  // An envelope by itself, as Tekton Chains keeps it.
  std::string bare(const std::string& payload) {
    return signEnvelope(kInTotoPayload, payload, key_)->toJson().dump();
  }
  Result<Json> read(const std::string& text, const CompileSpec& spec = testing_support::sampleSpec()) {
    return inputStatement(text, std::vector{ModelKey::fromPem(key_.publicKey().pem()).value()}, spec);
  }
  // A model signature's statement over these files, sorted by name.
  static std::string files(std::vector<std::pair<std::string, std::string>> named) {
    ModelManifest manifest{"resnet", {}, false, {}};
    for (const auto& [name, bytes] : named) manifest.resources.push_back({name, {digestOf(bytes).hash, 0}});
    return manifest.statement().value();
  }
  static std::string provenance(const std::string& form, const std::string& bytes) {
    return Json{{"_type", form},
                {"subject",
                 {{{"name", "card"}, {"digest", {{"sha512", "00"}}}},
                  {{"name", "any"}, {"digest", {{"sha256", digestOf(bytes).hex()}}}}}},
                {"predicateType", "https://slsa.dev/provenance/v0.2"},
                {"predicate", {{"buildType", "tekton.dev/v1beta1/TaskRun"}, {"score", 0.5}}}}
        .dump();
  }

  const PrivateKey key_ = PrivateKey::create().value();
};

TEST_F(InputStatement, OfAModelSignatureNamesEveryInputAndWhoSigned) {
  const std::string payload =
      files({{"README.md", "card"}, {"v1/data/weights.bin", "external"}, {"v1/resnet.onnx", "model"}});
  const auto said = read(bare(payload));
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ((*said)["inputs"].size(), 2u);
  EXPECT_EQ((*said)["inputs"][0]["digest"], digestOf("model").text());
  EXPECT_EQ((*said)["predicateType"], kModelSignatureType);
  EXPECT_EQ((*said)["keyId"], key_.publicKey().id());
  EXPECT_EQ((*said)["payload"], digestOf(payload).text());
  // It can be seen again by what is inside.
  const auto inside = readEnvelope((*said)["envelope"], kInTotoPayload).value();
  EXPECT_TRUE(verifyEnvelope(inside, std::vector{key_.publicKey()}));
  EXPECT_TRUE(toCanonicalJson(*said));
}

TEST_F(InputStatement, AModelSignatureMustCoverAllThatBelongsToTheModel) {
  EXPECT_EQ(read(bare(files({{"resnet.onnx", "model"}}))).error().code, Code::kDataLoss);
  EXPECT_FALSE(read(bare(files({{"data/weights.bin", "external"}}))));
  EXPECT_FALSE(read(bare(files({{"data/weights.bin", "other"}, {"resnet.onnx", "model"}}))));
  EXPECT_FALSE(read(bare(files({{"data/other.bin", "external"}, {"resnet.onnx", "model"}}))));
  EXPECT_FALSE(read(bare(files({{"data/weights.bin", "external"}, {"v1/resnet.onnx", "model"}}))));
  EXPECT_TRUE(read(bare(files({{"data/weights.bin", "external"}, {"resnet.onnx", "model"}}))));
}

// A shard that is the file says its digest; of several nothing does.
TEST_F(InputStatement, OfShardsThoseThatAreWholeFilesCount) {
  const auto inShards = [](const std::vector<std::string>& weights) {
    ModelManifest manifest{"resnet", {}, false, {}, 8};
    ModelResource data{"data/weights.bin", {digestOf("external").hash, 0}};
    for (const std::string& shard : weights) {
      data.shards.push_back({digestOf(shard).hash, 0});
      data.digest.size += shard.size();
    }
    manifest.resources = {data, {"resnet.onnx", {digestOf("model").hash, 5}, {{digestOf("model").hash, 0}}}};
    return manifest.statement().value();
  };
  const auto whole = read(bare(inShards({"external"})));
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ((*whole)["inputs"].size(), 2u);
  const auto parts = read(bare(inShards({"external", "-"})));
  EXPECT_EQ(parts.error().code, Code::kUnimplemented);
  EXPECT_NE(parts.error().message.find("by whole files"), std::string::npos);
}

TEST_F(InputStatement, ParametersAreTakenByTheirBytesForABuildNamesThemItself) {
  CompileSpec spec = testing_support::sampleSpec();
  spec.files = {{"model.mlir", digestOf("model")}, {"params/0", digestOf("tensors")}};
  spec.parameters = {"params/0"};
  EXPECT_TRUE(read(bare(files({{"forward.mlir", "model"}, {"model.safetensors", "tensors"}})), spec));
  EXPECT_FALSE(read(bare(files({{"forward.mlir", "model"}, {"model.safetensors", "others"}})), spec));
}

TEST_F(InputStatement, OfAProvenanceHasAnInputAsSubject) {
  for (const char* form : {kStatementType, "https://in-toto.io/Statement/v0.1"}) {
    const auto said = read(bare(provenance(form, "external")));
    ASSERT_TRUE(said) << said.error().message;
    ASSERT_EQ((*said)["inputs"].size(), 1u);
    EXPECT_EQ((*said)["inputs"][0]["path"], "data/weights.bin");
    EXPECT_EQ((*said)["predicateType"], "https://slsa.dev/provenance/v0.2");
  }
  EXPECT_EQ(read(bare(provenance(kStatementType, "another model"))).error().code, Code::kDataLoss);
  EXPECT_EQ(read(bare(provenance("https://example.com/x", "model"))).error().code, Code::kInvalidArgument);
}

TEST_F(InputStatement, BelievesNoOtherKeyAndNoCertificate) {
  const std::string good = bare(provenance(kStatementType, "model"));
  const std::vector<ModelKey> other{ModelKey::fromPem(PrivateKey::create()->publicKey().pem()).value()};
  EXPECT_EQ(inputStatement(good, other, testing_support::sampleSpec()).error().code, Code::kDataLoss);
  EXPECT_EQ(inputStatement(good, {}, testing_support::sampleSpec()).error().code, Code::kDataLoss);
  Json json = Json::parse(good);
  json["signatures"].push_back(json["signatures"][0]);
  EXPECT_FALSE(read(json.dump()));
  // As `gh attestation download` has it.
  const Json keyless{{"mediaType", "application/vnd.dev.sigstore.bundle.v0.3+json"},
                     {"verificationMaterial", {{"certificate", {{"rawBytes", "AA=="}}}}},
                     {"dsseEnvelope", Json::parse(good)}};
  EXPECT_EQ(read(keyless.dump()).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace kiln::signing

// IR statements: what the signer wants of one, and what it counts for when an artifact is verified.
#include "manifest/statement/ir_statement.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "signing/bundle/bundle.h"
#include "signing/verify/verify.h"
#include "tests/signing/farm_fixture.h"

namespace kiln::signing {
namespace {

struct IrTest : ::testing::Test {
  Farm farm;
  std::vector<std::string> receipt;  // of worker w3, who compiled it for the IR
  IrStatement ir;
  Policy policy =
      Policy::parse(R"({"apiVersion":"kiln/v1","kind":"Policy","name":"test","allowDevelopment":true,
    "builderIds":["*"],"minBuilders":1,"minOperators":1,"targets":["*"],"toolchains":["*"]})")
          .value();
  std::map<std::string, std::string> files{{"manifest.json", farm.manifestText},
                                           {"program.so", testing_support::kSampleProgram},
                                           {"weights/0000.bin", testing_support::kSampleWeights}};

  IrTest() {
    ir.builderId = kBuilderId;
    ir.invocationId = "job-2";
    ir.worker = "w3";
    ir.operatorName = "third";
    ir.toolchain = farm.manifest.spec.toolchainDigest;
    ir.files = {{"01-capture.mlir", farm.put("module {}")}, {"10-program.ll", farm.put("; a program")}};
    ir.startedOn = ir.finishedOn = farm.clock.now();
    ir.action = farm.putAction(farm.manifest.spec, compileInto("output/artifact", "output/ir"));
    testify(goodReceipt());
  }

  static std::vector<std::string> compileInto(const std::string& out, const std::string& irFolder) {
    return {"toolchain/bin/kiln-cc", "compile", "--model", "input/model.onnx", "--spec",
            "input/spec.json",       "--out",   out,       "--emit-ir",        irFolder};
  }
  Receipt goodReceipt() const {
    Receipt out{ir.action, "lease", 1, "w3", "third", 0, farm.sandboxPolicy, {}};
    for (const ReceiptOutput& output : farm.goodReceipt().outputs)
      out.outputs.push_back({"output/artifact/" + output.path.substr(7), output.digest});
    for (const ModelFile& file : ir.files) out.outputs.push_back({"output/ir/" + file.path, file.digest});
    return out;
  }
  void testify(const Receipt& said) {
    const PrivateKey key = PrivateKey::create().value();
    const auto certificate =
        farm.authority.issue(said.worker, said.operatorName, key.publicKey(), farm.clock.now()).value();
    receipt = {receiptDocument(makeReceipt(said, key).value(), certificate).value()};
    ir.receipt = digestOf(receipt.front());
  }
  std::string statement() { return irStatement(farm.artifact, ir).value(); }
  Result<std::string> sign() {
    return farm.signer.sign({"default", statement(), farm.artifact.size, receipt});
  }
  void expectRefused(const std::string& part) {
    const auto bundle = sign();
    ASSERT_FALSE(bundle) << part;
    EXPECT_EQ(bundle.error().code, Code::kFailedPrecondition) << bundle.error().message;
    EXPECT_NE(bundle.error().message.find(part), std::string::npos) << bundle.error().message;
  }
  Verdict verify(const std::string& bundle) {
    return verifyArtifact({farm.ociText,
                           farm.artifact,
                           [&](const ArtifactFile& file, const std::function<Status(Bytes)>& sink) -> Status {
                             const auto found = files.find(file.path);
                             return found == files.end() ? fail(Code::kNotFound, "missing")
                                                         : sink(asBytes(found->second));
                           },
                           {farm.sign(), bundle}},
                          farm.root, policy, farm.clock);
  }
  // What the signer would not sign, by its key.
  std::string forged(const std::string& text) const {
    return makeBundle(signEnvelope(kInTotoPayload, text, farm.key).value(), farm.key.publicKey()).value();
  }
};

TEST_F(IrTest, IsSignedAndCounts) {
  const auto bundle = sign();
  ASSERT_TRUE(bundle) << bundle.error().message;
  const Verdict verdict = verify(*bundle);
  ASSERT_TRUE(verdict.passed) << verdict.status().error().message;
  ASSERT_NE(verdict.ir(), nullptr);
  EXPECT_EQ(verdict.ir()->files, ir.files);
  EXPECT_EQ(verdict.ir()->ir, ir.ir);
}

TEST_F(IrTest, IsWhatTheReceiptProves) {
  Receipt said = goodReceipt();
  said.exitCode = 1;
  testify(said);
  expectRefused("its run failed");
  said = goodReceipt();
  said.action = farm.action;
  testify(said);
  expectRefused("of another action");
  said = goodReceipt();
  said.outputs.back().digest = farm.put("; another program");
  testify(said);
  expectRefused("another IR than the statement");
  said = goodReceipt();
  said.outputs.push_back({"output/ir/11-more.ll", farm.put("; more")});
  testify(said);
  expectRefused("another IR than the statement");
  said = goodReceipt();
  said.outputs[1].digest = digestOf("another manifest");
  testify(said);
  expectRefused("another manifest.json");
  testify(goodReceipt());
  ir.worker = "w4";
  expectRefused("of another worker");
  ir.worker = "w3";
  receipt.clear();
  expectRefused("the one receipt that it names");
}

TEST_F(IrTest, IsOfTheCompileOfTheArtifactsSpec) {
  for (const auto& arguments :
       {compileInto("output", "output/ir"), compileInto("output/artifact", "output")}) {
    ir.action = farm.putAction(farm.manifest.spec, arguments);
    testify(goodReceipt());
    expectRefused("its command is not the compile of this model");
  }
}

TEST_F(IrTest, MustBeThere) {
  farm.store.forget("default", ir.files[1].digest);
  expectRefused("IR 10-program.ll");
}

TEST_F(IrTest, OfAnotherToolchainFailsTheArtifact) {
  ir.toolchain = digestOf("another toolchain");
  expectRefused("of another toolchain");
  const Verdict verdict = verify(forged(statement()));
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(verdict.status().error().message.find("of another toolchain"), std::string::npos);
}

TEST_F(IrTest, WhoseFilesMakeAnotherFailsTheArtifact) {
  Json json = Json::parse(statement());
  json["predicate"]["files"][1]["digest"] = digestOf("; another program").text();
  const Verdict verdict = verify(forged(toCanonicalJson(json).value()));
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(verdict.status().error().message.find("make another IR"), std::string::npos);
}

TEST_F(IrTest, BySomebodyElseDoesNotCount) {
  ir.builderId = "urn:kiln:builder:another";
  const Verdict verdict = verify(forged(statement()));
  EXPECT_TRUE(verdict.passed) << "the provenance holds";
  EXPECT_EQ(verdict.ir(), nullptr);
}

}  // namespace
}  // namespace kiln::signing

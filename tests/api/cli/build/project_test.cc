// kiln init and kiln build of a project, and what kiln.lock holds it to.
#include <sstream>

#include "signing/model/model_signature.h"
#include "tests/api/cli/kiln_build.h"
#include "tests/api/client/onnx_bytes.h"

namespace kiln {
namespace {

using testing_support::KilnBuild;
using testing_support::KilnResult;

struct KilnProject : KilnBuild {
  KilnProject() {
    succeeds();
    toolchain("toolchain");
    file("model.onnx", testing_support::emptyModel());
  }
  // What the farm builds with, by this label.
  void toolchain(const char* tree) {
    farm.script.toolchains.clear();
    v1::Toolchain& only = farm.script.toolchains.emplace_back();
    only.set_label(tree);
    only.mutable_toolchain_digest()->set_hash(digestOf(tree).hex());
    for (v1::Job& job : farm.script.watch) job.mutable_toolchain_digest()->set_hash(digestOf(tree).hex());
  }
  std::string text(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(directory / name, std::ios::binary).rdbuf();
    return text.str();
  }
  KilnResult init() { return kiln({"init"}); }
};

TEST_F(KilnProject, InitFindsTheModelsAndBuildBuildsThem) {
  file("second model.onnx", testing_support::emptyModel());
  const KilnResult made = init();
  ASSERT_EQ(made.exit, 0) << made.err;
  EXPECT_EQ(made.out, "kiln.toml\n");
  const std::string project = text("kiln.toml");
  EXPECT_NE(
      project.find("[[model]]\nname = \"model\"\npath = \"model.onnx\"\ntargets = [\"cpu:x86-64-v3\"]\n"),
      std::string::npos)
      << project;
  EXPECT_NE(project.find("name = \"second-model\"\n"), std::string::npos) << project;
  EXPECT_EQ(init().exit, 2) << "it is left as it is";
  EXPECT_EQ(text("kiln.toml"), project);

  const KilnResult built = kiln({"build"});
  ASSERT_EQ(built.exit, 0) << built.err;
  EXPECT_EQ(built.out, "artifact " + hash + "\nartifact " + hash + "\n");
  ASSERT_EQ(farm.script.submitted.size(), 2u);
  const auto lock = parseJson(text("kiln.lock"));
  ASSERT_TRUE(lock) << text("kiln.lock");
  const Json& model = lock->at("models").at("model");
  EXPECT_EQ(model.at("artifacts").at("cpu:x86-64-v3"), hash);
  EXPECT_EQ(model.at("toolchain"), digestOf("toolchain").text());
  EXPECT_EQ(model.at("inputs").begin().value(), digestOf(testing_support::emptyModel()).text());
}

TEST_F(KilnProject, ALaterBuildSaysWhatChanged) {
  ASSERT_EQ(init().exit, 0);
  ASSERT_EQ(kiln({"build"}).exit, 0);
  const std::string before = hash, lock = text("kiln.lock");
  const KilnResult same = kiln({"build"});
  EXPECT_EQ(same.exit, 0) << same.err;
  EXPECT_EQ(same.err.find("changed"), std::string::npos) << same.err;
  EXPECT_EQ(text("kiln.lock"), lock);
  std::ofstream(directory / "kiln.toml", std::ios::app) << "reassociation = \"off\"\n";
  const KilnResult other = kiln({"build"});
  ASSERT_EQ(other.exit, 0) << other.err;
  EXPECT_NE(hash, before);
  EXPECT_NE(other.err.find("model changed: options"), std::string::npos) << other.err;
  EXPECT_NE(other.err.find("model cpu:x86-64-v3: " + before.substr(0, 19) + " to " + hash.substr(0, 19)),
            std::string::npos)
      << other.err;
  EXPECT_NE(text("kiln.lock"), lock);
}

TEST_F(KilnProject, WhoMustHaveSignedTheModelsIsAskedForWithoutAnOption) {
  const signing::ModelSigner vendor(signing::PrivateKey::create().value()),
      other(signing::PrivateKey::create().value());
  file("vendor.pem", vendor.publicKey().pem());
  file("kiln.toml",
       "[models]\nsigned-by = [\"vendor.pem\"]\n[[model]]\nname = \"m\"\npath = \"model.onnx\"\n"
       "targets = [\"cpu:x86-64-v3\"]\n");
  const auto sign = [&](const signing::ModelSigner& by, const char* name) {
    file(name, signing::signModel(directory / "model.onnx", by).value());
  };
  const auto refused = [&](const char* why) {
    const KilnResult built = kiln({"build"});
    EXPECT_EQ(built.exit, built.err.find("carries no signature") == std::string::npos ? 5 : 6) << built.err;
    EXPECT_NE(built.err.find(why), std::string::npos) << built.err;
    EXPECT_TRUE(farm.script.submitted.empty());
  };
  refused("carries no signature");
  sign(other, "model.onnx.sig");
  refused("not signed by the key that is named");
  sign(vendor, "model.onnx.sig");
  const KilnResult built = kiln({"build"});
  EXPECT_EQ(built.exit, 0) << built.err;
  EXPECT_NE(built.err.find("1 file signed by key " + vendor.publicKey().id()), std::string::npos)
      << built.err;
  EXPECT_EQ(farm.script.submitted.size(), 1u);
  farm.script.submitted.clear();
  file("model.onnx", testing_support::emptyModel() + "x");
  refused("changed is");
  // Where the project says that it lies elsewhere.
  sign(vendor, "elsewhere.sig");
  refused("changed is");
  std::ofstream(directory / "kiln.toml", std::ios::app) << "signature = \"elsewhere.sig\"\n";
  file("model.onnx", testing_support::emptyModel());
  refused("changed is");
  sign(vendor, "elsewhere.sig");
  EXPECT_EQ(kiln({"build"}).exit, 0);
}

TEST_F(KilnProject, LockedRefusesADifference) {
  ASSERT_EQ(init().exit, 0);
  EXPECT_EQ(kiln({"build", "--locked"}).exit, 9) << "there is no lock yet";
  ASSERT_EQ(kiln({"build"}).exit, 0);
  const std::string lock = text("kiln.lock"), project = text("kiln.toml"), built = hash;
  const KilnResult same = kiln({"build", "--locked"});
  EXPECT_EQ(same.exit, 0) << same.err;
  EXPECT_EQ(farm.script.submitted.back().toolchain(), digestOf("toolchain").text()) << "that of the lock";

  const std::size_t submitted = farm.script.submitted.size();
  std::ofstream(directory / "kiln.toml", std::ios::app) << "reassociation = \"off\"\n";
  const KilnResult options = kiln({"build", "--locked"});
  EXPECT_EQ(options.exit, 9);
  EXPECT_NE(options.err.find("differs from kiln.lock in options"), std::string::npos) << options.err;
  EXPECT_EQ(farm.script.submitted.size(), submitted) << "nothing was submitted";

  std::ofstream(directory / "kiln.toml") << project;
  succeeds([](CompileSpec& spec) { spec.files.push_back({"x", digestOf("x")}); });
  toolchain("toolchain");
  EXPECT_NE(kiln({"build", "--locked"}).exit, 0) << "what was not asked for";
  succeeds();
  toolchain("toolchain");
  std::string forged = lock;
  forged.replace(forged.find(built), built.size(), "sha256:" + std::string(64, 'b'));
  std::ofstream(directory / "kiln.lock") << forged;
  const KilnResult artifact = kiln({"build", "--locked"});
  EXPECT_EQ(artifact.exit, 9);
  EXPECT_NE(artifact.err.find("came out otherwise than kiln.lock says for cpu:x86-64-v3"), std::string::npos)
      << artifact.err;
  EXPECT_EQ(artifact.out.find("artifact"), std::string::npos);
  EXPECT_EQ(text("kiln.lock"), forged) << "it stays as it is";
}

TEST_F(KilnProject, LockedSaysWhichInputAndWhichToolchain) {
  ASSERT_EQ(init().exit, 0);
  ASSERT_EQ(kiln({"build"}).exit, 0);
  const std::size_t submitted = farm.script.submitted.size();
  const std::string was = digestOf(testing_support::emptyModel()).text().substr(0, 19);
  const std::string other = testing_support::emptyModel() + testing_support::field(2, "x");  // its producer
  file("model.onnx", other);
  const KilnResult input = kiln({"build", "--locked"});
  EXPECT_EQ(input.exit, 9);
  EXPECT_NE(input.err.find("model model: differs from kiln.lock in input model.onnx: " + was + " to " +
                           digestOf(other).text().substr(0, 19) + "; kiln build without --locked"),
            std::string::npos)
      << input.err;
  file("model.onnx", testing_support::emptyModel());
  toolchain("newer");
  std::ofstream(directory / "kiln.toml", std::ios::app) << "toolchain = \"newer\"\n";
  const KilnResult named = kiln({"build", "--locked"});
  EXPECT_EQ(named.exit, 9);
  EXPECT_NE(
      named.err.find("differs from kiln.lock in toolchain: " + digestOf("toolchain").text().substr(0, 19) +
                     " to " + digestOf("newer").text().substr(0, 19)),
      std::string::npos)
      << named.err;
  EXPECT_EQ(farm.script.submitted.size(), submitted) << "nothing was submitted";
}

TEST_F(KilnProject, WhatHelpsAndWhatIsRefused) {
  const KilnResult none = kiln({"build"});
  EXPECT_EQ(none.exit, 2) << "nobody said what to build";
  EXPECT_NE(none.err.find("kiln init"), std::string::npos) << none.err;
  EXPECT_EQ(kiln({"build", "model.onnx"}).exit, 2) << "without a target";
  EXPECT_EQ(kiln({"build", "--target", "cpu:x86-64-v3"}).exit, 2) << "without a model";
  EXPECT_EQ(kiln({"build", "model.onnx", "--target", "cpu:x86-64-v3", "--locked"}).exit, 2);
  EXPECT_EQ(kiln({"init", "--target", "cpu:x86-64-v9"}).exit, 2);
  EXPECT_EQ(kiln({"init", "nowhere.onnx"}).exit, 6);
  EXPECT_EQ(kiln({"init", "/etc/passwd"}).exit, 2);
  EXPECT_FALSE(std::filesystem::exists(directory / "kiln.toml"));
  ASSERT_EQ(init().exit, 0);
  for (const char* lock :
       {"x", "{}", R"({"version":2,"models":{}})", R"({"version":1,"models":{"model":{}}})",
        R"({"version":1,"models":{"model":{"inputs":{},"artifacts":{},"options":"x","toolchain":"y"}}})"}) {
    std::ofstream(directory / "kiln.lock") << lock;
    const KilnResult wrong = kiln({"build"});
    EXPECT_EQ(wrong.exit, 2) << lock;
    EXPECT_NE(wrong.err.find("kiln.lock"), std::string::npos) << wrong.err;
  }
  EXPECT_TRUE(farm.script.submitted.empty());
}

}  // namespace
}  // namespace kiln

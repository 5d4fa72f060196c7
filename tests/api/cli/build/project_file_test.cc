#include "api/cli/build/project_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_directory.h"

namespace kiln::cli {
namespace {

const std::string kWhole = R"([[model]]
name = "digits"
path = "models/digits.onnx"
targets = ["cpu:x86-64-v3", "cpu:x86-64-v4,cpu:x86-64-v3"]
profiles = ["N=1:8:64"]
pins = ["axis=1"]
params = ["w.npz", "git+https://example.org/r@0123456789012345678901234567890123456789#w.safetensors"]
toolchain = "kiln-1"
precision = "tf32"
builders = 2
check = true
check-plan = "check.json"

[[model]]
name = "remote"
path = "git+https://example.org/r@0123456789012345678901234567890123456789#m.onnx"
targets = ["cpu:x86-64-v3"]
)";

TEST(ProjectFile, SaysWhatTheCommandLineWould) {
  const auto models = parseProject(kWhole, "/home/p");
  ASSERT_TRUE(models) << models.error().message;
  ASSERT_EQ(models->size(), 2u);
  const ProjectModel& digits = models->front();
  EXPECT_EQ(digits.name, "digits");
  EXPECT_EQ(digits.options.model, "/home/p/models/digits.onnx");
  EXPECT_EQ(digits.options.targets,
            (std::vector<std::string>{"cpu:x86-64-v3", "cpu:x86-64-v4,cpu:x86-64-v3"}));
  EXPECT_EQ(digits.options.profiles, std::vector<std::string>{"N=1:8:64"});
  EXPECT_EQ(digits.options.pins, std::vector<std::string>{"axis=1"});
  ASSERT_EQ(digits.options.parameters.size(), 2u);
  EXPECT_EQ(digits.options.parameters[0], "/home/p/w.npz");
  EXPECT_EQ(digits.options.parameters[1].rfind("git+https://", 0), 0u);
  EXPECT_EQ(digits.options.toolchain, "kiln-1");
  EXPECT_EQ(digits.options.precision, "tf32");
  EXPECT_EQ(digits.options.delivery.builders, 2);
  EXPECT_TRUE(digits.options.check);
  EXPECT_EQ(digits.options.checkPlan, "/home/p/check.json");
  EXPECT_EQ(models->back().options.model.rfind("git+https://", 0), 0u);
}

// One model, with `more` as its last line: line 5.
std::string with(const std::string& more) {
  return "[[model]]\nname = \"a\"\npath = \"a.onnx\"\ntargets = [\"cpu:x86-64-v3\"]\n" + more + "\n";
}

TEST(ProjectFile, SaysWhoMustHaveSignedTheModels) {
  const auto models = parseProject(
      "[models]\nsigned-by = [\"trust/vendor.pem\"]\ncertificate-roots = [\"ca.pem\"]\n"
      "certificate-crls = [\"ca.crl\"]\ncertificate-identities = [\"who@vendor.example\"]\n"
      "[[model]]\nname = \"a\"\npath = \"a\"\ntargets = [\"t\"]\nsignature = \"a.sig\"\n"
      "[[model]]\nname = \"b\"\npath = \"b\"\ntargets = [\"t\"]\n",
      "/home/p");
  ASSERT_TRUE(models) << models.error().message;
  for (const ProjectModel& model : *models) {
    const SignerOptions& signers = model.options.modelSigners;
    EXPECT_EQ(signers.keys, std::vector<std::string>{"/home/p/trust/vendor.pem"});
    EXPECT_EQ(signers.roots, std::vector<std::string>{"/home/p/ca.pem"});
    EXPECT_EQ(signers.revocations, std::vector<std::string>{"/home/p/ca.crl"});
    EXPECT_EQ(signers.identities, std::vector<std::string>{"who@vendor.example"});
  }
  EXPECT_EQ(models->front().options.modelSignature, "/home/p/a.sig");
}

// A table that asked for nothing, or not for what its writer meant, would let everything through.
TEST(ProjectFile, SignersThatAreNotWholeAreRefused) {
  const auto refusal = [](const std::string& table, const std::string& path = "a") {
    const auto models = parseProject(
        table + "\n[[model]]\nname = \"a\"\npath = \"" + path + "\"\ntargets = [\"t\"]\n", "/home/p");
    return models ? std::string("taken") : models.error().message;
  };
  const std::string key = "[models]\nsigned-by = [\"k.pem\"]";
  EXPECT_EQ(refusal(key), "taken");
  EXPECT_EQ(refusal("[models]"), "kiln.toml:1: models names nobody who may have signed them");
  EXPECT_EQ(refusal("models = 1"), "kiln.toml:1: models must be a table; each model stands under [[model]]");
  EXPECT_EQ(refusal("[[models]]\nsigned-by = [\"k.pem\"]"),
            "kiln.toml:1: models must be a table; each model stands under [[model]]");
  EXPECT_EQ(refusal("[models]\nsigned-bye = [\"k.pem\"]"),
            "kiln.toml:2: \"signed-bye\" is not known; did you mean \"signed-by\"?");
  EXPECT_EQ(refusal("[models]\nsigned-by = []"), "kiln.toml:2: signed-by must be a list of 1 to 64 texts");
  EXPECT_EQ(refusal("[models]\nsigned-by = \"k.pem\""),
            "kiln.toml:2: signed-by must be a list of 1 to 64 texts");
  EXPECT_EQ(refusal("[models]\nsigned-by = [\"/etc/k.pem\"]"),
            "kiln.toml:2: \"/etc/k.pem\" must be a path below the folder of kiln.toml");
  EXPECT_NE(refusal("[models]\ncertificate-roots = [\"ca.pem\"]").find("needs certificate-identity"),
            std::string::npos);
  EXPECT_NE(refusal("[models]\ncertificate-identities = [\"x\"]").find("goes with certificate-root"),
            std::string::npos);
  EXPECT_NE(refusal(key + "\ncertificate-crls = [\"ca.crl\"]").find("goes with certificate-root"),
            std::string::npos);
  EXPECT_NE(
      refusal(
          "[models]\ncertificate-roots = [\"c\"]\ntrusted-roots = [\"t\"]\ncertificate-identities = [\"x\"]\n"
          "certificate-oidc-issuers = [\"y\"]")
          .find("not both"),
      std::string::npos);
  EXPECT_NE(refusal(key, "git+https://example.org/r@0123456789012345678901234567890123456789#m.onnx")
                .find("check the commit out"),
            std::string::npos);
  EXPECT_NE(parseProject(with("signature = \"a.sig\""), "/home/p")
                .error()
                .message.find("goes with a table [models]"),
            std::string::npos);
}

struct Refusal {
  const char* text;
  const char* message;
};

TEST(ProjectFile, WhatItIsRefusedForHasALine) {
  const Refusal lines[] = {
      {"tagets = 1", "kiln.toml:5: \"tagets\" is not known; did you mean \"targets\"?"},
      {"check = 1", "kiln.toml:5: check must be true or false"},
      {"builders = 17", "kiln.toml:5: builders must be 1 to 16"},
      {"builders = 1.0", "kiln.toml:5: builders must be 1 to 16"},
      {"pins = \"x\"", "kiln.toml:5: pins must be a list of 1 to 64 texts"},
      {"pins = []", "kiln.toml:5: pins must be a list of 1 to 64 texts"},
      {"pins = [1]", "kiln.toml:5: pins must be a text"},
      {"tune = \"\"", "kiln.toml:5: tune must be 1 to 4096 printable bytes"},
      {"tune = \"\\u001b[2J\"", "kiln.toml:5: tune must be 1 to 4096 printable bytes"},
      {"name = \"b\"", "kiln.toml:5: "},
      {"= 1", "kiln.toml:5: "},
      {"data = [\"/etc/passwd\"]", "kiln.toml:5: \"/etc/passwd\" must be a path below"},
      {"data = [\"../x\"]", "kiln.toml:5: \"../x\" must be a path below"},
      {"check-plan = \"a/../../x\"", "kiln.toml:5: \"a/../../x\" must be a path below"},
      {"[farm]", "kiln.toml:5: \"farm\" is not known"},
      {"[[model]]\nname = \"a\"\npath = \"b\"\ntargets = [\"t\"]", "kiln.toml:5: there are two models \"a\""},
      {"[[model]]\nname = \"b\"\ntargets = [\"t\"]", "kiln.toml:5: this model has no path"},
      {"[[model]]\nname = \"-b\"", "kiln.toml:6: \"-b\" can name no model"},
      {"[[model]]\nname=\"b\"\ntargets=[\"t\"]\npath=\"git+file:///home/"
       "x@0123456789012345678901234567890123456789#m\"",
       "kiln.toml:8: path: a repository of this machine"}};
  for (const Refusal& one : lines) {
    const auto models = parseProject(with(one.text), "/home/p");
    ASSERT_FALSE(models) << one.text;
    EXPECT_EQ(models.error().code, Code::kInvalidArgument) << one.text;
    EXPECT_EQ(models.error().message.rfind(one.message, 0), 0u) << one.text << "\n" << models.error().message;
  }
  for (const char* text : {"", "model = 1", "model = [1]", "[model]\nname = \"a\"", "\xff", "[[model]]"})
    EXPECT_FALSE(parseProject(text, "/home/p")) << text;
}

TEST(ProjectFile, AHostileFileIsBounded) {
  std::string many, deep = "x = ", dotted = "a";
  for (int i = 0; i < 101; ++i)
    many += "[[model]]\nname = \"m" + std::to_string(i) + "\"\npath = \"p\"\ntargets = [\"t\"]\n";
  deep += std::string(30'000, '[');
  for (int i = 0; i < 30'000; ++i) dotted += ".a";
  std::string list = "pins = [";
  for (int i = 0; i < 65; ++i) list += "\"x\",";
  for (const std::string& text : {many, deep, dotted + " = 1", "[" + dotted + "]", with(list + "]")}) {
    const auto models = parseProject(text, "/home/p");
    ASSERT_FALSE(models) << text.substr(0, 60);
    EXPECT_LT(models.error().message.size(), 1000u);
  }
  const testing_support::TempDirectory folder;
  std::ofstream(folder / kProjectFile) << "#" << std::string(65 << 10, ' ');
  EXPECT_EQ(readProject(folder.path()).error().code, Code::kInvalidArgument);
}

TEST(ProjectFile, LinksDoNotLeadOut) {
  const testing_support::TempDirectory folder, elsewhere;
  std::filesystem::create_symlink(elsewhere.path(), folder / "out");
  std::filesystem::create_directory(folder / "models");
  std::filesystem::create_symlink(folder / "models", folder / "in");
  const auto read = [&](const std::string& data) {
    return parseProject(with("data = [\"" + data + "\"]"), folder.path());
  };
  EXPECT_TRUE(read("in/w.bin"));
  const auto out = read("out/w.bin");
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message, "kiln.toml:5: \"out/w.bin\" leads out of the folder of kiln.toml");
}

}  // namespace
}  // namespace kiln::cli

// What kiln-signer signs of a toolchain, and what a verifier then believes.
#include <gtest/gtest.h>

#include "signing/verify/admission.h"
#include "storage/tree/tree_builder.h"
#include "tests/signing/farm_fixture.h"
#include "tests/support/sample_lock.h"

namespace kiln::signing {
namespace {

constexpr char kLabel[] = "kiln-0.1.0+llvm22.1.8";

struct AdmissionTest : ::testing::Test {
  Farm farm;
  Digest compiler = farm.put("the compiler");
  Json description{{"apiVersion", "kiln/v1"},
                   {"kind", "Toolchain"},
                   {"name", "kiln"},
                   {"version", "0.1.0"},
                   {"label", kLabel},
                   {"components",
                    {{{"name", "kiln-cc"},
                      {"version", "0.1.0"},
                      {"path", "bin/kiln-cc"},
                      {"digest", compiler.text()},
                      {"size", std::to_string(compiler.size)}}}},
                   {"targets", {"cpu:x86-64-v3"}}};
  ToolchainAdmission admission{.builderId = kBuilderId,
                               .label = kLabel,
                               .lock = farm.put(testing_support::sampleLock().dump()),
                               .admittedOn = farm.clock.now()};

  // With the description as it stands, unless there is to be none.
  Digest tree(bool described = true) {
    storage::TreeBuilder builder;
    EXPECT_TRUE(builder.addFile("bin/kiln-cc", compiler, true));
    if (described) EXPECT_TRUE(builder.addFile("toolchain.json", farm.put(description.dump()), false));
    storage::BuiltTree built = builder.build();
    EXPECT_TRUE(storage::uploadMissing(farm.store, "default", built.directories));
    return built.root;
  }
  Result<std::string> sign(const Digest& tree) {
    return farm.signer.sign({"default", admissionStatement(tree, admission).value(), tree.size, {}});
  }
  void expectRefused(const Digest& tree, const std::string& part) {
    auto bundle = sign(tree);
    ASSERT_FALSE(bundle) << part;
    EXPECT_EQ(bundle.error().code, Code::kFailedPrecondition) << bundle.error().message;
    EXPECT_NE(bundle.error().message.find(part), std::string::npos) << bundle.error().message;
  }
};

TEST_F(AdmissionTest, IsSignedOnceAndVerified) {
  const Digest root = tree();
  const auto bundle = sign(root);
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(*sign(root), *bundle);
  auto said = verifyAdmission(*bundle, root, "default", farm.root, farm.clock.now());
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->label, kLabel);
  EXPECT_EQ(said->lock, admission.lock);
  admission.lock.reset();
  EXPECT_TRUE(sign(root)) << "an admission may name no lock";
}

// A few blobs, of which one is named over and over.
TEST_F(AdmissionTest, AWalkThroughItsTreeIsBounded) {
  reapi::Directory heavy, root;
  heavy.mutable_node_properties()->add_properties()->set_value(std::string(4'000'000, 'x'));
  const Digest shared = farm.put(heavy.SerializeAsString());
  for (int i = 10; i < 50; ++i) {
    auto& node = *root.add_directories();
    node.set_name(std::to_string(i));
    *node.mutable_digest() = toProto(shared);
  }
  expectRefused(farm.put(root.SerializeAsString()), "more than 128 MiB");
}

TEST_F(AdmissionTest, SaysWhatTheTreeSays) {
  admission.label = "kiln-9";
  expectRefused(tree(), "not kiln-9");
  admission.label = kLabel;
  expectRefused(tree(false), "no toolchain.json");
  expectRefused(compiler, "not a Directory message");
  description["components"][0]["digest"] = digestOf("another").text();
  expectRefused(tree(), "bin/kiln-cc");
  description["components"][0]["path"] = "bin/clang";
  expectRefused(tree(), "bin/clang");
  description["more"] = 1;
  expectRefused(tree(), "toolchain.json");
}

TEST_F(AdmissionTest, EveryBlobIsThereAndRehashed) {
  const Digest root = tree();
  farm.store.flipBit("default", compiler);
  expectRefused(root, "toolchain file bin/kiln-cc");
  farm.store.forget("default", compiler);
  expectRefused(root, "toolchain file bin/kiln-cc");
  farm.put("the compiler");
  farm.store.flipBit("default", root);
  expectRefused(root, "toolchain directory /");
}

TEST_F(AdmissionTest, TheLockIsOne) {
  const Digest root = tree();
  admission.lock = farm.put(R"({"apiVersion":"kiln/v1","kind":"ToolchainLock","packages":[]})");
  expectRefused(root, "wheels");
  admission.lock = digestOf("nowhere");
  expectRefused(root, "toolchain lock");
  admission.lock = farm.put(testing_support::sampleLock().dump() + std::string(1 << 20, ' '));
  expectRefused(root, "toolchain lock");
}

TEST_F(AdmissionTest, AVerifierBelievesTheFarmsKeyAboutThisTreeAlone) {
  const Digest root = tree();
  const std::string bundle = sign(root).value();
  auto codeOf = [&](std::string_view text, const Digest& tree, const TrustRoot& trust) {
    return verifyAdmission(text, tree, "default", trust, farm.clock.now()).error().code;
  };
  EXPECT_EQ(codeOf(bundle, compiler, farm.root), Code::kDataLoss);
  EXPECT_EQ(codeOf(bundle, root, Farm().root), Code::kPermissionDenied);
  EXPECT_EQ(codeOf(bundle, root, developmentRoot(farm.key.publicKey(), "urn:other", farm.clock.now())),
            Code::kPermissionDenied);
  EXPECT_EQ(codeOf(farm.sign(), farm.artifact, farm.root), Code::kDataLoss) << "a provenance";
  EXPECT_EQ(codeOf("{}", root, farm.root), Code::kDataLoss);
  std::string damaged = bundle;
  damaged[damaged.find("payload\":\"") + 20] ^= 1;
  EXPECT_EQ(codeOf(damaged, root, farm.root), Code::kDataLoss);
}

TEST_F(AdmissionTest, CountsInItsInstanceAlone) {
  const Digest root = tree();
  const auto in = [&](const std::string& bundle, const char* instance) {
    return verifyAdmission(bundle, root, instance, farm.root, farm.clock.now());
  };
  const std::string old = sign(root).value();
  EXPECT_TRUE(in(old, "default"));
  EXPECT_TRUE(in(old, "b")) << "an earlier release did not say where";
  admission.instance = "default";
  const std::string bundle = sign(root).value();
  EXPECT_TRUE(in(bundle, "default"));
  for (const char* other : {"b", "", "Default"}) {
    const auto replayed = in(bundle, other);
    ASSERT_FALSE(replayed) << other;
    EXPECT_EQ(replayed.error().code, Code::kDataLoss);
    EXPECT_NE(replayed.error().message.find("another instance"), std::string::npos)
        << replayed.error().message;
    EXPECT_EQ(replayed.error().message.find("default"), std::string::npos) << "whose it is";
  }
  admission.instance = "b";
  expectRefused(root, "another instance");
}

}  // namespace
}  // namespace kiln::signing

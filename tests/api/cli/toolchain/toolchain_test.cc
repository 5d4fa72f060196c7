// `kiln toolchain`: what a toolchain was made from goes to the farm and comes back.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "manifest/statement/toolchain_admission.h"
#include "signing/bundle/bundle.h"
#include "signing/trust/trust_root.h"
#include "storage/tree/digest_proto.h"
#include "tests/api/cli/kiln_process.h"
#include "tests/api/support/fake_farm.h"
#include "tests/support/sample_lock.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using testing_support::runKiln;
using testing_support::sampleLock;

constexpr char kLabel[] = "kiln-0.1.0+llvm22.1.8";
constexpr char kIssuer[] = "urn:kiln:builder:test";

struct KilnToolchain : testing::Test {
  testing_support::TempDirectory directory;
  std::unique_ptr<storage::LocalBlobStore> store =
      std::move(*storage::LocalBlobStore::open({.directory = directory / "store"}));
  testing_support::FakeFarm farm{*store};
  std::map<std::string, std::string> environment{{"KILN_ENDPOINT", farm.endpoint()}};
  const std::string lock = sampleLock().dump(1) + "\n";

  KilnToolchain() {
    write("tree/toolchain.json", Json({{"label", kLabel}}).dump());
    write("tree/bin/kiln-cc", "the compiler");
    write("lock.json", lock);
    for (const char* bytes : {"clang", "libc", "nvcc", "source"}) write(input("in", bytes), bytes);
  }
  static std::string input(const std::string& folder, std::string_view bytes) {
    return folder + "/" + digestOf(bytes).hex();
  }
  void write(const std::string& path, std::string_view text) {
    fs::create_directories(fs::path(directory / path).parent_path());
    std::ofstream(directory / path, std::ios::binary) << text;
  }
  std::string read(const std::string& path) {
    std::ifstream file(directory / path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  testing_support::KilnResult kiln(std::vector<std::string> arguments) {
    return runKiln(arguments, environment, directory.path());
  }
  testing_support::KilnResult add(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"toolchain", "add", "tree"});
    return kiln(more);
  }
  Json json(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const auto result = kiln(arguments);
    EXPECT_EQ(result.exit, 0) << result.err;
    return parseJson(result.out).value_or(Json::object());
  }
  void has(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

TEST_F(KilnToolchain, WhatItIsMadeFromComesBack) {
  auto result = add({"--lock", "lock.json", "--inputs", "in"});
  ASSERT_EQ(result.exit, 0) << result.err;
  ASSERT_EQ(farm.script.toolchains.size(), 1u);
  EXPECT_EQ(farm.script.toolchains[0].lock().hash(), digestOf(lock).hex());

  result = kiln({"toolchain", "show", kLabel});
  EXPECT_EQ(result.exit, 0) << result.err;
  has(result.out, "lock     " + digestOf(lock).text());
  has(result.out, "rebuild  yes");
  const Json shown = json({"toolchain", "show", kLabel});
  EXPECT_EQ(shown.value("rebuildable", false), true);
  EXPECT_EQ(shown.value("lock", ""), digestOf(lock).text());

  EXPECT_EQ(kiln({"toolchain", "lock", kLabel}).out, lock);
  result = kiln({"toolchain", "lock", kLabel, "--inputs", "out", "--out", "out.lock.json"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(read("out.lock.json"), lock);
  for (const char* bytes : {"clang", "libc", "nvcc", "source"}) EXPECT_EQ(read(input("out", bytes)), bytes);
  EXPECT_EQ(kiln({"toolchain", "lock", kLabel, "--inputs", "out"}).exit, 0) << "what is there already stays";
  write(input("out", "clang"), "other");
  has(kiln({"toolchain", "lock", kLabel, "--inputs", "out"}).err, "is not package clang-22");
  EXPECT_NE(kiln({"toolchain", "lock", kLabel, "--out", "out.lock.json"}).exit, 0) << "nothing is replaced";
  EXPECT_EQ(json({"toolchain", "lock", kLabel}).at("inputs").size(), 4u);
}

TEST_F(KilnToolchain, AnInstanceBeginsWithItsFirst) {
  const auto first = add({"--instance", "new"});
  EXPECT_EQ(first.exit, 0) << first.err;
  has(first.err, "instance \"new\" begins with it");
  EXPECT_EQ(add().err.find("begins"), std::string::npos);
}

TEST_F(KilnToolchain, WhatIsGoneIsNamed) {
  ASSERT_EQ(add({"--lock", "lock.json"}).exit, 0);
  ASSERT_TRUE(storage::putBlob(*store, "default", asBytes("clang")));
  auto result = kiln({"toolchain", "show", kLabel});
  EXPECT_EQ(result.exit, 0) << result.err;
  has(result.out, "not rebuildable from source: the farm lacks 3 inputs");
  has(result.out, "wheel nvidia-cuda-nvcc 13.0.88  " + digestOf("nvcc").text());
  has(result.out, "source of commit " + std::string(40, 'a'));
  EXPECT_EQ(result.out.find("clang-22"), std::string::npos);
  const Json shown = json({"toolchain", "show", kLabel});
  EXPECT_EQ(shown.value("rebuildable", true), false);
  EXPECT_EQ(shown.at("lacking").size(), 3u);
  result = kiln({"toolchain", "lock", kLabel, "--inputs", "out"});
  EXPECT_EQ(result.exit, 6);
  has(result.err, "not rebuildable from source");
  has(result.err, "package libc6");
  EXPECT_EQ(read(input("out", "clang")), "clang") << "what there is, is saved";
}

TEST_F(KilnToolchain, WithoutALockItSaysSo) {
  ASSERT_EQ(add().exit, 0);
  has(kiln({"toolchain", "show", kLabel}).out,
      "not rebuildable from source: toolchain " + std::string(kLabel) + " was added without a lock");
  const auto result = kiln({"toolchain", "lock", kLabel});
  EXPECT_EQ(result.exit, 6);
  has(result.err, "its tree still runs");
  EXPECT_EQ(add({"--inputs", "in"}).exit, 2) << "inputs are a lock's";
}

TEST_F(KilnToolchain, NothingIsSentThatIsNotWhatItSays) {
  auto refused = [&](const std::string& part) {
    const auto result = add({"--lock", "lock.json", "--inputs", "in"});
    EXPECT_NE(result.exit, 0);
    has(result.err, part);
    EXPECT_TRUE(farm.script.toolchains.empty());
  };
  write(input("in", "nvcc"), "evil");
  refused(digestOf("nvcc").hex());
  fs::remove(directory / input("in", "nvcc"));
  refused("wheel nvidia-cuda-nvcc 13.0.88");
  write("lock.json", std::string((1 << 20) + 1, ' '));
  refused("longer than 1048576 bytes");
  for (const char* text : {"", "{}", "[[[["}) {
    write("lock.json", text);
    refused("infra/toolchain/build --lock");
  }
}

TEST_F(KilnToolchain, ItsAdmissionIsVerifiedWhereARootIsNamed) {
  ASSERT_EQ(add({"--lock", "lock.json"}).exit, 0);
  v1::Toolchain& toolchain = farm.script.toolchains[0];
  const auto key = signing::PrivateKey::create().value();
  const TimePoint now = SystemClock().now();
  ToolchainAdmission admission{
      .builderId = kIssuer, .label = kLabel, .lock = digestOf(lock), .admittedOn = now};
  auto sign = [&] {
    const std::string statement =
        admissionStatement(*fromProto(toolchain.toolchain_digest()), admission).value();
    const auto envelope = signing::signEnvelope(signing::kInTotoPayload, statement, key).value();
    const std::string bundle = signing::makeBundle(envelope, key.publicKey()).value();
    *toolchain.mutable_admission() = toProto(storage::putBlob(*store, "default", asBytes(bundle)).value());
  };
  sign();
  has(kiln({"toolchain", "show", kLabel}).out, "admitted sha256:" + toolchain.admission().hash());
  write("root.json",
        toCanonicalJson(signing::developmentRoot(key.publicKey(), kIssuer, now).toJson()).value());
  environment["KILN_TRUST_ROOT"] = directory / "root.json";
  has(kiln({"toolchain", "show", kLabel}).out, std::string("by ") + kIssuer);
  EXPECT_EQ(json({"toolchain", "show", kLabel}).at("admitted").at("issuer"), kIssuer);
  has(kiln({"toolchain", "show", kLabel}).out, "names no instance; `kiln toolchain add` again");
  EXPECT_TRUE(json({"toolchain", "show", kLabel}).at("admitted").at("instance").is_null());
  admission.instance = "default";
  sign();
  EXPECT_EQ(kiln({"toolchain", "show", kLabel}).out.find("names no instance"), std::string::npos);
  EXPECT_EQ(json({"toolchain", "show", kLabel}).at("admitted").at("instance"), "default");
  admission.instance = "b";
  sign();
  EXPECT_EQ(kiln({"toolchain", "show", kLabel}).exit, 5);
  admission.instance = "default";
  admission.label = "kiln-other";
  sign();
  EXPECT_EQ(kiln({"toolchain", "show", kLabel}).exit, 5);
  admission.label = kLabel;
  sign();
  const auto other = signing::PrivateKey::create().value();
  write("root.json",
        toCanonicalJson(signing::developmentRoot(other.publicKey(), kIssuer, now).toJson()).value());
  EXPECT_EQ(kiln({"toolchain", "show", kLabel}).exit, 5);
}

}  // namespace
}  // namespace kiln

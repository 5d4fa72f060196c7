#include "manifest/toolchain/lock.h"

#include <gtest/gtest.h>

#include "manifest/json/json.h"
#include "tests/support/sample_lock.h"

namespace kiln {
namespace {

using testing_support::sampleLock;

TEST(ToolchainLock, NamesEveryInput) {
  auto lock = readToolchainLock(sampleLock().dump());
  ASSERT_TRUE(lock) << lock.error().message;
  ASSERT_EQ(lock->inputs.size(), 4u);
  EXPECT_EQ(lock->inputs[0].what, "package clang-22 1:22.1.8~++1-1");
  EXPECT_EQ(lock->inputs[0].digest, digestOf("clang"));
  EXPECT_EQ(lock->inputs[1].what, "package libc6 2.36-9+deb12u10");
  EXPECT_EQ(lock->inputs[2].what, "wheel nvidia-cuda-nvcc 13.0.88");
  EXPECT_EQ(lock->inputs[3].what, "source of commit " + std::string(40, 'a'));
  EXPECT_EQ(lock->inputs[3].digest, digestOf("source"));
}

TEST(ToolchainLock, RefusesEveryDamageByName) {
  auto refused = [](auto change, std::string_view part) {
    Json json = sampleLock();
    change(json);
    auto lock = readToolchainLock(json.dump());
    ASSERT_FALSE(lock) << part;
    EXPECT_EQ(lock.error().code, Code::kInvalidArgument);
    EXPECT_NE(lock.error().message.find(part), std::string::npos) << lock.error().message;
  };
  for (const char* member : {"apiVersion", "kind", "packages", "wheels", "source"})
    refused([&](Json& json) { json.erase(member); }, member);
  for (const char* member : {"architecture", "digest", "name", "size", "version"})
    refused([&](Json& json) { json["packages"][0].erase(member); }, "lock.packages[0]");
  for (const char* member : {"digest", "name", "size", "version"})
    refused([&](Json& json) { json["wheels"][0].erase(member); }, "lock.wheels[0]");
  for (const char* member : {"commit", "digest", "size"})
    refused([&](Json& json) { json["source"].erase(member); }, "lock.source");
  refused([](Json& json) { json["more"] = 1; }, "more");
  refused([](Json& json) { json["packages"][1]["more"] = 1; }, "lock.packages[1]");
  refused([](Json& json) { json["kind"] = "Lock"; }, "kind");
  refused([](Json& json) { json["packages"] = "x"; }, "packages");
  refused([](Json& json) { json["packages"][0]["name"] = "../a"; }, "lock.packages[0].name");
  refused([](Json& json) { json["packages"][0]["name"] = "A"; }, "name");
  refused([](Json& json) { json["packages"][0]["name"] = ""; }, "name");
  refused([](Json& json) { json["packages"][0]["name"] = std::string(101, 'a'); }, "name");
  refused([](Json& json) { json["packages"][0]["version"] = "1 2"; }, "version");
  refused([](Json& json) { json["packages"][0]["version"] = "-1"; }, "version");
  refused([](Json& json) { json["packages"][0]["architecture"] = "arm64"; }, "architecture");
  refused([](Json& json) { json["packages"][0]["digest"] = "sha256:12"; }, "digest");
  refused([](Json& json) { json["packages"][0]["size"] = "0"; }, "size");
  refused([](Json& json) { json["packages"][0]["size"] = "1000000000000"; }, "size");
  refused([](Json& json) { json["packages"][0]["size"] = "18446744073709551616"; }, "size");
  refused([](Json& json) { std::swap(json["packages"][0], json["packages"][1]); }, "sorted");
  refused([](Json& json) { json["packages"][1] = json["packages"][0]; }, "each once");
  refused([](Json& json) { json["source"]["commit"] = std::string(40, 'A'); }, "commit");
  refused([](Json& json) { json["packages"] = Json::array_t(4097, json["packages"][0]); }, "4096");
}

TEST(ToolchainLock, IsBoundedAndNeverReadInPart) {
  EXPECT_FALSE(readToolchainLock(sampleLock().dump() + std::string(kMaxToolchainLockBytes, ' ')));
  const std::string text = sampleLock().dump();
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(readToolchainLock(std::string_view(text).substr(0, length)));
}

}  // namespace
}  // namespace kiln

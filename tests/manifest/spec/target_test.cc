#include "manifest/spec/target.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "manifest/spec/bare_metal.h"

namespace kiln {
namespace {

bool has(const Target& target, const char* feature) {
  return std::find(target.features.begin(), target.features.end(), feature) != target.features.end();
}

TEST(Target, ServedTargetsExpandToSortedLists) {
  for (const std::string& name : servedTargets()) {
    const Target target = parseTarget(name).value();
    EXPECT_EQ(target.name, name);
    EXPECT_TRUE(std::is_sorted(target.features.begin(), target.features.end())) << name;
    EXPECT_EQ(std::adjacent_find(target.features.begin(), target.features.end()), target.features.end())
        << name;
    for (const std::string& feature : target.features) EXPECT_EQ(feature.front(), '+') << name;
  }
  const Target v3 = parseTarget("cpu:x86-64-v3").value();
  EXPECT_EQ(v3.cpu, "x86-64-v3");
  EXPECT_EQ(v3.triple, "x86_64-unknown-linux-gnu");
  EXPECT_TRUE(has(v3, "+fma"));
  EXPECT_FALSE(has(v3, "+avx512f"));
  const Target v4 = parseTarget("cpu:x86-64-v4").value();
  EXPECT_TRUE(has(v4, "+avx512vl") && has(v4, "+fma"));
  EXPECT_FALSE(has(v4, "+avx512bf16"));
  const Target more = parseTarget("cpu:x86-64-v4+avx512vnni+avx512bf16").value();
  EXPECT_TRUE(has(more, "+avx512vnni") && has(more, "+avx512bf16"));
  const Target n1 = parseTarget("cpu:aarch64-neoverse-n1").value();
  EXPECT_EQ(n1.triple, "aarch64-unknown-linux-gnu");
  EXPECT_TRUE(has(n1, "+dotprod") && has(n1, "+neon"));
  const Target v2 = parseTarget("cpu:aarch64-neoverse-v2").value();
  EXPECT_TRUE(has(v2, "+sve2") && has(v2, "+i8mm"));
  const Target riscv = parseTarget("cpu:riscv64-rva22+v").value();
  EXPECT_EQ(riscv.triple, "riscv64-unknown-linux-gnu");
  EXPECT_TRUE(has(riscv, "+v") && has(riscv, "+zfhmin"));
  const Target m55 = parseTarget("cpu:cortex-m55").value();
  EXPECT_TRUE(isBareMetal(m55.triple) && !isBareMetal(riscv.triple));
  EXPECT_TRUE(has(m55, "+mve") && !has(m55, "+mve.fp"));
}

TEST(Target, UnservedTargetsNameWhatIsServed) {
  for (const char* name : {"cpu:x86-64", "cpu:x86-64-v2", "cpu:x86-64-v4+amx-tile", "cpu:aarch64-cortex-a72",
                           "cpu:riscv64-rva22", "cpu:cortex-m0", "cuda:sm_75", "cuda:sm_90", "vulkan:1.2",
                           "vulkan:1.3+f16", "vulkan:1.3+coopmat", "cpu:x86-64-v3,cuda:sm_86"}) {
    auto target = parseTarget(name);
    ASSERT_FALSE(target) << name;
    EXPECT_EQ(target.error().code, Code::kUnimplemented) << name;
    for (const std::string& served : servedTargets())
      EXPECT_NE(target.error().message.find(served), std::string::npos) << target.error().message;
    EXPECT_NE(target.error().message.find(name), std::string::npos);
  }
}

TEST(Target, AFeatureOfVulkanThatIsNotServedIsNamed) {
  const auto said = [](const char* name) { return parseTarget(name).error().message; };
  EXPECT_NE(said("vulkan:1.3+f16+int8dot").find("not served: vulkan:1.3 is, without +f16+int8dot"),
            std::string::npos)
      << said("vulkan:1.3+f16+int8dot");
  EXPECT_EQ(said("vulkan:1.2+f16").find("without"), std::string::npos) << said("vulkan:1.2+f16");
}

TEST(Target, VulkanNamesTheDeviceAndTheHostsLevel) {
  const Target target = parseTarget("vulkan:1.3").value();
  EXPECT_EQ(target.device, "vulkan-1.3");
  EXPECT_EQ(target.features, parseTarget(kHostTarget).value().features);
  EXPECT_EQ(parseTarget("vulkan:1.3,cuda:sm_90a").error().code, Code::kUnimplemented) << "two devices";
}

TEST(Target, CudaNamesTheDeviceAndTheHostsLevel) {
  const Target host = parseTarget(kHostTarget).value();
  EXPECT_EQ(host.device, "");
  for (const char* device : {"sm_80", "sm_90a", "sm_100a"}) {
    const Target target = parseTarget(std::string("cuda:") + device).value();
    EXPECT_EQ(target.device, device);
    EXPECT_EQ(target.triple, host.triple);
    EXPECT_EQ(target.cpu, host.cpu);
    EXPECT_EQ(target.features, host.features);
  }
  const Target both = parseTarget("cuda:sm_90a,cpu:x86-64-v4").value();
  EXPECT_EQ(both.device, "sm_90a");
  EXPECT_EQ(both.cpu, "x86-64-v3");
  EXPECT_EQ(both.features, parseTarget("cpu:x86-64-v4")->features);
  const auto two = parseTarget("cuda:sm_80,cuda:sm_90a");
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code, Code::kUnimplemented);
  EXPECT_NE(two.error().message.find("one artifact for each"), std::string::npos) << two.error().message;
  EXPECT_EQ(parseTarget("cpu:aarch64,cuda:sm_80").error().code, Code::kUnimplemented)
      << "no host code for it";
}

TEST(Target, SeveralAreOneArtifact) {
  const Target both = parseTarget("cpu:x86-64-v3,cpu:x86-64-v4").value();
  EXPECT_EQ(both.name, "cpu:x86-64-v3,cpu:x86-64-v4");
  EXPECT_EQ(both.cpu, "x86-64-v3") << "the primary's";
  EXPECT_EQ(both.features, parseTarget("cpu:x86-64-v4")->features) << "of both, each once, sorted";
  const auto parts = parseTargets("cpu:x86-64-v4,cpu:x86-64-v3").value();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "cpu:x86-64-v4");
  EXPECT_EQ(parts[1].features, parseTarget("cpu:x86-64-v3")->features);
  EXPECT_EQ(targetNames("a,b"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(targetNames("a"), std::vector<std::string>{"a"});
  EXPECT_EQ(parseTarget("cpu:x86-64-v3,cpu:x86-64-v3").error().code, Code::kInvalidArgument);
  const auto mixed = parseTarget("cpu:x86-64-v3,cpu:aarch64");
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().code, Code::kUnimplemented);
  EXPECT_NE(mixed.error().message.find("two architectures"), std::string::npos);
}

TEST(Target, NativeAndHostAreRefused) {
  for (const char* name : {"native", "host", "cpu:native", "cpu:host", "cuda:native", "cpu:x86-64-v3,native"})
    EXPECT_EQ(parseTarget(name).error().code, Code::kInvalidArgument) << name;
}

TEST(Target, GarbageIsInvalid) {
  for (const std::string& name :
       {std::string(), std::string("cpu:"), std::string("cpu:x86-64-v9"), std::string("cpu:x86-64-v3+"),
        std::string("CPU:x86-64-v3"), std::string("cpu:riscv64-"), std::string("cpu:cortex-"),
        std::string("cuda:sm_"), std::string("cuda:80"), std::string("vulkan:1."), std::string("vulkan:1.3+"),
        std::string("vulkan:1.3 f16"), std::string("cpu:x86-64-v3,"), std::string("cpu:x86-64-v3 "),
        std::string("a\0b", 3), std::string(5000, 'x')})
    EXPECT_EQ(parseTarget(name).error().code, Code::kInvalidArgument) << name;
}

}  // namespace
}  // namespace kiln

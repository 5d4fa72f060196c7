#include "manifest/spec/target.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kiln {
namespace {

TEST(Target, ServedTargetExpandsToASortedList) {
  Target target = parseTarget("cpu:x86-64-v3").value();
  EXPECT_EQ(target.cpu, "x86-64-v3");
  EXPECT_EQ(target.triple, "x86_64-unknown-linux-gnu");
  EXPECT_TRUE(std::is_sorted(target.features.begin(), target.features.end()));
  EXPECT_NE(std::find(target.features.begin(), target.features.end(), "+fma"), target.features.end());
  for (const std::string& name : servedTargets()) EXPECT_TRUE(parseTarget(name)) << name;
}

TEST(Target, UnservedTargetsNameWhatIsServed) {
  for (const char* name : {"cpu:x86-64-v4", "cpu:x86-64-v4+avx512vnni+avx512bf16", "cpu:aarch64-neoverse-n1",
                           "cuda:sm_80", "cuda:sm_90a", "vulkan:1.3", "cpu:x86-64-v3,cuda:sm_80"}) {
    auto target = parseTarget(name);
    ASSERT_FALSE(target) << name;
    EXPECT_EQ(target.error().code, Code::kUnimplemented) << name;
    EXPECT_NE(target.error().message.find("cpu:x86-64-v3"), std::string::npos);
    EXPECT_NE(target.error().message.find(name), std::string::npos);
  }
}

TEST(Target, NativeAndHostAreRefused) {
  for (const char* name : {"native", "host", "cpu:native", "cpu:host", "cuda:native", "cpu:x86-64-v3,native"})
    EXPECT_EQ(parseTarget(name).error().code, Code::kInvalidArgument) << name;
}

TEST(Target, GarbageIsInvalid) {
  for (const std::string& name :
       {std::string(), std::string("cpu:"), std::string("cpu:x86-64-v9"), std::string("cpu:x86-64-v3+"),
        std::string("CPU:x86-64-v3"), std::string("cuda:sm_"), std::string("cuda:80"),
        std::string("vulkan:1."), std::string("cpu:x86-64-v3,"), std::string("cpu:x86-64-v3 "),
        std::string("a\0b", 3), std::string(5000, 'x')})
    EXPECT_EQ(parseTarget(name).error().code, Code::kInvalidArgument) << name;
}

}  // namespace
}  // namespace kiln

#include "compiler_core/runtime/emulated/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace kiln::emulated {
namespace {

class SettingsTest : public testing::Test {
 protected:
  void set(const char* name, const char* value) {
    ::setenv(name, value, 1);
    names_.push_back(name);
  }
  void TearDown() override {
    for (const char* name : names_) ::unsetenv(name);
  }
  std::vector<const char*> names_;
};

TEST_F(SettingsTest, AreReadFromTheEnvironment) {
  set("KILN_EMULATED_DEVICES", "3");
  set("KILN_EMULATED_ARCH", "sm_100a,sm_86");
  set("KILN_EMULATED_DRIVER", "12.4");
  set("KILN_EMULATED_MEMORY", "4096");
  set("KILN_EMULATED_KERNELS", "/a:/b");
  set("KILN_EMULATED_ORDER", "shuffled");
  set("KILN_EMULATED_THREADS", "5");
  set("KILN_EMULATED_HANG", "2");
  set("KILN_EMULATED_LOST", "7");
  const Settings settings = Settings::fromEnvironment();
  EXPECT_EQ(settings.complaint, "");
  EXPECT_EQ(settings.devices, 3);
  EXPECT_EQ(settings.capability(0).major, 10);
  EXPECT_EQ(settings.capability(0).minor, 0);
  EXPECT_EQ(settings.capability(1).major, 8);
  EXPECT_EQ(settings.capability(2).minor, 6) << "the last one goes on";
  EXPECT_EQ(settings.driverVersion, 12040);
  EXPECT_EQ(settings.memoryBytes, 4096u);
  EXPECT_THAT(settings.kernels, testing::ElementsAre("/a", "/b"));
  EXPECT_EQ(settings.order, Order::kShuffled);
  EXPECT_EQ(settings.threads, 5u);
  EXPECT_EQ(settings.hang, 2u);
  EXPECT_EQ(settings.lost, 7u);
}

TEST_F(SettingsTest, WhatMakesNoSenseIsNamedAndLeft) {
  set("KILN_EMULATED_ARCH", "sm_ninety");
  set("KILN_EMULATED_ORDER", "random");
  set("KILN_EMULATED_THREADS", "0");
  set("KILN_EMULATED_DRIVER", "13");
  const Settings settings = Settings::fromEnvironment();
  for (const char* name : {"ARCH=sm_ninety", "ORDER=random", "THREADS=0", "DRIVER=13"})
    EXPECT_THAT(settings.complaint, testing::HasSubstr(name));
  EXPECT_EQ(settings.capability(0).major, 9);
  EXPECT_EQ(settings.order, Order::kAscending);
  EXPECT_EQ(settings.threads, 2u);
  EXPECT_EQ(settings.driverVersion, 13000);
}

}  // namespace
}  // namespace kiln::emulated

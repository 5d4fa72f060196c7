// What sessions on a device do, whatever its interface: one suite, which each family of devices instantiates
// (device_contract_test.cc).
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>

#include "tests/compiler_core/runtime/device/device_folder.h"

namespace kiln::runtime::test {

class DeviceFamily {
 public:
  virtual ~DeviceFamily() = default;
  // Why there is no such device here, in words; "" where there is.
  virtual std::string missing() const { return ""; }
  virtual std::unique_ptr<DeviceFolder> files(const std::string& program = "device") const = 0;
  virtual kiln_session_options options() const = 0;
  // What sessions have left on the device that must not stay; "" where nothing has, or where nobody can tell.
  virtual std::string left() const { return ""; }

  // A device that is lost after the first run of a session: called before it is opened, and after that run.
  virtual void willBeLost() {}
  virtual void isLost() {}
  // From now on it has no memory, and has again.
  virtual void takeMemory() = 0;
  virtual void giveMemory() = 0;

  struct Words {
    std::string target, api;
    std::string noDriver, noEntry;  // a library that is not there, and one that is no driver
    std::string lost, noMemory;
  };
  virtual Words words() const = 0;
};

struct DeviceFamilyMaker {
  const char* name;  // tests are called by it
  std::unique_ptr<DeviceFamily> (*make)();
};
inline void PrintTo(const DeviceFamilyMaker& maker, std::ostream* out) {
  *out << maker.name;
}

class DeviceContract : public testing::TestWithParam<DeviceFamilyMaker> {
 protected:
  void SetUp() override {
    family_ = GetParam().make();
    if (const std::string why = family_->missing(); !why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override { EXPECT_EQ(family_->left(), ""); }

  std::unique_ptr<DeviceFamily> family_;
};

}  // namespace kiln::runtime::test

// The emulated driver as a driver: what it does as a real one would, seen through the table of functions.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "compiler_core/runtime/device/device_context.h"
#include "manifest/base/file.h"
#include "tests/compiler_core/runtime/device/device_files.h"

namespace kiln::runtime::test {
namespace {

using namespace cuda;  // NOLINT(google-build-using-namespace)

class Driver : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = CudaDriver::open(KILN_EMULATED_CUDA);
    ASSERT_TRUE(opened) << opened.error().message;
    driver_ = *opened;
    auto info = deviceInfo(*driver_, 0);
    ASSERT_TRUE(info) << info.error().message;
    auto context = DeviceContext::open(driver_, *info);
    ASSERT_TRUE(context) << context.error().message;
    context_ = *context;
    scope_ = std::make_unique<DeviceContext::Scope>(*context_);
    ASSERT_EQ(api().streamCreate(&stream_, kStreamNonBlocking), kSuccess);
  }
  void TearDown() override {
    if (stream_ != nullptr) api().streamDestroy(stream_);
  }
  const DriverTable& api() const { return **driver_; }

  std::shared_ptr<const CudaDriver> driver_;
  std::shared_ptr<const DeviceContext> context_;
  std::unique_ptr<DeviceContext::Scope> scope_;
  CUstream stream_ = nullptr;
};

TEST_F(Driver, SaysThatItIsEmulated) {
  EXPECT_TRUE(driver_->emulated());
  const auto devices = listDevices(KILN_EMULATED_CUDA);
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ((*devices)[0].name, "Kiln emulated device (test only)");
  EXPECT_EQ((*devices)[0].arch(), "sm_90");
  EXPECT_TRUE((*devices)[0].emulated);
}

TEST_F(Driver, NothingIsDoneBeforeSomebodyWaits) {
  CUdeviceptr device = 0;
  ASSERT_EQ(api().memAlloc(&device, 8), kSuccess);
  void *from = nullptr, *to = nullptr;
  ASSERT_EQ(api().memHostAlloc(&from, 8, 0), kSuccess);
  ASSERT_EQ(api().memHostAlloc(&to, 8, 0), kSuccess);
  std::memcpy(from, "too soon", 8);
  std::memset(to, 0, 8);
  ASSERT_EQ(api().memcpyHtoDAsync(device, from, 8, stream_), kSuccess);
  ASSERT_EQ(api().memcpyDtoHAsync(to, device, 8, stream_), kSuccess);
  std::memcpy(from, "in time.", 8);
  EXPECT_EQ(std::string(static_cast<char*>(to), 8), std::string(8, '\0'));
  ASSERT_EQ(api().streamSynchronize(stream_), kSuccess);
  EXPECT_EQ(std::string(static_cast<char*>(to), 8), "in time.");
  api().memFreeHost(from);
  api().memFreeHost(to);
  api().memFree(device);
}

TEST_F(Driver, MemoryThatIsNotPinnedIsCopiedAtOnceAndNotRecorded) {
  CUdeviceptr device = 0;
  ASSERT_EQ(api().memAlloc(&device, 8), kSuccess);
  char from[9] = "at once.", to[9] = {};
  ASSERT_EQ(api().memcpyHtoDAsync(device, from, 8, stream_), kSuccess);
  std::memset(from, 0, 8);
  ASSERT_EQ(api().memcpyDtoHAsync(to, device, 8, stream_), kSuccess);
  EXPECT_EQ(std::string(to), "at once.");
  ASSERT_EQ(api().streamBeginCapture(stream_, kCaptureThreadLocal), kSuccess);
  EXPECT_EQ(api().memcpyHtoDAsync(device, from, 8, stream_), kStreamCaptureUnsupported);
  CUgraph graph = nullptr;
  ASSERT_EQ(api().streamEndCapture(stream_, &graph), kSuccess);
  api().graphDestroy(graph);
  api().memFree(device);
}

TEST_F(Driver, TheProcessorCannotReadDeviceMemory) {
  CUdeviceptr device = 0;
  ASSERT_EQ(api().memAlloc(&device, 8), kSuccess);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd in(ends[0]), out(ends[1]);
  EXPECT_EQ(::write(out.get(), reinterpret_cast<const void*>(device), 1), -1);
  EXPECT_EQ(errno, EFAULT);
  api().memFree(device);
}

TEST_F(Driver, CopiesOutsideOfAnAllocationAreRefused) {
  CUdeviceptr device = 0;
  ASSERT_EQ(api().memAlloc(&device, 8), kSuccess);
  char bytes[16] = {};
  EXPECT_EQ(api().memcpyHtoDAsync(device, bytes, 9, stream_), kInvalidValue);
  EXPECT_EQ(api().memcpyHtoDAsync(device + 8, bytes, 1, stream_), kInvalidValue);
  EXPECT_EQ(api().memcpyDtoHAsync(bytes, device - 1, 1, stream_), kInvalidValue);
  EXPECT_EQ(api().memsetD8Async(device, 0, UINT64_MAX, stream_), kInvalidValue);
  EXPECT_EQ(api().memFree(device + 1), kInvalidValue);
  EXPECT_EQ(api().memFree(device), kSuccess);
}

TEST_F(Driver, MemoryHasALimitAndIsGivenBack) {
  CUdeviceptr device = 0;
  std::size_t free = 0, total = 0;
  ASSERT_EQ(api().memGetInfo(&free, &total), kSuccess);
  EXPECT_EQ(free, total);
  EXPECT_EQ(api().memAlloc(&device, total + 1), kOutOfMemory);
  ASSERT_EQ(api().memAlloc(&device, 1000), kSuccess);
  EXPECT_EQ(device % 256, 0u);
  ASSERT_EQ(api().memGetInfo(&free, &total), kSuccess);
  EXPECT_EQ(total - free, 1000u);
  ASSERT_EQ(api().memFree(device), kSuccess);
  ASSERT_EQ(api().memGetInfo(&free, &total), kSuccess);
  EXPECT_EQ(free, total);
}

TEST_F(Driver, WhatIsGivenBackAsItIsIsCounted) {
  CUdeviceptr device = 0;
  ASSERT_EQ(api().memAlloc(&device, 8), kSuccess);
  ASSERT_EQ(api().memsetD8Async(device, 1, 8, stream_), kSuccess);
  ASSERT_EQ(api().streamSynchronize(stream_), kSuccess);
  ASSERT_EQ(api().memFree(device), kSuccess);
  EXPECT_EQ(statistics().unscrubbed, 1u);
}

TEST_F(Driver, ErrorsHaveTheirClassAndTheDriversWords) {
  EXPECT_EQ(driver_->check(kOutOfMemory, "x").error().code, Code::kResourceExhausted);
  EXPECT_EQ(driver_->check(kNoDevice, "x").error().code, Code::kUnimplemented);
  EXPECT_EQ(driver_->check(kInvalidImage, "x").error().code, Code::kDataLoss);
  const Error other = driver_->check(kInvalidHandle, "launching").error();
  EXPECT_EQ(other.code, Code::kInternal);
  EXPECT_EQ(other.message,
            "launching: the driver says CUDA_ERROR_INVALID_HANDLE (400): invalid resource handle");
  EXPECT_THAT(driver_->check(12345, "x").error().message, testing::HasSubstr("12345"));
}

}  // namespace
}  // namespace kiln::runtime::test

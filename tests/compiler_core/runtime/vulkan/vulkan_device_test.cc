// A Vulkan device by itself: what it says of itself, memory, copies, launches.
#include "compiler_core/runtime/device/vulkan_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "tests/compiler_core/runtime/vulkan/vulkan_files.h"

namespace kiln::runtime::test {
namespace {

using testing::HasSubstr;

class VulkanDeviceTest : public VulkanTest {
 protected:
  void SetUp() override {
    VulkanTest::SetUp();
    if (IsSkipped()) return;
    auto opened = VulkanDevice::open(KILN_FAULTY_VULKAN, device_.ordinal);
    ASSERT_TRUE(opened) << opened.error().message;
    on_ = *opened;
    auto queue = on_->makeQueue({});
    ASSERT_TRUE(queue) << queue.error().message;
    queue_ = std::move(*queue);
  }
  void TearDown() override {
    queue_.reset();
    on_.reset();
    VulkanTest::TearDown();
  }
  std::unique_ptr<KernelModule> kernels(const std::string& text = kernelText()) {
    VulkanTestArtifact files;
    DeviceImageInfo image = files.manifest.devices[0];
    image.kernels = {"kiln_k0_scale", "kiln_k1_blocks"};
    auto module = on_->load(image, assemble(text), "");
    EXPECT_TRUE(module) << module.error().message;
    return std::move(*module);
  }

  std::shared_ptr<const VulkanDevice> on_;
  std::unique_ptr<DeviceQueue> queue_;
};

TEST_F(VulkanDeviceTest, SaysWhatItIs) {
  EXPECT_EQ(device_.api, DeviceApi::kVulkan);
  EXPECT_GE(device_.driverVersion, 1030);
  EXPECT_EQ(device_.uuid.size(), 36u);
  EXPECT_EQ(device_.arch(), "vulkan" + device_.computeCapability());
  EXPECT_FALSE(device_.emulated);
  EXPECT_EQ(device_.type == "software", device_.name.starts_with("llvmpipe"));
  EXPECT_TRUE(device_.apiVersion.starts_with(device_.computeCapability() + ".")) << device_.apiVersion;
  EXPECT_THAT(device_.driver, HasSubstr(": "));
  EXPECT_EQ(std::count(device_.conformance.begin(), device_.conformance.end(), '.'), 3);
  EXPECT_GT(device_.memoryBytes, 0u);
}

TEST_F(VulkanDeviceTest, FreshMemoryIsNaN) {
  auto memory = on_->allocate(1000, "a test");
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_EQ((*memory)->address() % 256, 0u);
  std::vector<float> back(250);
  ASSERT_TRUE(queue_->download(back.data(), (*memory)->address(), 1000));
  ASSERT_TRUE(queue_->wait());
  for (const float value : back) EXPECT_TRUE(std::isnan(value));
}

// More than goes through the queue's staging at once, and back.
TEST_F(VulkanDeviceTest, CopiesOfAnySizeComeBack) {
  std::vector<std::uint32_t> there(3u << 20), back(there.size());
  std::iota(there.begin(), there.end(), 7u);
  const std::uint64_t bytes = there.size() * sizeof(std::uint32_t);
  auto memory = on_->allocate(bytes, "a test");
  ASSERT_TRUE(memory);
  ASSERT_TRUE(queue_->upload((*memory)->address(), there.data(), bytes));
  ASSERT_TRUE(queue_->download(back.data(), (*memory)->address(), bytes));
  ASSERT_TRUE(queue_->wait());
  EXPECT_EQ(there, back);
}

TEST_F(VulkanDeviceTest, PinnedMemoryIsReadWhenTheDeviceIsAtWork) {
  auto memory = on_->allocate(8, "a test");
  auto pinned = on_->allocatePinned(8, "a test");
  ASSERT_TRUE(memory && pinned);
  std::memcpy((*pinned)->data(), "too soon", 8);
  ASSERT_TRUE(queue_->upload((*memory)->address(), (*pinned)->data(), 8));
  std::memcpy((*pinned)->data(), "in time.", 8);
  ASSERT_TRUE(queue_->wait());
  std::string back(8, '\0');
  ASSERT_TRUE(queue_->download(back.data(), (*memory)->address(), 8));
  ASSERT_TRUE(queue_->wait());
  EXPECT_EQ(back, "in time.");
}

TEST_F(VulkanDeviceTest, CopiesOutsideOfAnAllocationAreRefused) {
  auto memory = on_->allocate(1024, "a test");
  ASSERT_TRUE(memory);
  std::vector<char> bytes(1 << 20);
  EXPECT_FALSE(queue_->upload((*memory)->address(), bytes.data(), bytes.size()));
  EXPECT_FALSE(queue_->download(bytes.data(), 4096, 1));
  EXPECT_FALSE(queue_->download(bytes.data(), (*memory)->address(), UINT64_MAX));
}

TEST_F(VulkanDeviceTest, MemoryHasALimitAndIsGivenBack) {
  const std::uint64_t before = on_->freeBytes().value();
  {
    auto memory = on_->allocate(1 << 20, "a test");
    ASSERT_TRUE(memory);
    EXPECT_LT(on_->freeBytes().value(), before);
  }
  EXPECT_EQ(on_->freeBytes().value(), before);
  const auto refused = on_->allocate(std::uint64_t{1} << 50, "a test");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("makes no allocation beyond"));
}

// 65,535 is what every device serves at once, and all that lavapipe does.
TEST_F(VulkanDeviceTest, AGridBeyondTheDevicesIsLaunchedInPieces) {
  constexpr std::uint32_t kBlocks = 70000;
  const auto module = kernels();
  auto memory = on_->allocate(kBlocks * sizeof(float), "a test");
  ASSERT_TRUE(memory);
  const std::uint64_t arguments[] = {(*memory)->address()};
  const kiln_launch launch = {1, 1, {kBlocks, 1, 1}, 32, 1, 0, arguments};
  ASSERT_TRUE(queue_->launch(*module, launch));
  std::vector<float> back(kBlocks);
  ASSERT_TRUE(queue_->download(back.data(), (*memory)->address(), kBlocks * sizeof(float)));
  ASSERT_TRUE(queue_->wait());
  for (std::uint32_t i = 0; i < kBlocks; ++i) ASSERT_EQ(back[i], static_cast<float>(i));
}

// More arguments than one of the queue's buffers holds, each launch with its own.
TEST_F(VulkanDeviceTest, ManyLaunchesOfOneRunKeepTheirArguments) {
  constexpr std::uint32_t kLaunches = 5000;
  const auto module = kernels();
  auto memory = on_->allocate(kLaunches * sizeof(float) * 64, "a test");
  ASSERT_TRUE(memory);
  for (std::uint32_t i = 0; i < kLaunches; ++i) {
    const std::uint64_t arguments[] = {(*memory)->address() + i * sizeof(float)};
    const kiln_launch launch = {1, 1, {1, 1, 1}, 32, 1, 0, arguments};
    ASSERT_TRUE(queue_->launch(*module, launch));
  }
  std::vector<float> back(kLaunches);
  ASSERT_TRUE(queue_->download(back.data(), (*memory)->address(), kLaunches * sizeof(float)));
  ASSERT_TRUE(queue_->wait());
  EXPECT_EQ(back, std::vector<float>(kLaunches, 0.0f));
}

// 64 numbers of device memory that begin as `first`, first + 1, ...
class VulkanBoundsTest : public VulkanDeviceTest {
 protected:
  static constexpr std::uint64_t kBytes = 64 * sizeof(float);
  static std::vector<float> from(float first) {
    std::vector<float> values(64);
    std::iota(values.begin(), values.end(), first);
    return values;
  }
  std::unique_ptr<DeviceMemory> memoryOf(float first) {
    auto memory = on_->allocate(kBytes, "a test");
    EXPECT_TRUE(memory);
    const auto values = from(first);
    EXPECT_TRUE(queue_->upload((*memory)->address(), values.data(), kBytes));
    EXPECT_TRUE(queue_->wait());
    return std::move(*memory);
  }
  std::vector<float> valuesOf(const DeviceMemory& memory) {
    std::vector<float> values(64);
    EXPECT_TRUE(queue_->download(values.data(), memory.address(), kBytes));
    EXPECT_TRUE(queue_->wait());
    return values;
  }
  // kiln_k0_scale for 64 numbers, of a session that has `arena` and `weights`.
  void scale(const DeviceMemory& arena, const DeviceMemory& weights, std::uint64_t x, std::uint64_t w,
             std::uint64_t y, const std::string& text = kernelText()) {
    const auto module = kernels(text);
    auto queue = on_->makeQueue({arena.address(), kBytes, weights.address(), kBytes});
    ASSERT_TRUE(queue) << queue.error().message;
    const std::uint64_t arguments[] = {x, w, y, 64};
    ASSERT_TRUE((*queue)->launch(*module, {1, 0, {1, 1, 1}, 64, 4, 0, arguments}));
    ASSERT_TRUE((*queue)->wait());
  }
};

TEST_F(VulkanBoundsTest, WhatASessionHasIsReached) {
  const auto arena = memoryOf(1), weights = memoryOf(1000);
  scale(*arena, *weights, arena->address(), weights->address(), arena->address());
  std::vector<float> expected(64);
  for (std::size_t i = 0; i < 64; ++i)
    expected[i] = 2 * static_cast<float>(i + 1) + static_cast<float>(i + 1000);
  EXPECT_EQ(valuesOf(*arena), expected);
}

// What another session holds is not read and not written: the arena's start is, in its place.
TEST_F(VulkanBoundsTest, WhatAnotherSessionHasIsNot) {
  const auto arena = memoryOf(1), weights = memoryOf(1000), other = memoryOf(5000);
  scale(*arena, *weights, other->address(), weights->address(), arena->address());
  std::vector<float> expected(64);
  for (std::size_t i = 0; i < 64; ++i) expected[i] = 2 * 1 + static_cast<float>(i + 1000);
  EXPECT_EQ(valuesOf(*arena), expected) << "the first number, read for each of the other session's";
  scale(*arena, *weights, arena->address(), weights->address(), other->address());
  EXPECT_EQ(valuesOf(*other), from(5000));
}

TEST_F(VulkanBoundsTest, WeightsAreNotWritten) {
  const auto arena = memoryOf(1), weights = memoryOf(1000);
  scale(*arena, *weights, arena->address(), weights->address(), weights->address());
  EXPECT_EQ(valuesOf(*weights), from(1000));
}

TEST_F(VulkanBoundsTest, AddressesAtTheEdgesOfASpanAndBeyondEndWithinIt) {
  const auto arena = memoryOf(1), weights = memoryOf(1000), other = memoryOf(5000);
  for (const std::uint64_t y :
       {arena->address() - 4, arena->address() + 4, arena->address() - kBytes, arena->address() + kBytes,
        std::uint64_t{0}, std::uint64_t{8}, UINT64_MAX - 3, UINT64_MAX / 2}) {
    for (const std::uint64_t x : {y, weights->address() + kBytes, weights->address() - 4})
      scale(*arena, *weights, x, UINT64_MAX - 1000, y);
  }
  EXPECT_EQ(valuesOf(*other), from(5000));
  EXPECT_EQ(valuesOf(*weights), from(1000));
}

// Of 64 places, thread i takes place 63 * i.
TEST_F(VulkanBoundsTest, AnIndexBeyondABlocksMemoryIsItsLast) {
  const auto arena = memoryOf(1), weights = memoryOf(1000);
  scale(*arena, *weights, arena->address(), weights->address(), arena->address(),
        kernelText("%mine  = OpISub %uint %n63 %own", "%mine  = OpIMul %uint %n63 %own"));
  const auto values = valuesOf(*arena);
  EXPECT_EQ(values[0], 2 * 1 + 1000) << "thread 0 alone has place 0";
  for (std::size_t i = 2; i < 64; ++i) EXPECT_EQ(values[i] - static_cast<float>(i), values[1] - 1) << i;
}

TEST_F(VulkanBoundsTest, ALaunchWithoutAnArenaIsRefused) {
  const auto module = kernels();
  auto queue = on_->makeQueue({0, 0, 0, 0});
  ASSERT_TRUE(queue);
  const std::uint64_t arguments[] = {0, 0, 0, 0};
  const auto refused = (*queue)->launch(*module, {1, 0, {1, 1, 1}, 64, 4, 0, arguments});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("plans no arena"));
}

TEST_F(VulkanDeviceTest, AGridOfMoreThanARowIsRefused) {
  const auto module = kernels();
  const std::uint64_t arguments[] = {0};
  const auto refused = queue_->launch(*module, {1, 1, {1, 2, 1}, 32, 1, 0, arguments});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("in a row"));
}

}  // namespace
}  // namespace kiln::runtime::test

#include "compiler_core/runtime/device/vulkan_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "manifest/base/digest.h"
#include "manifest/base/file.h"
#include "tests/support/temp_directory.h"

namespace kiln::runtime {
namespace {

using testing::HasSubstr;

constexpr VulkanCacheKey kKey{0x10005, 7, 42, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

// A driver's bytes: its header, then `content`.
std::string data(const VulkanCacheKey& key = kKey, const std::string& content = "kernels") {
  const std::uint32_t head[] = {32, 1, key.vendor, key.device};
  return std::string(reinterpret_cast<const char*>(head), sizeof head) +
         std::string(key.uuid.begin(), key.uuid.end()) + content;
}

class VulkanCache : public testing::Test {
 protected:
  void put(const std::string& content) const {
    std::ofstream(file_.path(), std::ios::binary) << content;
    std::filesystem::permissions(file_.path(), std::filesystem::perms::owner_all);
  }
  std::string content() const { return readRegular(file_.path(), 1 << 20).value(); }
  // What there is to say of the file, as it lies there now.
  std::string refused(Code code = Code::kDataLoss) const {
    const auto read = file_.read();
    EXPECT_FALSE(read);
    if (read) return "";
    EXPECT_EQ(read.error().code, code) << read.error().message;
    EXPECT_THAT(read.error().message, HasSubstr(file_.path()));
    return read.error().message;
  }
  // As the file says it, digest and all, of whatever is there to be a driver's bytes.
  static std::string wrapped(const std::string& bytes) {
    const Digest digest = digestOf(bytes);
    return std::string(kCacheMagic) + std::string(digest.hash.begin(), digest.hash.end()) + bytes;
  }

  testing_support::TempDirectory directory_;
  const std::string folder_ = directory_ / "pipelines";
  const VulkanCacheFile file_{folder_, kKey, "module"};
};

TEST_F(VulkanCache, WhatWasWrittenIsRead) {
  EXPECT_EQ(file_.read().error().code, Code::kNotFound);
  ASSERT_TRUE(file_.write(data()));
  EXPECT_EQ(file_.read().value(), data());
  ASSERT_TRUE(file_.write(data(kKey, "more kernels")));
  EXPECT_EQ(file_.read().value(), data(kKey, "more kernels"));
  struct stat facts{};
  ASSERT_EQ(::stat(folder_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(file_.path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 1u) << "nothing stays of writing";
}

// A user's cache folder may never have been needed before.
TEST_F(VulkanCache, TheFoldersAboveItAreMade) {
  const VulkanCacheFile file(folder_ + "/not/there/yet", kKey, "module");
  const Status written = file.write(data());
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(file.read().value(), data());
}

TEST_F(VulkanCache, EachDriverDeviceAndModuleHasAFileOfItsOwn) {
  ASSERT_TRUE(file_.write(data()));
  VulkanCacheKey vendor = kKey, device = kKey, version = kKey, build = kKey;
  ++vendor.vendor, ++device.device, ++version.driverVersion, ++build.uuid[15];
  for (const VulkanCacheKey& key : {vendor, device, version, build})
    EXPECT_EQ(VulkanCacheFile(folder_, key, "module").read().error().code, Code::kNotFound);
  EXPECT_EQ(VulkanCacheFile(folder_, kKey, "another").read().error().code, Code::kNotFound);
}

TEST_F(VulkanCache, WhatIsCutOffOrChangedIsRefused) {
  ASSERT_TRUE(file_.write(data()));
  const std::string whole = content();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    put(whole.substr(0, size));
    refused();
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 1);
    put(other);
    refused();
  }
  put(whole + "x");
  EXPECT_THAT(refused(), HasSubstr("its digest is another"));
}

TEST_F(VulkanCache, AHeaderOfAnotherDriverIsRefused) {
  ASSERT_TRUE(file_.write(data()));
  VulkanCacheKey device = kKey, build = kKey;
  ++device.device, ++build.uuid[0];
  std::string form = data(), longer = data();
  form[4] = 2, longer[0] = 33;
  const std::pair<std::string, const char*> headers[] = {
      {data(device), "of another device"},         {data(build), "of another build of the driver"},
      {form, "with a header of another form"},     {longer, "with a header of another form"},
      {data().substr(0, 31), "within its header"}, {"", "within its header"},
  };
  for (const auto& [bytes, said] : headers) {
    put(wrapped(bytes));
    EXPECT_THAT(refused(), HasSubstr(said));
    EXPECT_FALSE(file_.write(bytes)) << "nor is it kept, should a driver say it";
  }
}

TEST_F(VulkanCache, WhatOthersCouldHaveWrittenIsRefused) {
  ASSERT_TRUE(file_.write(data()));
  namespace fs = std::filesystem;
  for (const fs::perms more : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(file_.path(), fs::perms::owner_all | more);
    EXPECT_THAT(refused(Code::kPermissionDenied), HasSubstr("remove it"));
  }
  fs::permissions(file_.path(), fs::perms::owner_all);
  fs::rename(file_.path(), directory_ / "elsewhere");
  fs::create_symlink(directory_ / "elsewhere", file_.path());
  EXPECT_FALSE(file_.read());
  fs::remove(file_.path());
  ASSERT_EQ(::mkfifo(file_.path().c_str(), 0600), 0);
  EXPECT_FALSE(file_.read()) << "and does not wait";
}

TEST_F(VulkanCache, AFolderThatCannotBeIsSaid) {
  std::ofstream(folder_) << "a file";
  EXPECT_FALSE(file_.write(data()));
}

}  // namespace
}  // namespace kiln::runtime

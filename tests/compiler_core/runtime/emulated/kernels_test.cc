#include "compiler_core/runtime/emulated/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "manifest/base/digest.h"
#include "tests/support/temp_directory.h"

namespace kiln::emulated {
namespace {

const std::string kKernels = std::string(KILN_TEST_PROGRAMS) + "/device_kernels.so";

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Kernels, TheSizeOfAnImageComesFromItsHeaders) {
  for (const char* name : {"device_kernels.so", "good.so", "dynamic.so"}) {
    const std::string path = std::string(KILN_TEST_PROGRAMS) + "/" + name;
    const std::string bytes = contents(path);
    EXPECT_EQ(elfBytes(bytes.data()), bytes.size()) << name;
  }
  EXPECT_EQ(elfBytes(std::string(64, 'x').data()), 0u);
}

TEST(Kernels, AreFoundByTheDigestOfTheImage) {
  const std::string image = contents(std::string(KILN_TEST_PROGRAMS) + "/good.so");
  testing_support::TempDirectory folder;
  std::filesystem::copy_file(kKernels, folder / (digestOf(image).hex() + ".so"));
  const auto file = KernelFile::load(image.data(), {"/nowhere", folder.path()});
  ASSERT_TRUE(file) << file.error().message;
  const kiln_emulated_entry* const entry = (*file)->find("kiln_k0_scale");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->threads, 64u);
  EXPECT_EQ((*file)->find("kiln_k0"), nullptr);
  const auto none = KernelFile::load(image.data(), {"/nowhere"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_THAT(none.error().message, testing::HasSubstr(digestOf(image).hex() + ".so"));
}

TEST(Kernels, AFileThatIsNoneIsRefused) {
  const std::string image = contents(std::string(KILN_TEST_PROGRAMS) + "/good.so");
  testing_support::TempDirectory folder;
  std::filesystem::copy_file(std::string(KILN_TEST_PROGRAMS) + "/good.so",
                             folder / (digestOf(image).hex() + ".so"));
  const auto file = KernelFile::load(image.data(), {folder.path()});
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, testing::HasSubstr("kiln_emulation"));
}

}  // namespace
}  // namespace kiln::emulated

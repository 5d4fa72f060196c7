#include "compiler_core/ir/spooled_weight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/temp_directory.h"

namespace kiln::ir {
namespace {

std::vector<std::uint8_t> numbered(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 >> 3);
  return bytes;
}

// Whether a file of `directory` is mapped, with a name or without.
bool isMapped(const std::string& directory) {
  std::ostringstream maps;
  maps << std::ifstream("/proc/self/maps").rdbuf();
  return maps.str().find(directory + "/.weight-") != std::string::npos;
}

class SpooledWeight : public ::testing::Test {
 protected:
  void expectWeight(const std::string& directory, std::size_t bytes) {
    const auto extent = static_cast<std::int64_t>(bytes);
    const std::int64_t index = addSpooled(table_, directory, "w", DType::kU8, {extent}, numbered(bytes));
    const Weight* weight = table_.find(index);
    ASSERT_TRUE(weight);
    EXPECT_EQ(weight->name, "w");
    EXPECT_EQ(weight->shape, std::vector<std::int64_t>{extent});
    EXPECT_TRUE(std::ranges::equal(weight->bytes, numbered(bytes)));
  }

  testing_support::TempDirectory temporary_;
  const std::string directory_ = temporary_.path();
  WeightTable table_;
};

TEST_F(SpooledWeight, LargeOnesLieInAFileWithoutAName) {
  expectWeight(directory_, kSpooledBytes);
  EXPECT_TRUE(isMapped(directory_));
  EXPECT_TRUE(std::filesystem::is_empty(directory_)) << "the artifact would have a file more";
  table_ = {};
  EXPECT_FALSE(isMapped(directory_)) << "it outlives the table";
}

TEST_F(SpooledWeight, SmallOnesStayInMemory) {
  expectWeight(directory_, kSpooledBytes - 1);
  EXPECT_FALSE(isMapped(directory_));
}

TEST_F(SpooledWeight, WithoutAFolderTheyStayInMemory) {
  expectWeight("", kSpooledBytes);
  expectWeight(directory_ + "/missing", kSpooledBytes);
  EXPECT_FALSE(isMapped(directory_));
}

}  // namespace
}  // namespace kiln::ir

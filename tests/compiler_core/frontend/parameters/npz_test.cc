#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/parameters/formats.h"
#include "tests/compiler_core/frontend/parameters/file_writers.h"

namespace kiln::parameters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_support;

Result<Tensors> read(const std::string& file, const Owner& owner = nullptr) {
  return readNpz(asBytes(file), owner);
}
void expectError(const std::string& file, const std::string& part, Code code = Code::kInvalidArgument) {
  const auto found = read(file);
  ASSERT_FALSE(found) << part;
  EXPECT_EQ(found.error().code, code) << found.error().message;
  EXPECT_THAT(found.error().message, HasSubstr(part));
}

TEST(NpzTest, ReadsStoredArraysAsViewsAndInflatesOthers) {
  const std::vector<float> some = {1, 2, 3}, many(10'000, 4.0f);
  const std::string file = writeZip({{"w.npy", npyOfFloats(some)}, {"deep/b.npy", npyOfFloats(many), true}});
  const Owner owner = std::make_shared<int>(1);
  const auto found = read(file, owner);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 2u);
  const ir::Weight &stored = (*found)[0], &packed = (*found)[1];
  EXPECT_EQ(stored.name, "w");
  EXPECT_EQ(stored.dtype, DType::kF32);
  EXPECT_THAT(stored.shape, ElementsAre(3));
  EXPECT_EQ(stored.owner, owner);
  EXPECT_EQ(reinterpret_cast<const char*>(stored.bytes.data()),
            file.data() + file.find(bytesOfNumbers(some)));
  EXPECT_EQ(packed.name, "deep/b");
  EXPECT_NE(packed.owner, owner);
  EXPECT_EQ(std::string(packed.bytes.begin(), packed.bytes.end()), bytesOfNumbers(many));
}

TEST(NpzTest, RefusesEveryBeginning) {
  const std::string file = writeZip({{"w.npy", npyOfFloats({1, 2})}, {"b.npy", npyOfFloats({3}), true}});
  for (std::size_t length = 0; length < file.size(); ++length)
    ASSERT_FALSE(read(file.substr(0, length))) << length;
}

TEST(NpzTest, RefusesOtherMembersAndBrokenArrays) {
  expectError(writeZip({{"w.txt", "text"}}), "member \"w.txt\" is no .npy file");
  expectError(writeZip({{".npy", npyOfFloats({1})}}), "is no .npy file");
  expectError(writeZip({{"archive/data.pkl", "x"}, {"archive/data/0", "x"}}), "a PyTorch checkpoint");
  expectError(writeZip({{"w.npy", "text"}}), "tensor \"w\": not a .npy file");
  expectError(writeZip({{"w.npy", npyOfFloats({1}) + "x"}}), "tensor \"w\"");
  expectError(writeZip({{"w.npy", npyOfFloats({1})}, {"w.npy", npyOfFloats({1})}}),
              "the name stands there twice");
  expectError(writeZip({{"w.npy", npyFile(DType::kBool, {1}, "\2")}}), "element 0 is no bool");
}

TEST(NpzTest, ReadsOneArray) {
  const std::string file = npyFile(DType::kI32, {2, 1}, bytesOfNumbers<std::int32_t>({7, 8}));
  const auto found = readNpy(asBytes(file), nullptr, "bias");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ((*found)[0].name, "bias");
  EXPECT_THAT((*found)[0].shape, ElementsAre(2, 1));
}

}  // namespace
}  // namespace kiln::parameters

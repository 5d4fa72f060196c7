// What a run's tensors are held against, on manifests made by hand.
#include "compiler_core/runtime/session/guards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::runtime::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// x: f32[N,2]; mask: u8[2,N]. N is read off x.
Manifest twoOfOneSymbol() {
  Manifest manifest;
  manifest.inputs = {{"x", DType::kF32, {"N", 2}, {}}, {"mask", DType::kU8, {2, "N"}, {}}};
  manifest.symbols = {{"N", "x", 0}};
  return manifest;
}

struct Tensors {
  explicit Tensors(std::int64_t rows, std::int64_t columns) : xShape{rows, 2}, maskShape{2, columns} {}
  std::int64_t xShape[2], maskShape[2];
  float x[16] = {};
  std::uint8_t mask[16] = {};
  std::vector<kiln_tensor> all() {
    return {{"x", "f32", xShape, 2, x, static_cast<std::size_t>(xShape[0]) * 8},
            {"mask", "u8", maskShape, 2, mask, static_cast<std::size_t>(maskShape[1]) * 2}};
  }
};

TEST(Guards, ASymbolOfTwoInputsHasOneValue) {
  const Manifest manifest = twoOfOneSymbol();
  Tensors same(3, 3), unlike(3, 4);
  const auto bound = bindInputs(manifest, same.all());
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_THAT(bound->symbols, ElementsAre(3));
  const auto refused = bindInputs(manifest, unlike.all());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kOutOfRange);
  EXPECT_THAT(refused.error().message, HasSubstr("N is 4, but 3 at input \"x\" dimension 0"));
}

// Such a manifest is none that our compiler writes.
TEST(Guards, APinThatItsInputCannotHoldIsDamage) {
  Manifest manifest = twoOfOneSymbol();
  manifest.spec.pins["mask"] = {PinValue(std::int64_t{1}), PinValue(std::int64_t{256})};
  Tensors tensors(1, 1);
  const std::vector<kiln_tensor> given = tensors.all();
  const auto bound = bindInputs(manifest, given);
  ASSERT_TRUE(bound) << bound.error().message;
  const Status checked = checkContents(manifest, *bound);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::kDataLoss);
  EXPECT_THAT(checked.error().message, HasSubstr("input \"mask\": pin: value 1 (256) is no u8"));
}

}  // namespace
}  // namespace kiln::runtime::test

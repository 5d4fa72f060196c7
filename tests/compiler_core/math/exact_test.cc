// What devices get in the place of their own fused multiply-add, division and square root is the processor's,
// to the bit.
#include "compiler_core/math/exact.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

namespace kiln::math::exact {
namespace {

template <class F, class Bits>
class Numbers {
 public:
  using Float = typename F::Float;

  // Of every size, many of similar ones, subnormals, powers of two, infinities and NaNs among them.
  Float next() {
    constexpr int kFraction = Exact<F>::kFraction;
    Bits bits = static_cast<Bits>(random_());
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
        bits = (bits & ~Exact<F>::kInfinity) |
               (static_cast<Bits>(static_cast<Bits>(F::kBias) + random_() % 60 - 30) << kFraction);
        break;
      case 3:
        bits &= Exact<F>::kSign | (Exact<F>::kLeading - 1);
        break;
      case 4:
        bits &= Exact<F>::kSign | Exact<F>::kInfinity;
        break;
      case 5:
        bits &= ~Bits{0} << (random_() % kFraction);
        break;
      default:
        break;
    }
    return std::bit_cast<Float>(bits);
  }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

 private:
  std::mt19937_64 random_{1};
};

template <class F, class Bits>
void expectTheProcessors() {
  using Float = typename F::Float;
  const auto same = [](Float got, Float want) {
    return std::isnan(want) ? std::isnan(got) : std::bit_cast<Bits>(got) == std::bit_cast<Bits>(want);
  };
  Numbers<F, Bits> numbers;
  for (int i = 0; i < 300'000; ++i) {
    const Float a = numbers.next(), b = numbers.next();
    // An addend that leaves little of the product, every third time.
    const Float c = i % 3 != 0 ? numbers.next()
                               : -(a * b) * (1 + std::ldexp(Float{1}, -static_cast<int>(numbers.below(60))));
    ASSERT_TRUE(same(Exact<F>::fma(a, b, c), std::fma(a, b, c)))
        << std::hexfloat << a << " " << b << " " << c;
    ASSERT_TRUE(same(Exact<F>::divide(a, b), a / b)) << std::hexfloat << a << " " << b;
    ASSERT_TRUE(same(Exact<F>::root(a), std::sqrt(a))) << std::hexfloat << a;
  }
}

TEST(Exact, SinglesAreTheProcessors) {
  expectTheProcessors<Single, std::uint32_t>();
}

TEST(Exact, DoublesAreTheProcessors) {
  expectTheProcessors<Double, std::uint64_t>();
}

TEST(Exact, EveryHalfComesBack) {
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const float value = fromHalf(static_cast<unsigned short>(code));
    if (std::isnan(value))
      EXPECT_GT(code & 0x7fffu, 0x7c00u);
    else
      ASSERT_EQ(toHalf(value), code);
  }
}

TEST(Exact, HalvesRoundToEven) {
  EXPECT_EQ(toHalf(1.0f + 0x1p-11f), 0x3c00) << "half of a step, down to even";
  EXPECT_EQ(toHalf(1.0f + 3 * 0x1p-11f), 0x3c02) << "and up to even";
  EXPECT_EQ(toHalf(65519.0f), 0x7bff);
  EXPECT_EQ(toHalf(65520.0f), 0x7c00) << "infinity";
  EXPECT_EQ(toHalf(0x1p-25f), 0) << "half of the smallest";
  EXPECT_EQ(toHalf(-0x1.8p-25f), 0x8001);
}

TEST(Exact, BfloatsRoundToEven) {
  EXPECT_EQ(toBfloat(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(toBfloat(1.0f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(toBfloat(-INFINITY), 0xff80);
  EXPECT_EQ(toBfloat(std::bit_cast<float>(0x7f800001u)) & 0x7fff, 0x7fc0) << "a NaN stays one";
}

}  // namespace
}  // namespace kiln::math::exact

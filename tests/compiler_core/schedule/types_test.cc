// Every element type through the compiler against the reference evaluator: every pair of a cast over every
// code of the small types, and arithmetic of the types that f32, f64, i32 and i64 do not stand for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "compiler_core/reference/element.h"
#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::testing {
namespace {

using reference::HostTensor;

struct Named {
  const char* mlir;
  DType dtype;
};
constexpr Named kTypes[] = {{"f32", DType::kF32},
                            {"f64", DType::kF64},
                            {"f16", DType::kF16},
                            {"bf16", DType::kBF16},
                            {"i8", DType::kI8},
                            {"i16", DType::kI16},
                            {"i32", DType::kI32},
                            {"i64", DType::kI64},
                            {"ui8", DType::kU8},
                            {"ui16", DType::kU16},
                            {"ui32", DType::kU32},
                            {"ui64", DType::kU64},
                            {"i1", DType::kBool},
                            {"f8E4M3FN", DType::kF8E4M3FN},
                            {"f8E4M3FNUZ", DType::kF8E4M3FNUZ},
                            {"f8E5M2", DType::kF8E5M2},
                            {"f8E5M2FNUZ", DType::kF8E5M2FNUZ},
                            {"f8E8M0FNU", DType::kF8E8M0FNU},
                            {"f4E2M1FN", DType::kF4E2M1FN},
                            {"i4", DType::kI4},
                            {"ui4", DType::kU4},
                            {"i2", DType::kI2},
                            {"ui2", DType::kU2}};

// Bits of an element below a byte; 8 times its bytes for all others.
unsigned bitsOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 1;
    case DType::kI2:
    case DType::kU2:
      return 2;
    case DType::kI4:
    case DType::kU4:
    case DType::kF4E2M1FN:
      return 4;
    default:
      return static_cast<unsigned>(dtypeBytes(dtype) * 8);
  }
}

// Every code of a type of up to 16 bits; else the neighbourhoods of all powers of two and random codes.
HostTensor codes(DType dtype) {
  const unsigned bits = bitsOf(dtype);
  const std::size_t width = dtypeBytes(dtype);
  std::vector<std::uint64_t> values;
  if (bits <= 16) {
    for (std::uint64_t code = 0; code < std::uint64_t{1} << bits; ++code) values.push_back(code);
    if (dtype == DType::kI4 || dtype == DType::kI2)
      for (std::uint64_t& code : values) code |= code >> (bits - 1) ? ~std::uint64_t{0} << bits : 0;
  } else {
    std::mt19937_64 random(7);
    for (unsigned bit = 0; bit < bits; ++bit)
      for (std::int64_t near = -3; near <= 3; ++near) {
        const std::uint64_t code = (std::uint64_t{1} << bit) + static_cast<std::uint64_t>(near);
        values.push_back(code);
        values.push_back(~code);
      }
    for (int i = 0; i < 4000; ++i) values.push_back(random() >> (random() % bits));
    // Floats: all exponents that the small types have, with mantissas at and next to their ties.
    if (dtype == DType::kF32)
      for (std::uint64_t exponent = 80; exponent < 160; ++exponent)
        for (std::uint64_t i = 0; i < 64; ++i)
          for (std::uint64_t near : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x7fffff}})
            values.push_back(((exponent << 23 | i << 17) + near) | (i & 1) << 31);
    if (dtype == DType::kF64)
      for (std::uint64_t exponent = 960; exponent < 1060; ++exponent)
        for (std::uint64_t i = 0; i < 64; ++i)
          for (std::uint64_t near : {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 52) - 1})
            values.push_back(((exponent << 52 | i << 46) + near) | (i & 1) << 63);
  }
  HostTensor tensor = HostTensor::zeros(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i)
    std::memcpy(tensor.bytes.data() + i * width, &values[i], width);
  return tensor;
}

// The casts from one type to all others are one program.
void checkCasts(const Named& from, const std::string& attributes) {
  const HostTensor input = codes(from.dtype);
  const auto type = [&](const Named& to) { return fmt::format("tensor<{}x{}>", input.shape[0], to.mlir); };
  std::string body, values, types;
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    if (kTypes[i].dtype == from.dtype) continue;
    body +=
        fmt::format("  %{0} = kiln.cast %x{1} : {2} to {3}\n", i, attributes, type(from), type(kTypes[i]));
    values += fmt::format("{}%{}", values.empty() ? "" : ", ", i);
    types += fmt::format("{}{}", types.empty() ? "" : ", ", type(kTypes[i]));
  }
  CheckOptions options;
  options.relative = options.absolute = 0;
  options.inputs = {input};
  auto checked = checkText(fmt::format("func.func @main(%x: {}) -> ({}) {{\n{}  return {} : {}\n}}",
                                       type(from), types, body, values, types),
                           options);
  EXPECT_TRUE(checked) << "from " << from.mlir << attributes << ": " << checked.error().message;
}

TEST(Types, EveryCastOfEveryCode) {
  for (const Named& from : kTypes) checkCasts(from, "");
}

TEST(Types, CastsThatOverflowAndRound) {
  for (const Named& from : kTypes) {
    if (from.dtype != DType::kF32 && from.dtype != DType::kF64 && from.dtype != DType::kF16) continue;
    checkCasts(from, " {overflow}");
    checkCasts(from, " rounding <up>");
    checkCasts(from, " rounding <down>");
  }
}

std::string unary(const std::string& kind, const std::string& type, std::int64_t count) {
  return fmt::format(R"(
func.func @main(%x: tensor<{2}x{1}>) -> tensor<{2}x{1}> {{
  %0 = kiln.unary <{0}> %x : tensor<{2}x{1}>
  return %0 : tensor<{2}x{1}>
}})",
                     kind, type, count);
}
std::string binary(const std::string& kind, const std::string& type, std::int64_t count, bool compares) {
  return fmt::format(R"(
func.func @main(%x: tensor<{2}x{1}>, %y: tensor<{2}x{1}>) -> tensor<{2}x{3}> {{
  %0 = kiln.{4} <{0}> %x, %y : tensor<{2}x{1}>
  return %0 : tensor<{2}x{3}>
}})",
                     kind, type, count, compares ? "i1" : type, compares ? "compare" : "binary");
}

void check(const std::string& text, const CheckOptions& options) {
  auto checked = checkText(text, options);
  EXPECT_TRUE(checked) << checked.error().message << "\n" << text;
}

CheckOptions exact(std::vector<HostTensor> inputs) {
  CheckOptions options;
  options.relative = options.absolute = 0;
  options.inputs = std::move(inputs);
  return options;
}

// The elements in another order: with another stride, so that pairs are mixed.
HostTensor shuffled(const HostTensor& tensor) {
  HostTensor result = tensor;
  const std::size_t width = dtypeBytes(tensor.dtype), count = tensor.bytes.size() / width;
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  std::mt19937 random(3);
  std::shuffle(order.begin(), order.end(), random);
  for (std::size_t i = 0; i < count; ++i)
    std::copy_n(tensor.bytes.data() + order[i] * width, width, result.bytes.data() + i * width);
  return result;
}

TEST(Types, UnaryOfSixteenBitFloatsOverEveryCode) {
  for (const Named& type : {kTypes[2], kTypes[3]}) {
    const HostTensor x = codes(type.dtype);
    for (const char* kind : {"neg", "abs", "sqrt", "reciprocal", "relu", "ceil", "floor", "round", "sign",
                             "exp", "log", "tanh", "erf", "sigmoid", "sin", "atan", "asinh"})
      check(unary(kind, type.mlir, x.shape[0]), exact({x}));
  }
}

TEST(Types, BinaryOfSixteenBitFloats) {
  for (const Named& type : {kTypes[2], kTypes[3]}) {
    const HostTensor x = codes(type.dtype), y = shuffled(x);
    for (const char* kind : {"add", "sub", "mul", "div", "max", "min", "mod", "rem"})
      check(binary(kind, type.mlir, x.shape[0], false), exact({x, y}));
    for (const char* kind : {"eq", "lt", "le", "gt", "ge"})
      check(binary(kind, type.mlir, x.shape[0], true), exact({x, y}));
  }
}

TEST(Types, IntegersOfEveryWidthAndSign) {
  for (std::size_t i = 4; i < 12; ++i) {
    const Named& type = kTypes[i];
    const HostTensor x = codes(type.dtype), y = shuffled(x);
    for (const char* kind : {"neg", "abs", "relu", "sign", "not"})
      check(unary(kind, type.mlir, x.shape[0]), exact({x}));
    for (const char* kind :
         {"add", "sub", "mul", "div", "max", "min", "mod", "rem", "pow", "and", "or", "xor", "shl", "shr"})
      check(binary(kind, type.mlir, x.shape[0], false), exact({x, y}));
    for (const char* kind : {"eq", "lt", "le", "gt", "ge"})
      check(binary(kind, type.mlir, x.shape[0], true), exact({x, y}));
    // Small second operands: shifts and powers that leave something, divisors of either sign.
    HostTensor small = y;
    const std::size_t width = dtypeBytes(type.dtype);
    for (std::size_t at = 0; at < small.bytes.size(); at += width)
      reference::writeElement(
          type.dtype, small.bytes.data() + at,
          {true, true, static_cast<std::uint64_t>(static_cast<std::int64_t>(at / width % 23) - 3), 0});
    for (const char* kind : {"shl", "shr", "pow", "div", "mod", "rem"})
      check(binary(kind, type.mlir, x.shape[0], false), exact({x, small}));
  }
}

TEST(Types, ReductionsOfEveryNumber) {
  for (std::size_t i = 2; i < 12; ++i)
    for (const char* kind : {"sum", "max", "min", "prod"}) {
      CheckOptions options;
      // One rounding, but of sums that differ in their last bits.
      options.relative = kTypes[i].dtype == DType::kBF16 ? 1.0 / 128 : 1.0 / 1024;
      check(fmt::format(R"(
func.func @main(%x: tensor<3x17x10x{1}>) -> (tensor<17x10x{1}>, tensor<3x17x{1}>, tensor<{1}>) {{
  %0 = kiln.reduce <{0}> %x axes [0] : tensor<3x17x10x{1}> to tensor<17x10x{1}>
  %2 = kiln.reduce <{0}> %x axes [2] : tensor<3x17x10x{1}> to tensor<3x17x{1}>
  %3 = kiln.reduce <{0}> %x axes [0, 1, 2] : tensor<3x17x10x{1}> to tensor<{1}>
  return %0, %2, %3 : tensor<17x10x{1}>, tensor<3x17x{1}>, tensor<{1}>
}})",
                        kind, kTypes[i].mlir),
            options);
    }
}

TEST(Types, SumsOfSixteenBitFloatsAreRoundedOnce) {
  for (const char* type : {"f16", "bf16"}) {
    CheckOptions options;
    options.relative = std::string_view(type) == "bf16" ? 1.0 / 128 : 1.0 / 1024;
    check(fmt::format(R"(
func.func @main(%a: tensor<19x300x{0}>, %b: tensor<300x23x{0}>) -> tensor<19x23x{0}> {{
  %0 = kiln.matmul %a, %b : (tensor<19x300x{0}>, tensor<300x23x{0}>) -> tensor<19x23x{0}>
  return %0 : tensor<19x23x{0}>
}})",
                      type),
          options);
    check(fmt::format(R"(
func.func @main(%x: tensor<5x33x{0}>) -> tensor<5x33x{0}> {{
  %0 = kiln.softmax %x axis 1 : tensor<5x33x{0}>
  return %0 : tensor<5x33x{0}>
}})",
                      type),
          options);
  }
}

TEST(Types, ConstantsAndMovement) {
  for (const Named& type : kTypes) {
    // Four codes from bits, so that every type has some.
    check(fmt::format(R"(
func.func @main(%x: tensor<4x6x{0}>, %c: tensor<6x4xi1>) -> (tensor<6x4x{0}>, tensor<4x3x{0}>, tensor<8x6x{0}>, tensor<6x4x{0}>) {{
  %0 = kiln.transpose %x [1, 0] : tensor<4x6x{0}> to tensor<6x4x{0}>
  %1 = kiln.slice %x offsets [0, 1] strides [1, 2] : tensor<4x6x{0}> to tensor<4x3x{0}>
  %2 = kiln.concat %x, %x axis 0 : (tensor<4x6x{0}>, tensor<4x6x{0}>) -> tensor<8x6x{0}>
  %3 = kiln.reshape %x : tensor<4x6x{0}> to tensor<6x4x{0}>
  %4 = kiln.select %c, %0, %3 : tensor<6x4xi1>, tensor<6x4x{0}>
  return %0, %1, %2, %4 : tensor<6x4x{0}>, tensor<4x3x{0}>, tensor<8x6x{0}>, tensor<6x4x{0}>
}})",
                      type.mlir),
          exact({}));
    const char* list = type.dtype == DType::kBool ? "true, false, true"
                       : std::string_view(type.mlir).starts_with("f") || std::string_view(type.mlir) == "bf16"
                           ? "0.5, 1.0, 2.0"
                           : "0, 1, 1";
    check(fmt::format(R"(
func.func @main() -> (tensor<3x{0}>, tensor<40x{0}>) {{
  %0 = kiln.constant dense<[{1}]> : tensor<3x{0}>
  %1 = kiln.constant dense<{2}> : tensor<40x{0}>
  return %0, %1 : tensor<3x{0}>, tensor<40x{0}>
}})",
                      type.mlir, list, std::string(list).substr(0, std::string(list).find(','))),
          exact({}));
  }
}

TEST(Types, Bitcasts) {
  constexpr std::pair<std::size_t, std::size_t> kPairs[] = {
      {0, 6}, {6, 0}, {1, 7}, {2, 5}, {9, 3}, {4, 8}, {8, 4}, {13, 4}, {8, 17}, {19, 20}, {20, 18}, {22, 21}};
  for (const auto& [from, to] : kPairs) {
    const HostTensor x = codes(kTypes[from].dtype);
    check(fmt::format(R"(
func.func @main(%x: tensor<{0}x{1}>) -> tensor<{0}x{2}> {{
  %0 = kiln.bitcast %x : tensor<{0}x{1}> to tensor<{0}x{2}>
  return %0 : tensor<{0}x{2}>
}})",
                      x.shape[0], kTypes[from].mlir, kTypes[to].mlir),
          exact({x}));
  }
}

}  // namespace
}  // namespace kiln::testing

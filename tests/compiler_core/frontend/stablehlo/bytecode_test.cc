// Portable artifacts: those that StableHLO's serializer wrote, and hostile ones. No MLIR, so that it runs
// under the sanitizers.
#include "compiler_core/frontend/stablehlo/bytecode/read_bytecode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/stablehlo/program/attributes.h"
#include "tests/compiler_core/frontend/stablehlo/artifact_builder.h"
#include "tests/compiler_core/frontend/stablehlo/dump.h"
#include "tests/compiler_core/frontend/stablehlo/fixture.h"

namespace kiln::stablehlo {
namespace {

using test::ArtifactBuilder;
using test::varint;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Result<Program> read(std::string bytes) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return readBytecode(asBytes(*owner), owner);
}

Program readFixture(const std::string& name) {
  const test::Fixture fixture = test::fixture(name);
  auto program = readBytecode(fixture.bytes(), fixture.content);
  if (program) return std::move(*program);
  ADD_FAILURE() << name << ": " << program.error().message;
  return {};
}

void expectRefused(const std::string& bytes, Code code, std::string_view part) {
  auto program = read(bytes);
  ASSERT_FALSE(program) << "accepted; expected " << part;
  EXPECT_EQ(program.error().code, code);
  EXPECT_THAT(program.error().message, HasSubstr(std::string(part)));
}

const Operation* find(const Region& region, std::string_view name, int number = 0) {
  for (const Operation& operation : region.operations)
    if (operation.name == name && number-- == 0) return &operation;
  return nullptr;
}

std::vector<int> bytesOf(const Operation* constant) {
  if (!constant) return {};
  const auto literal = literalAttribute(constant->attributes, "value");
  if (!literal) return {};
  return {literal->bytes.begin(), literal->bytes.end()};
}

TEST(Bytecode, EveryVersionSaysTheSame) {
  const std::string first = test::dump(readFixture(test::artifacts().front()));
  EXPECT_THAT(first, HasSubstr("convolution"));
  for (const std::string& name : test::artifacts()) {
    const Program program = readFixture(name);
    EXPECT_EQ(test::dump(program), first) << name;
    const std::string version = name.substr(11, name.size() - 11 - 7);
    EXPECT_EQ(program.form, "StableHLO bytecode " + version);
    EXPECT_EQ(program.producer, "StableHLO_v" + version);
  }
}

TEST(Bytecode, FunctionsAreNamedTypedAndVisible) {
  const Program program = readFixture("operations.1.17.0.mlirbc");
  ASSERT_EQ(program.functions.size(), 2u);
  const Function* main = program.entry();
  ASSERT_EQ(main, program.find("main"));
  EXPECT_FALSE(program.find("double")->isPublic);
  ASSERT_EQ(main->arguments.size(), 7u);
  EXPECT_EQ(main->arguments[0].name, "params['dense']['kernel']");
  EXPECT_EQ(main->arguments[1].name, "") << "a path of the author's machine";
  EXPECT_EQ(main->arguments[2].name, "index");
  EXPECT_EQ(*stringAttribute(main->arguments[0].attributes, "mhlo.sharding"), "{replicated}");
  EXPECT_THAT(main->types[main->body.arguments[5]].shape, ElementsAre(kDynamic, 4));
  ASSERT_EQ(main->results.size(), 2u);
  EXPECT_EQ(main->results[1].element, Element::kUI32);
  EXPECT_EQ(*stringAttribute(main->resultAttributes[0], "jax.result_info"), "result");
}

TEST(Bytecode, NothingOfTheAuthorsMachineIsKept) {
  for (const std::string& name : test::artifacts()) {
    const Program program = readFixture(name);
    EXPECT_THAT(test::dump(program), Not(HasSubstr("author"))) << name;
    for (const Operation& operation : program.entry()->body.operations)
      EXPECT_THAT(operation.location, Not(HasSubstr("author"))) << name;
  }
  const Program program = readFixture("operations.1.17.0.mlirbc");
  EXPECT_EQ(find(program.entry()->body, "add")->location, "jit(main)/add");
  EXPECT_EQ(find(program.entry()->body, "exponential")->location, "");
}

TEST(Bytecode, LiteralsHaveOneByteForSmallElements) {
  const Program program = readFixture("operations.1.17.0.mlirbc");
  const Region& body = program.entry()->body;
  EXPECT_THAT(bytesOf(find(body, "constant", 2)), ElementsAre(1, 0, 1, 1, 0, 0, 1, 1, 0, 1));
  EXPECT_THAT(bytesOf(find(body, "constant", 3)), ElementsAre(1));
  EXPECT_TRUE(literalAttribute(find(body, "constant", 3)->attributes, "value")->isSplat);
  EXPECT_THAT(bytesOf(find(body, "constant", 4)), ElementsAre(0xF8, 7, 0xFF));
  EXPECT_THAT(bytesOf(find(body, "constant", 5)), ElementsAre(200, 7, 255));
  EXPECT_EQ(bytesOf(find(body, "constant", 6)).size(), 8u);
  EXPECT_TRUE(bytesOf(find(body, "constant", 7)).empty());
  EXPECT_THAT(bytesOf(find(body, "constant", 8)), ElementsAre(0, 0x3E, 0, 0xC0, 0, 0x7E));
  EXPECT_THAT(bytesOf(find(body, "constant", 9)), ElementsAre(0x20, 0x40));
}

TEST(Bytecode, AbsentAttributesHaveTheirDefaults) {
  for (const std::string name : {"operations.0.9.0.mlirbc", "operations.1.17.0.mlirbc"}) {
    const Program program = readFixture(name);
    const Region& body = program.entry()->body;
    const Attributes& gather = find(body, "gather")->attributes;
    EXPECT_TRUE(integersAttribute(gather, "operand_batching_dims")->empty()) << name;
    const Attributes& window = find(body, "reduce_window")->attributes;
    EXPECT_THAT(*integersAttribute(window, "window_strides"), ElementsAre(1, 1));
    EXPECT_THAT(*integersAttribute(window, "padding"), ElementsAre(0, 0, 0, 0));
    const Attributes& convolution = find(body, "convolution")->attributes;
    EXPECT_THAT(*integersAttribute(convolution, "window_reversal"), ElementsAre(1, 0));
    EXPECT_THAT(*integersAttribute(convolution, "padding"), ElementsAre(0, 1, 1, 0));
    EXPECT_FALSE(find(body, "exponential")->attributes.contains("result_accuracy"));
  }
}

TEST(Bytecode, NewerAttributesAreRead) {
  const Program program = readFixture("newer.1.17.0.mlirbc");
  const Region& body = program.entry()->body;
  const Attributes& dot = find(body, "dot_general")->attributes;
  EXPECT_EQ(attributeAs<Type>(dot, "accumulation_type")->element, Element::kF32);
  EXPECT_EQ(attributeAs<Type>(dot, "lhs_precision_type")->text, "tf32");
  EXPECT_EQ(*boolAttribute(dot, "allow_imprecise_accumulation"), false);
  const auto* accuracy = attributeAs<Attributes>(find(body, "tan")->attributes, "result_accuracy");
  ASSERT_TRUE(accuracy);
  EXPECT_EQ(*enumAttribute(*accuracy, "mode"), "TOLERANCE");
  EXPECT_EQ(*integerAttribute(*accuracy, "ulps"), 10);
  EXPECT_THAT(*integersAttribute(find(body, "scatter")->attributes, "input_batching_dims"), ElementsAre(0));
  EXPECT_EQ(*symbolAttribute(find(body, "composite")->attributes, "decomposition"), "inner");
  EXPECT_THAT(bytesOf(find(body, "constant")), ElementsAre(1, 0xFE));
}

TEST(Bytecode, ShorterFilesAreRefused) {
  for (const std::string name :
       {"operations.0.9.0.mlirbc", "operations.0.14.0.mlirbc", "operations.1.17.0.mlirbc"}) {
    const std::string whole = *test::fixture(name).content;
    for (std::size_t length = 0; length < whole.size(); ++length)
      ASSERT_FALSE(read(whole.substr(0, length))) << name << " of " << length << " bytes";
  }
}

TEST(Bytecode, FlippedBytesAreReadOrRefused) {
  constexpr int kMasks[] = {1, 0x80, 0xFF};
  for (const std::string name : {"operations.0.9.0.mlirbc", "operations.1.17.0.mlirbc"}) {
    const std::string whole = *test::fixture(name).content;
    int refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ kMasks[at % 3]);
      auto program = read(flipped);
      if (program) continue;
      ++refused;
      ASSERT_NE(program.error().code, Code::kInternal)
          << name << " byte " << at << ": " << program.error().message;
    }
    EXPECT_GT(refused, 500) << name;
  }
}

TEST(Bytecode, OtherProducersAreRefusedByName) {
  const std::string rest(1, '\0');
  expectRefused("ML\xEFR\x0DMLIR22.1.8" + rest, Code::kUnimplemented, "written by \"MLIR22.1.8\"");
  expectRefused("ML\xEFR\x0DStableHLO_v0.8.3" + rest, Code::kUnimplemented, "before 0.9.0");
  expectRefused("ML\xEFR\x0DStableHLO_vnew" + rest, Code::kInvalidArgument, "no version of StableHLO");
  expectRefused("ML\xEFR\x0FStableHLO_v2.0.0" + rest, Code::kUnimplemented, "version 7 of MLIR's bytecode");
  expectRefused("MZ", Code::kInvalidArgument, "no MLIR bytecode");
}

TEST(Bytecode, WhatIsBuiltByHandIsRead) {
  ArtifactBuilder builder;
  auto program = read(builder.build(0, ""));
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->entry()->body.operations.size(), 1u);
}

TEST(Bytecode, DeepRegionsAreRefused) {
  ArtifactBuilder builder;
  const std::size_t name = builder.operationName("case_v1");
  const auto nested = [&](int depth) {
    std::string content;
    for (int i = 0; i < depth; ++i)
      content = builder.operation(
          name, builder.region(i ? 2 : 1, content + builder.operation(builder.returnName())), 1);
    return builder.build(1, content);
  };
  auto served = read(nested(60));
  EXPECT_TRUE(served) << served.error().message;
  expectRefused(nested(100), Code::kUnimplemented, "regions nested deeper than 64");
  expectRefused(nested(2000), Code::kUnimplemented, "regions nested deeper than 64");
}

TEST(Bytecode, CountsBeyondTheFileAreRefused) {
  ArtifactBuilder builder;
  expectRefused(builder.build(0, "", std::uint64_t{1} << 60), Code::kInvalidArgument, "longer than the file");
  expectRefused(builder.build(std::size_t{1} << 40, ""), Code::kInvalidArgument, "more operations than");
  const std::size_t name = builder.operationName("iota_v1");
  const std::string results = varint(name) + '\x02' + varint(0) + varint(std::uint64_t{1} << 50);
  expectRefused(builder.build(1, results), Code::kInvalidArgument, "longer than the file");
}

// An operation with one property, an attribute of this encoding.
std::string withAttribute(ArtifactBuilder& builder, std::string encoding) {
  const std::size_t attribute = builder.attribute(std::move(encoding));
  const std::size_t name = builder.operationName("concatenate_v1");
  const std::size_t list = builder.propertyList(varint(attribute));
  return builder.build(1, varint(name) + '\x40' + varint(0) + varint(list));
}

TEST(Bytecode, AttributesThatHoldThemselvesAreRefused) {
  ArtifactBuilder builder;
  const std::size_t own = builder.attribute("") + 1;  // the next one's index
  const std::string encoding = varint(1) + varint(3) + varint(own) + varint(own) + varint(own);
  expectRefused(withAttribute(builder, encoding), Code::kUnimplemented, "nested deeper than 64");
}

TEST(Bytecode, FewBytesThatSayMuchAreRefused) {
  ArtifactBuilder builder;
  std::size_t inner = builder.attribute(varint(2) + varint(1));
  for (int i = 0; i < 40; ++i)
    inner = builder.attribute(varint(1) + varint(3) + varint(inner) + varint(inner) + varint(inner));
  expectRefused(withAttribute(builder, varint(1) + varint(1) + varint(inner)), Code::kUnimplemented,
                "so many attributes from so few bytes");
}

TEST(Bytecode, WrongLiteralsAreRefused) {
  ArtifactBuilder builder;
  const std::size_t element = builder.type(varint(4));
  // Extents whose product overflows 64 bits: the literal of no bytes would fit.
  const std::string extent = varint(std::uint64_t{1} << 33);
  const std::size_t huge = builder.type(varint(20) + varint(2) + extent + extent + varint(element));
  expectRefused(withAttribute(builder, varint(15) + varint(huge) + varint(0)), Code::kInvalidArgument,
                "has no known size");
  ArtifactBuilder small;
  const std::size_t five = small.type(varint(20) + varint(1) + varint(10) + varint(small.type(varint(4))));
  expectRefused(withAttribute(small, varint(15) + varint(five) + varint(3) + "abc"), Code::kInvalidArgument,
                "has 3 bytes instead of 20");
}

TEST(Bytecode, AttributesOfTheWrongKindAreRefusedWithTheirPlace) {
  ArtifactBuilder builder;
  expectRefused(withAttribute(builder, varint(2) + varint(1)), Code::kInvalidArgument,
                "function main: operation 0 (concatenate): its attribute 'dimension' is a boolean, expected "
                "an integer");
}

TEST(Bytecode, UnknownKindsAreRefused) {
  ArtifactBuilder builder;
  expectRefused(withAttribute(builder, varint(99)), Code::kUnimplemented, "an attribute of unknown kind 99");
  ArtifactBuilder other;
  const std::size_t unknown = other.type(varint(77));
  expectRefused(withAttribute(other, varint(17) + varint(unknown)), Code::kUnimplemented,
                "a type of unknown kind 77");
}

TEST(Bytecode, UnknownOperationsKeepTheirVersion) {
  ArtifactBuilder builder;
  const std::size_t newer = builder.operationName("add_v7");
  const std::size_t unknown = builder.operationName("future_thing_v1");
  auto program = read(builder.build(2, builder.operation(newer) + builder.operation(unknown)));
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->entry()->body.operations[0].name, "add_v7");
  EXPECT_EQ(program->entry()->body.operations[1].name, "future_thing_v1");
}

}  // namespace
}  // namespace kiln::stablehlo

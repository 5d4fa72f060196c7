// What holds of every program, whoever read it.
#include "compiler_core/frontend/stablehlo/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/stablehlo/program/attributes.h"
#include "compiler_core/frontend/stablehlo/program/element.h"
#include "compiler_core/frontend/stablehlo/program/location_name.h"
#include "compiler_core/frontend/stablehlo/program/name.h"
#include "compiler_core/frontend/stablehlo/program/normalize.h"
#include "compiler_core/frontend/stablehlo/program/schema.h"
#include "compiler_core/frontend/stablehlo/program/validate.h"

namespace kiln::stablehlo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Function function(std::string name, bool isPublic = true) {
  Function made;
  made.name = std::move(name);
  made.isPublic = isPublic;
  made.body.operations.emplace_back().name = "return";
  return made;
}

Operation operation(std::string name, std::vector<ValueId> operands, std::vector<ValueId> results) {
  Operation made;
  made.name = std::move(name);
  made.operands = std::move(operands);
  made.results = std::move(results);
  return made;
}

// One argument, one addition, returned.
Program addition() {
  Program program;
  Function& main = program.functions.emplace_back(function("main"));
  main.types = {tensorType(Element::kF32, {2}), tensorType(Element::kF32, {2})};
  main.arguments.resize(1);
  main.results = {main.types[1]};
  main.body.arguments = {0};
  main.body.operations = {operation("add", {0, 0}, {1}), operation("return", {1}, {})};
  return program;
}

void expectInvalid(const Program& program, std::string_view part) {
  Status checked = validate(program);
  ASSERT_FALSE(checked) << "accepted; expected " << part;
  EXPECT_EQ(checked.error().code, Code::kInvalidArgument);
  EXPECT_THAT(checked.error().message, HasSubstr(std::string(part)));
}

TEST(Program, EntryIsMainOrTheOnlyPublicFunction) {
  Program program;
  EXPECT_EQ(program.entry(), nullptr);
  program.functions = {function("helper", false), function("run")};
  EXPECT_EQ(program.entry()->name, "run");
  program.functions.push_back(function("other"));
  EXPECT_EQ(program.entry(), nullptr);
  program.functions.push_back(function("main"));
  EXPECT_EQ(program.entry()->name, "main");
  program.functions.back().isPublic = false;
  EXPECT_EQ(program.entry(), nullptr);
  EXPECT_EQ(program.find("helper"), &program.functions[0]);
  EXPECT_EQ(program.find("nobody"), nullptr);
}

TEST(Program, TypesHaveTheirText) {
  EXPECT_EQ(tensorType(Element::kBF16, {2, kDynamic}).text, "tensor<2x?xbf16>");
  EXPECT_EQ(tensorType(Element::kOther, {}, "complex<f32>").text, "tensor<complex<f32>>");
  EXPECT_EQ(tupleType({tensorType(Element::kI1, {}), tupleType({})}).text, "tuple<tensor<i1>, tuple<>>");
}

TEST(Program, SizesAreBounded) {
  EXPECT_EQ(elementCount(std::vector<std::int64_t>{3, 4}), 12);
  EXPECT_EQ(elementCount(std::vector<std::int64_t>{std::int64_t{1} << 62, 0}), 0);
  EXPECT_EQ(elementCount(std::vector<std::int64_t>{2, kDynamic}), std::nullopt);
  EXPECT_EQ(elementCount(std::vector<std::int64_t>{std::int64_t{1} << 32, std::int64_t{1} << 32}),
            std::nullopt);
  const Type type = tensorType(Element::kI16, {3});
  EXPECT_TRUE(checkLiteral(type, false, 6));
  EXPECT_TRUE(checkLiteral(type, true, 2));
  EXPECT_FALSE(checkLiteral(type, false, 5));
}

TEST(Program, EveryVersionHasTheAttributesOfItsTime) {
  const OperationRule* gather = findRule("gather");
  ASSERT_TRUE(gather);
  EXPECT_EQ(attributesOfVersion(*gather, 1).size(), 6u);
  EXPECT_EQ(attributesOfVersion(*gather, 2).size(), 8u);
  EXPECT_EQ(attributesOfVersion(*findRule("dynamic_conv"), 1).size(), 17u);
  EXPECT_EQ(attributesOfVersion(*findRule("dynamic_conv"), 2).size(), 16u);
  EXPECT_TRUE(attributesOfVersion(*findRule("exponential"), 1).empty());
  EXPECT_EQ(attributesOfVersion(*findRule("custom_call"), 2).back()->name, "result_tilings");
  EXPECT_EQ(attributesOfVersion(*findRule("collective_broadcast"), 2)[1]->name, "has_dynamic_root");
  EXPECT_EQ(findRule("stablehlo.add"), nullptr);
}

TEST(Names, AreTextThatCanBeShown) {
  EXPECT_TRUE(isName("params['Dense_0']"));
  EXPECT_TRUE(isName("größe"));
  EXPECT_TRUE(isName(std::string(5000, 'a')));
  for (const std::string& wrong :
       {std::string("a\0b", 3), std::string("a\x1b[2J"), std::string("a\nb"), std::string("\u0085"),
        std::string("a\u202eb"), std::string("a\u200bb"), std::string("\xff")})
    EXPECT_FALSE(isName(wrong)) << wrong;
}

TEST(Names, AreCutBetweenCharacters) {
  EXPECT_EQ(cutName("abc", 3), "abc");
  EXPECT_EQ(cutName("abcd", 3), "abc");
  EXPECT_EQ(cutName("a\u00fcb", 2), "a");
  EXPECT_EQ(cutName("a\u00fcb", 3), "a\u00fc");
  EXPECT_EQ(cutName("\U0001F600", 3), "");
}

TEST(Normalize, FillsInWhatIsAbsent) {
  const std::vector<Type> types = {tensorType(Element::kF32, {4, 5})};
  Operation sort = operation("sort", {0}, {});
  sort.attributes["operandSegmentSizes"] = {std::vector<std::int64_t>{1}};
  ASSERT_TRUE(normalize(sort, types));
  EXPECT_EQ(*integerAttribute(sort.attributes, "dimension"), -1);
  EXPECT_FALSE(*boolAttribute(sort.attributes, "is_stable"));
  EXPECT_EQ(sort.attributes.size(), 2u);
  Operation window = operation("reduce_window", {0}, {});
  window.attributes["window_dimensions"] = {std::vector<std::int64_t>{2, 2}};
  ASSERT_TRUE(normalize(window, types));
  EXPECT_THAT(*integersAttribute(window.attributes, "base_dilations"), ElementsAre(1, 1));
}

TEST(Normalize, RefusesWhatIsWrong) {
  Operation constant = operation("constant", {}, {});
  EXPECT_THAT(normalize(constant, {}).error().message, HasSubstr("has no attribute 'value'"));
  Operation call = operation("custom_call", {}, {});
  call.attributes["call_target_name"] = {std::string("f")};
  call.attributes["api_version"] = {std::int64_t{9}};
  EXPECT_THAT(normalize(call, {}).error().message, HasSubstr("'api_version' is an integer"));
  call.attributes["api_version"] = {std::int64_t{4}};
  ASSERT_TRUE(normalize(call, {}));
  EXPECT_EQ(*enumAttribute(call.attributes, "api_version"), "API_VERSION_TYPED_FFI");
}

TEST(Normalize, ReadsIntegersOfLiterals) {
  Literal literal;
  literal.type = tensorType(Element::kI16, {2});
  const std::uint8_t bytes[] = {0xFE, 0xFF, 3, 0};
  literal.bytes = bytes;
  EXPECT_THAT(*literalIntegers(literal), ElementsAre(-2, 3));
  literal.type = tensorType(Element::kUI16, {2});
  EXPECT_THAT(*literalIntegers(literal), ElementsAre(0xFFFE, 3));
  literal.isSplat = true;
  literal.bytes = Bytes(bytes, 2);
  EXPECT_THAT(*literalIntegers(literal), ElementsAre(0xFFFE, 0xFFFE));
  literal.type = tensorType(Element::kI16, {1 << 20});
  EXPECT_FALSE(literalIntegers(literal));
  literal.type = tensorType(Element::kF16, {2});
  EXPECT_FALSE(literalIntegers(literal));
}

TEST(Validate, AcceptsWhatIsRight) {
  Status checked = validate(addition());
  EXPECT_TRUE(checked) << checked.error().message;
}

TEST(Validate, ValuesAreDefinedOnceBeforeTheirUses) {
  Program program = addition();
  program.functions[0].body.operations[0].operands[1] = 1;
  expectInvalid(program, "function main: operation 0 (add): uses a value that is not defined before it");
  program = addition();
  program.functions[0].body.operations[0].operands[1] = 7;
  expectInvalid(program, "uses a value that is not defined before it");
  program = addition();
  program.functions[0].body.operations[0].results[0] = 0;
  expectInvalid(program, "a second time");
}

TEST(Validate, ValuesEndWithTheirRegion) {
  Program program = addition();
  Function& main = program.functions[0];
  main.types.push_back(main.types[0]);
  Operation inside = operation("case", {}, {});
  Region& region = inside.regions.emplace_back();
  region.operations = {operation("negate", {0}, {2}), operation("return", {}, {})};
  main.body.operations.insert(main.body.operations.begin(), inside);
  EXPECT_TRUE(validate(program));
  main.body.operations[1].operands[1] = 2;
  expectInvalid(program, "operation 1 (add): uses a value that is not defined before it");
}

TEST(Validate, RegionsEndInTheirReturn) {
  Program program = addition();
  program.functions[0].body.operations.pop_back();
  expectInvalid(program, "does not end in a return");
  program = addition();
  program.functions[0].body.operations.push_back(operation("return", {1}, {}));
  expectInvalid(program, "operation 1 (return): stands before the end");
  program = addition();
  program.functions[0].body.operations[1].operands.clear();
  expectInvalid(program, "returns 0 values, but has 1 results");
}

TEST(Validate, FunctionsHaveDifferentPlainNames) {
  Program program = addition();
  program.functions.push_back(program.functions[0]);
  expectInvalid(program, "two functions are called 'main'");
  program.functions[1].name = "a\nb";
  expectInvalid(program, "characters that cannot be shown");
}

TEST(LocationName, KeepsNamesButNoPaths) {
  LocationName name;
  EXPECT_TRUE(name.add("jit(main)"));
  EXPECT_TRUE(name.add("add"));
  EXPECT_FALSE(name.add("/home/author/model.py"));
  EXPECT_FALSE(name.add("C:\\Users\\author\\model.py"));
  EXPECT_FALSE(name.add("~/model.py"));
  EXPECT_FALSE(name.add("a\nb"));
  EXPECT_FALSE(name.add("a\u202eb")) << "it turns the direction of the text";
  EXPECT_FALSE(name.add(std::string(2000, 'a')));
  EXPECT_EQ(std::move(name).text(), "jit(main)/add");
}

}  // namespace
}  // namespace kiln::stablehlo

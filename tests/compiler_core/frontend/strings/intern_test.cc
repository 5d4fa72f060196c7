// Labels and categories as numbers: what becomes of a model, and what is refused.
#include "compiler_core/frontend/onnx/strings/intern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler_core/frontend/onnx/reader/parse.h"
#include "tests/support/onnx_builder.h"

namespace kiln::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using namespace testing_support;

constexpr char kMl[] = "ai.onnx.ml";
constexpr std::int32_t kIntegers = static_cast<std::int32_t>(ElementType::kInt64),
                       kStrings = static_cast<std::int32_t>(ElementType::kString);

// A tensor of strings.
ProtoMessage texts(std::string_view name, const std::vector<std::int64_t>& dims,
                   const std::vector<std::string>& values) {
  ProtoMessage tensor;
  for (const std::int64_t dim : dims) tensor.varint(1, static_cast<std::uint64_t>(dim));
  tensor.varint(2, kOnnxString).text(8, name);
  for (const std::string& value : values) tensor.text(6, value);
  return tensor;
}

struct Rewritten {
  explicit Rewritten(const OnnxBuilder& builder) : bytes(builder.build()) {
    auto parsed = parseModel(asBytes(bytes));
    EXPECT_TRUE(parsed) << parsed.error().message;
    if (parsed) model = std::move(*parsed);
    strings = internStrings(model);
  }
  const InternedStrings& operator*() const { return *strings; }
  const InternedStrings* operator->() const { return &*strings; }
  const Attribute* attribute(std::size_t node, std::string_view name) const {
    const auto& all = model.graph.nodes.at(node).attributes;
    const auto found = std::ranges::find(all, name, &Attribute::name);
    return found == all.end() ? nullptr : &*found;
  }
  // The integers of a list attribute; what stands in no model where it is missing.
  std::vector<std::int64_t> list(std::size_t node, std::string_view name) const {
    const Attribute* found = attribute(node, name);
    return found != nullptr ? found->ints : std::vector<std::int64_t>{-99};
  }
  std::string refusal() const {
    std::string all;
    for (const UnservedNode& one : strings->unserved)
      all += one.node + " (" + one.op + "): " + one.reason + "\n";
    return all;
  }

  std::string bytes;
  Model model;
  Result<InternedStrings> strings = InternedStrings();
};

OnnxBuilder pipeline(const std::vector<ProtoMessage>& attributes, const std::string& op = "LabelEncoder",
                     int from = kOnnxString, int to = kOnnxInt64) {
  OnnxBuilder model(18);
  model.importDomain(kMl, 3).input("x", {"N"}, from).output("y", to);
  model.node(op, {"x"}, {"y"}, attributes, "one", kMl);
  return model;
}

TEST(InternStrings, AModelWithoutStringsStaysAsItIs) {
  OnnxBuilder model;
  model.input("x", {2}).output("y").node("Relu", {"x"}, {"y"});
  const Rewritten none(model);
  EXPECT_THAT(none->texts, IsEmpty());
  EXPECT_THAT(none->values, IsEmpty());
  EXPECT_THAT(none->unserved, IsEmpty());
}

TEST(InternStrings, KeysAndTheInputBecomePlacesInTheSortedTable) {
  const Rewritten made(
      pipeline({onnxTexts("keys_strings", {"red", "", "blue"}), onnxInts("values_int64s", {7, 8, 9})}));
  EXPECT_THAT(made->texts, ElementsAre("", "blue", "red"));
  EXPECT_THAT(made->values, ElementsAre("x"));
  EXPECT_EQ(made.model.graph.inputs[0].type, kIntegers);
  EXPECT_THAT(made.list(0, "keys_int64s"), ElementsAre(2, 0, 1));
  EXPECT_THAT(made.list(0, "values_int64s"), ElementsAre(7, 8, 9));
  EXPECT_EQ(made.attribute(0, "keys_strings"), nullptr);
}

TEST(InternStrings, WhatAKeyIsNotFoundAsIsATextToo) {
  const Rewritten told(pipeline(
      {onnxInts("keys_int64s", {1}), onnxTexts("values_strings", {"b"}), onnxText("default_string", "a")},
      "LabelEncoder", kOnnxInt64, kOnnxString));
  EXPECT_THAT(told->texts, ElementsAre("a", "b"));
  EXPECT_THAT(told->values, ElementsAre("y"));
  EXPECT_EQ(told.attribute(0, "default_int64")->i, 0);
  EXPECT_EQ(told.attribute(0, "default_string"), nullptr);
  const Rewritten untold(pipeline({onnxInts("keys_int64s", {1}), onnxTexts("values_strings", {"b"})},
                                  "LabelEncoder", kOnnxInt64, kOnnxString));
  EXPECT_THAT(untold->texts, ElementsAre("_Unused", "b")) << "ONNX's default";
  EXPECT_EQ(untold.attribute(0, "default_int64")->i, 0);
}

TEST(InternStrings, TensorsOfStringsDoToo) {
  const Rewritten made(pipeline({onnxTensorAttribute("keys_tensor", texts("", {2}, {"b", "a"})),
                                 onnxTensorAttribute("values_tensor", texts("", {2}, {"c", "d"})),
                                 onnxTensorAttribute("default_tensor", texts("", {1}, {"e"}))},
                                "LabelEncoder", kOnnxString, kOnnxString));
  EXPECT_THAT(made->texts, ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(made->values, UnorderedElementsAre("x", "y"));
  EXPECT_EQ(made.attribute(0, "keys_tensor")->t->type, kIntegers);
  EXPECT_THAT(made.attribute(0, "keys_tensor")->t->ints64.single, ElementsAre(1, 0));
  EXPECT_THAT(made.attribute(0, "default_tensor")->t->ints64.single, ElementsAre(4));
}

// One list of names, which are keys or values as the input says.
TEST(InternStrings, TheFirstVersionOfALabelEncoderIsOneOfKeysAndValues) {
  const Rewritten places(pipeline({onnxTexts("classes_strings", {"b", "a"})}));
  EXPECT_THAT(places.list(0, "keys_int64s"), ElementsAre(1, 0));
  EXPECT_THAT(places.list(0, "values_int64s"), ElementsAre(0, 1));
  const Rewritten names(pipeline({onnxTexts("classes_strings", {"b", "a"}), onnxText("default_string", "b")},
                                 "LabelEncoder", kOnnxInt64, kOnnxString));
  EXPECT_THAT(names.list(0, "keys_int64s"), ElementsAre(0, 1));
  EXPECT_THAT(names.list(0, "values_int64s"), ElementsAre(1, 0));
}

TEST(InternStrings, CategoriesAndTheNamesOfClasses) {
  const Rewritten categories(
      pipeline({onnxTexts("cats_strings", {"b", "a"})}, "OneHotEncoder", kOnnxString, kOnnxFloat));
  EXPECT_THAT(categories.list(0, "cats_int64s"), ElementsAre(1, 0));
  for (const auto& [op, integers] : {std::pair{"LinearClassifier", "classlabels_ints"},
                                     {"SVMClassifier", "classlabels_ints"},
                                     {"TreeEnsembleClassifier", "classlabels_int64s"}}) {
    const Rewritten named(
        pipeline({onnxTexts("classlabels_strings", {"no", "yes"})}, op, kOnnxFloat, kOnnxString));
    EXPECT_THAT(named.list(0, integers), ElementsAre(0, 1)) << op;
    EXPECT_THAT(named->values, ElementsAre("y")) << op;
  }
  // Scores alone need no names.
  OnnxBuilder scores(18);
  scores.importDomain(kMl, 3).input("x", {2}).output("s");
  scores.node("LinearClassifier", {"x"}, {"", "s"}, {onnxTexts("classlabels_strings", {"no", "yes"})}, "one",
              kMl);
  EXPECT_THAT(Rewritten(scores)->texts, IsEmpty());
}

TEST(InternStrings, WhatMovesAndComparesStringsKnowsNoneOfThem) {
  OnnxBuilder model(18);
  model.importDomain(kMl, 3)
      .input("x", {2}, kOnnxString)
      .output("found", kOnnxBool)
      .output("name", kOnnxString)
      .output("size", kOnnxInt64);
  model.initializer(texts("words", {3}, {"c", "a", "b"}))
      .initializer(onnxTensor("at", {2}, std::vector<std::int64_t>{2, 0}));
  model.node("Gather", {"words", "at"}, {"two"})
      .node("Identity", {"x"}, {"same"})
      .node("Equal", {"same", "two"}, {"found"})
      .node("Where", {"found", "two", "two"}, {"name"})
      .node("Shape", {"x"}, {"size"});
  const Rewritten made(model);
  EXPECT_THAT(made->unserved, IsEmpty()) << made.refusal();
  EXPECT_THAT(made->texts, ElementsAre("a", "b", "c"));
  EXPECT_THAT(made->values, UnorderedElementsAre("x", "name"));
  EXPECT_THAT(made.model.graph.initializers[0].ints64.single, ElementsAre(2, 0, 1));
}

TEST(InternStrings, ConstantsInEachForm) {
  for (const ProtoMessage& form : {onnxText("value_string", "a"), onnxTexts("value_strings", {"a"}),
                                   onnxTensorAttribute("value", texts("", {1}, {"a"}))}) {
    OnnxBuilder model(18);
    model.output("y", kOnnxString).node("Constant", {}, {"y"}, {form});
    const Rewritten made(model);
    EXPECT_THAT(made->texts, ElementsAre("a"));
    EXPECT_THAT(made->values, ElementsAre("y"));
  }
}

// A text of a caller's may be none of the table: what would need to tell two such apart, or give one back,
// cannot.
TEST(InternStrings, WhatCannotBeANumberIsRefusedByPlaceAndLeftAsItIs) {
  OnnxBuilder returned;
  returned.input("x", {2}, kOnnxString).output("y", kOnnxString).node("Identity", {"x"}, {"y"});
  const Rewritten back(returned);
  EXPECT_THAT(back.refusal(), HasSubstr("y ((output)): it holds strings of an input"));
  EXPECT_EQ(back.model.graph.inputs[0].type, kStrings);
  OnnxBuilder compared;
  compared.input("x", {2}, kOnnxString)
      .input("z", {2}, kOnnxString)
      .output("y", kOnnxBool)
      .node("Equal", {"x", "z"}, {"y"}, {}, "same");
  EXPECT_THAT(Rewritten(compared).refusal(), HasSubstr("same (Equal): two inputs of strings are compared"));
  OnnxBuilder cast;
  cast.input("x", {2}, kOnnxString)
      .output("y")
      .node("Cast", {"x"}, {"y"}, {onnxInt("to", kOnnxFloat)}, "number");
  EXPECT_THAT(Rewritten(cast).refusal(), HasSubstr("number (Cast): strings are not served here"));
  OnnxBuilder mixed;
  mixed.input("x", {2}, kOnnxString)
      .input("z", {2})
      .output("y")
      .node("Concat", {"x", "z"}, {"y"}, {onnxInt("axis", 0)}, "both");
  EXPECT_THAT(Rewritten(mixed).refusal(), HasSubstr("both (Concat): input 1 is no string"));
  EXPECT_THAT(Rewritten(pipeline({onnxInts("keys_int64s", {1}), onnxInts("values_int64s", {1})})).refusal(),
              HasSubstr("the input is a string, and its keys are none"));
  EXPECT_THAT(Rewritten(pipeline({onnxTexts("keys_strings", {"a"}), onnxInts("values_int64s", {1})},
                                 "LabelEncoder", kOnnxInt64))
                  .refusal(),
              HasSubstr("its keys are strings, and the input is none"));
  EXPECT_THAT(Rewritten(pipeline({onnxInts("cats_int64s", {1})}, "OneHotEncoder")).refusal(),
              HasSubstr("'cats_strings' is missing"));
  EXPECT_THAT(
      Rewritten(pipeline({onnxTexts("classlabels_strings", {"a", "b"})}, "LinearClassifier")).refusal(),
      HasSubstr("the features are strings"));
}

TEST(InternStrings, ABodyThatUsesThemIsRefused) {
  OnnxBuilder branch, model;
  branch.node("Identity", {"x"}, {"b"}).output("b", kOnnxString);
  model.input("x", {2}, kOnnxString).input("c", {}, kOnnxBool).output("y", kOnnxString);
  model.node("If", {"c"}, {"y"}, {onnxGraph("then_branch", branch), onnxGraph("else_branch", branch)},
             "choice");
  EXPECT_THAT(Rewritten(model).refusal(), HasSubstr("choice (If): its body uses strings"));
}

TEST(InternStrings, TheTableIsBoundedAndOfText) {
  const auto refusal = [](const std::vector<std::string>& keys) {
    return Rewritten(pipeline({onnxTexts("keys_strings", keys), onnxInts("values_int64s", {1})})).refusal();
  };
  EXPECT_THAT(refusal({"\xff"}), HasSubstr("no UTF-8 text"));
  EXPECT_THAT(refusal({std::string("a\0b", 3)}), HasSubstr("no UTF-8 text"));
  EXPECT_EQ(refusal({std::string(kMaxTextBytes, 'a')}), "");
  EXPECT_THAT(refusal({std::string(kMaxTextBytes + 1, 'a')}), HasSubstr("more than 4096 bytes"));
  std::vector<std::string> many;
  for (std::size_t i = 0; i < kMaxTexts; ++i) many.push_back(std::to_string(i));
  EXPECT_EQ(refusal(many), "");
  many.emplace_back("one more");
  EXPECT_THAT(refusal(many), HasSubstr("names 16385 strings"));
}

TEST(InternStrings, ATensorThatLacksStringsIsInvalid) {
  OnnxBuilder model;
  model.output("y", kOnnxString).initializer(texts("w", {3}, {"a", "b"})).node("Identity", {"w"}, {"y"});
  const Rewritten made(model);
  ASSERT_FALSE(made.strings);
  EXPECT_EQ(made.strings.error().code, Code::kInvalidArgument);
  EXPECT_THAT(made.strings.error().message, HasSubstr("has 2 of them"));
}

}  // namespace
}  // namespace kiln::onnx

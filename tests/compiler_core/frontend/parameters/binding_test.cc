#include "compiler_core/frontend/parameters/binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>

namespace kiln::parameters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr auto kNone = std::nullopt;

class BindingTest : public testing::Test {
 protected:
  // A tensor of `size` floats that are all `value`.
  ir::Weight tensor(const std::string& name, float value = 0, std::size_t size = 2) {
    data_.emplace_back(size, value);
    const Bytes bytes(reinterpret_cast<const std::uint8_t*>(data_.back().data()), 4 * size);
    return {name, DType::kF32, {static_cast<std::int64_t>(size)}, bytes, nullptr};
  }
  // Tensors with these names, each with a value of its own.
  ParameterFile file(const std::vector<std::string>& names, Format format = Format::kNpz) {
    ParameterFile out{"w.npz", format, {}, {"w.npz"}};
    for (const std::string& name : names) out.tensors.push_back(tensor(name, ++value_));
    return out;
  }
  static std::vector<Argument> arguments(const std::vector<std::string>& names) {
    std::vector<Argument> out;
    for (const std::string& name : names) out.push_back({name, DType::kF32, {2}});
    return out;
  }
  // By argument the value that it got: 0 for one that stays an input.
  static std::vector<float> bound(const std::vector<Argument>& arguments,
                                  const std::vector<ParameterFile>& files) {
    const auto found = bind(arguments, files);
    EXPECT_TRUE(found) << found.error().message;
    std::vector<float> out;
    if (!found) return out;
    for (const auto& entry : found->ofArgument) {
      float value = 0;
      if (entry) std::memcpy(&value, found->weights[*entry].bytes.data(), 4);
      out.push_back(value);
    }
    return out;
  }
  static std::string errorOf(const std::vector<Argument>& arguments,
                             const std::vector<ParameterFile>& files) {
    const auto found = bind(arguments, files);
    EXPECT_FALSE(found);
    if (found) return "";
    EXPECT_EQ(found.error().code, Code::kInvalidArgument);
    return found.error().message;
  }

  std::deque<std::vector<float>> data_;
  float value_ = 0;
};

TEST_F(BindingTest, BindsByName) {
  EXPECT_THAT(bound(arguments({"x", "b", "a"}), {file({"a", "b"})}), ElementsAre(0, 2, 1));
  EXPECT_THAT(bound(arguments({"x", "b", "a"}), {file({"a"}), file({"b"}, Format::kSafetensors)}),
              ElementsAre(0, 4, 3));
  const auto found = bind(arguments({"x", "b"}), {file({"b"})});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->weights[0].name, "b");
  EXPECT_THAT(found->ofArgument, ElementsAre(kNone, 0));
  EXPECT_TRUE(bind(arguments({"x"}), {}));
}

TEST_F(BindingTest, BindsByPath) {
  const auto tree = arguments({"params['Dense_0']['bias']", "params['Dense_0']['kernel']", "x"});
  EXPECT_THAT(bound(tree, {file({"params.Dense_0.kernel", "params/Dense_0/bias"})}), ElementsAre(2, 1, 0));
  EXPECT_THAT(bound(tree, {file({"Dense_0/kernel", "Dense_0.bias"})}), ElementsAre(4, 3, 0));
  EXPECT_THAT(bound(tree, {file({"variables.Dense_0.kernel", "variables.Dense_0.bias"})}),
              ElementsAre(6, 5, 0));
}

TEST_F(BindingTest, PrefersTheNameToThePath) {
  EXPECT_THAT(bound(arguments({"p.a", "p/a"}), {file({"p/a", "p.a"})}), ElementsAre(2, 1));
  // Two arguments behind their roots, neither of which is meant by this name.
  EXPECT_THAT(errorOf(arguments({"p.a", "q.a", "b"}), {file({"a", "b"})}),
              HasSubstr("tensor \"a\" is superfluous"));
}

TEST_F(BindingTest, BindsByPosition) {
  EXPECT_THAT(bound(arguments({"p", "q", "x"}), {file({"arr_1", "arr_0"})}), ElementsAre(2, 1, 0));
  EXPECT_THAT(bound(arguments({"x", "p", "q"}), {file({"arg_2", "1"})}), ElementsAre(0, 4, 3));
  EXPECT_THAT(errorOf(arguments({"p", "q", "r"}), {file({"arr_0", "arr_2"})}),
              HasSubstr("argument 1 \"q\" is missing"));
  EXPECT_THAT(errorOf(arguments({"p"}), {file({"arr_0", "arr_1"})}),
              HasSubstr("tensor \"arr_1\" is superfluous: the program has 1 argument"));
  // They are names where arguments have them.
  EXPECT_THAT(bound(arguments({"arg_1", "arg_0"}), {file({"arg_0", "arg_1"})}), ElementsAre(10, 9));
}

// Weights of one shape would change places unseen.
TEST_F(BindingTest, TheOrderOfAFileSaysNothing) {
  for (const Format format : {Format::kNpz, Format::kNpy, Format::kGguf, Format::kSafetensors}) {
    const std::string error =
        errorOf(arguments({"params['w']", "params['b']"}), {file({"weight", "b1"}, format)});
    EXPECT_THAT(error, HasSubstr("w.npz: none of its tensors has the name of an argument; those are "
                                 "\"params['w']\", \"params['b']\""));
    EXPECT_THAT(error, HasSubstr("tensor \"weight\" is superfluous: no argument has this name"));
    EXPECT_THAT(error, HasSubstr("tensor \"b1\" is superfluous: no argument has this name; did you mean "
                                 "\"params['b']\"?"));
  }
  EXPECT_THAT(errorOf(arguments({"x"}), {file({"y"}, Format::kNpy)}),
              HasSubstr("tensor \"y\" is superfluous"));
}

TEST_F(BindingTest, NamesThatComeNearAreNamed) {
  EXPECT_THAT(errorOf(arguments({"params['Dense_0']['kernel']", "x"}), {file({"Dense_0.kernal"})}),
              HasSubstr("did you mean \"params['Dense_0']['kernel']\"?"));
  EXPECT_THAT(errorOf(arguments({"params['Dense_0']['kernel']", "x"}), {file({"params.Dense0.kernel"})}),
              HasSubstr("did you mean \"params['Dense_0']['kernel']\"?"));
  const std::string many = errorOf(arguments(std::vector<std::string>(12, "same")), {file({"other"})});
  EXPECT_THAT(many, HasSubstr(" and 4 more"));
}

TEST_F(BindingTest, ArgumentsWithoutNamesTakePositionsAlone) {
  EXPECT_THAT(bound(arguments({"", "", ""}), {file({"1", "0"})}), ElementsAre(2, 1, 0));
  for (const Format format : {Format::kNpz, Format::kNpy, Format::kGguf, Format::kSafetensors})
    EXPECT_THAT(
        errorOf(arguments({"", ""}), {file({"w", "b"}, format)}),
        HasSubstr("w.npz: the program's arguments have no names that tensor \"w\" could be; number the "
                  "tensors by the arguments (\"0\", or numpy.savez(file, *leaves))"));
  const auto found = bind(arguments({""}), {file({"arr_0"})});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->weights[0].name, "arr_0");
  EXPECT_TRUE(bind(arguments({""}), {file({})}));
}

TEST_F(BindingTest, AnOpenDimensionIsCalledAsTheModelCallsIt) {
  auto wanted = arguments({"a"});
  wanted[0].shape = {-1, 16};
  wanted[0].dimNames = {"N", ""};
  EXPECT_THAT(errorOf(wanted, {file({"a"})}), HasSubstr("argument 0 \"a\" is f32[N,16]"));
  wanted[0].dimNames = {};
  EXPECT_THAT(errorOf(wanted, {file({"a"})}), HasSubstr("argument 0 \"a\" is f32[?,16]"));
}

TEST_F(BindingTest, ChecksTypesAndShapes) {
  auto wanted = arguments({"a", "b"});
  wanted[0].dtype = DType::kF16;
  wanted[1].shape = {1, 2};
  const std::string error = errorOf(wanted, {file({"a", "b"})});
  EXPECT_THAT(error, HasSubstr("w.npz: tensor \"a\" is f32[2], argument 0 \"a\" is f16[2]"));
  EXPECT_THAT(error, HasSubstr("w.npz: tensor \"b\" is f32[2], argument 1 \"b\" is f32[1,2]"));
}

TEST_F(BindingTest, NamesAllThatIsWrongUpToALimit) {
  std::vector<std::string> names = {"a"};
  for (int i = 0; i < 20; ++i) names.push_back("more" + std::to_string(i));
  const std::string error = errorOf(arguments({"a"}), {file(names)});
  EXPECT_THAT(error, HasSubstr("tensor \"more15\" is superfluous"));
  EXPECT_THAT(error, Not(HasSubstr("more16")));
  EXPECT_THAT(error, HasSubstr("and 4 more"));
}

TEST_F(BindingTest, NamesWhatATreeLacks) {
  const std::string error = errorOf(arguments({"p['a']", "p['b']", "q['c']", "x"}), {file({"p.a"})});
  EXPECT_THAT(error, HasSubstr("argument 1 \"p['b']\" is missing"));
  EXPECT_THAT(error, Not(HasSubstr("q")));
  EXPECT_THAT(error, Not(HasSubstr("\"x\"")));
}

TEST_F(BindingTest, RefusesTwoTensorsForOneArgument) {
  EXPECT_THAT(errorOf(arguments({"p.a"}), {file({"p.a"}), file({"p/a"})}),
              HasSubstr("tensor \"p/a\" is argument 0 \"p.a\", as tensor \"p.a\" of w.npz is already"));
}

TEST_F(BindingTest, KeepsTiedWeightsOnce) {
  ParameterFile one = file({});
  one.tensors = {tensor("a", 7, 1000), tensor("b", 7, 1000), tensor("c", 7, 1000), tensor("d", 7, 500)};
  // Differs in one element, which is none of those that are looked at first.
  data_[2][300] = 8;
  std::vector<Argument> wanted;
  for (const ir::Weight& tensor : one.tensors) wanted.push_back({tensor.name, tensor.dtype, tensor.shape});
  const auto found = bind(wanted, {one});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(found->weights, SizeIs(3));
  EXPECT_THAT(found->ofArgument, ElementsAre(0, 0, 1, 2));
  EXPECT_EQ(found->weights[0].name, "a");
}

}  // namespace
}  // namespace kiln::parameters

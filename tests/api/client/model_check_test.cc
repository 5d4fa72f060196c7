// What is told about a model before anything is sent.
#include "api/client/model_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "api/client/model_report.h"
#include "manifest/spec/profile_option.h"
#include "tests/api/client/onnx_bytes.h"
#include "tests/compiler_core/frontend/torch/archive_builder.h"
#include "tests/support/temp_directory.h"

namespace kiln::client {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using namespace testing_support;

// image [N, 3, H, W], mask [N, H, W], one dimension without a name.
std::string detector() {
  return varintField(1, 8) +
         field(7, field(11, floatInput("image", {"N", "3", "H", "W"})) +
                      field(11, floatInput("mask", {"N", "H", "W"})) +
                      field(11, floatInput("box", {"4", "?"})) + field(12, floatInput("mask", {"N"})));
}

CompileSpec specWith(const std::vector<std::string>& profiles) {
  CompileSpec spec;
  spec.profiles = *parseProfiles(profiles);
  return spec;
}

TEST(ModelCheck, NamesAllThatIsMissingAtOnce) {
  const auto refusal = [](const std::vector<std::string>& profiles) {
    const auto given = checkModel(asBytes(detector()), "nets/yolo.onnx", specWith(profiles));
    return given ? Error{Code::kUnknown, "passed", {}} : given.error();
  };
  const Error nothing = refusal({});
  EXPECT_EQ(nothing.code, Code::kUnimplemented);
  EXPECT_THAT(
      nothing.message,
      AllOf(HasSubstr("nets/yolo.onnx: "), HasSubstr("leave 4 of the model open"),
            HasSubstr("N (dimension 0 of input image)"), HasSubstr("H (dimension 2 of input image)"),
            HasSubstr("W (dimension 3 of input image)"), HasSubstr("box.1 (dimension 1 of input box)"),
            HasSubstr("--profile N= --profile H= --profile W= --profile box.1=")));
  EXPECT_THAT(refusal({"N=1", "H=32:64:128"}).message,
              AllOf(HasSubstr("leave 2 of the model open"), Not(HasSubstr("--profile N=")),
                    HasSubstr("--profile W=")));
  EXPECT_THAT(refusal({"N=1", "small:H=8,W=8,box.1=1", "big:H=16:32:64,W=16:32:64,box.1=1"}).message,
              AllOf(HasSubstr("N (dimension 0 of input image, not in profile small, big)"),
                    HasSubstr("H (dimension 2 of input image, not in profile default)"),
                    HasSubstr("give --profile small:N= --profile big:N= --profile default:H= ")));
  // Every profile gives every dimension.
  EXPECT_THAT(refusal({"a:N=1,H=2,W=3,box.1=4", "b:N=1,H=2,box.1=4"}).message, HasSubstr("--profile b:W="));
  EXPECT_EQ(refusal({"N=1", "H=32:64:128", "W=5", "box.1=3"}).message, "passed");
}

// A list of unknown length is as long as its pin; that says nothing about other inputs or further dimensions.
TEST(ModelCheck, APinGivesALengthOnlyToItsOwnList) {
  const auto openWith = [](const std::vector<std::string>& dims, const std::string& pinned) {
    CompileSpec spec;
    spec.pins[pinned] = {1, 2};
    const auto checked = checkModel(
        asBytes(varintField(1, 8) +
                field(7, field(11, floatInput("axes", dims)) + field(12, floatInput("axes", {"1"})))),
        "m.onnx", spec);
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(openWith({"?"}, "axes"), "");
  EXPECT_THAT(openWith({"?"}, "other"), HasSubstr("leave 1 of the model open: axes.0 "));
  EXPECT_THAT(openWith({"2", "?"}, "axes"), HasSubstr("leave 1 of the model open: axes.1 "));
  EXPECT_THAT(openWith({"N"}, "axes"), HasSubstr("leave 1 of the model open: N "));
}

// Everything that the model has no place for is told at once, beside what is missing: a usage error.
TEST(ModelCheck, NamesAllThatIsUnknownAtOnce) {
  CompileSpec spec = specWith({"N=1", "Hight=2", "W=1:2:4", "image[0]=3"});
  spec.pins["imagee"] = {1};
  spec.pins["box"] = {1, 2};
  spec.sequences["mask"];
  const auto given = checkModel(asBytes(detector()), "m.onnx", spec);
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().code, Code::kInvalidArgument);
  EXPECT_EQ(given.error().details, "") << "nothing is wrong with the model";
  EXPECT_THAT(given.error().message,
              AllOf(HasSubstr("the options do not fit the model: "),
                    HasSubstr("the model has no dimension \"Hight\""),
                    HasSubstr("the model has no dimension \"image[0]\""),
                    HasSubstr("the model has no input \"imagee\" to pin; did you mean \"image\"?"),
                    HasSubstr("the model has no input \"mask\" of sequence or optional type"),
                    HasSubstr("the options leave 2 of the model open: H (dimension 2 of input image)"),
                    Not(HasSubstr("\"N\"")), Not(HasSubstr("\"W\""))));
}

// Rules of placement are held against the model like everything else that the spec name.
TEST(ModelCheck, RulesThatNameNothingOfTheModel) {
  const std::string model =
      varintField(1, 8) +
      field(7, field(1, field(1, "x") + field(2, "y") + field(3, "act") + field(4, "Relu")) +
                   field(11, floatInput("x", {"1"})) + field(12, floatInput("y", {"1"})));
  CompileSpec spec;
  spec.partition.affinities = {{"op:Relu", "cpu:x86-64-v3"}, {"act", "cpu:x86-64-v3"}};
  EXPECT_TRUE(checkModel(asBytes(model), "m.onnx", spec));
  spec.partition.affinities.push_back({"op:Rellu", "cpu:x86-64-v3"});
  spec.partition.fallbackOperators = {"Gemm"};
  const auto given = checkModel(asBytes(model), "m.onnx", spec);
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().code, Code::kInvalidArgument);
  EXPECT_THAT(given.error().message,
              AllOf(HasSubstr("no operator \"Rellu\"; did you mean \"Relu\"?"),
                    HasSubstr("--fallback-allow: the model has no operator \"Gemm\"")));
}

TEST(ModelCheck, SizesOverAllProfilesAndValuesOfPins) {
  const std::string model =
      varintField(1, 8) +
      field(7, field(11, floatInput("x", {"N"})) +
                   field(11, field(1, "k") + field(2, field(1, varintField(1, 7) +
                                                                   field(2, field(1, varintField(1, 2)))))) +
                   field(12, floatInput("x", {"N"})));
  const auto refusal = [&](CompileSpec spec) {
    const auto given = checkModel(asBytes(model), "m.onnx", spec);
    return given ? std::string("taken") : given.error().message;
  };
  EXPECT_EQ(refusal(specWith({"a:N=0", "b:N=0"})), "taken");
  EXPECT_THAT(refusal(specWith({"a:N=0", "b:N=4"})), HasSubstr("dimension \"N\" is 0:0:4"));
  EXPECT_EQ(refusal(specWith({"N=1,k[0]=0:1:4,k[1]=2"})), "taken");
  CompileSpec spec = specWith({"N=1"});
  spec.pins["k"] = {1, 2};
  EXPECT_EQ(refusal(spec), "taken");
  spec.pins["k"] = {1, 2, 3};
  EXPECT_THAT(refusal(spec), HasSubstr("--pin k: 3 values, the input has 2 elements"));
  spec.pins["k"] = {1, 0.5};
  EXPECT_THAT(refusal(spec), HasSubstr("--pin k: value 1 (0.5) is no i64"));
}

TEST(ModelCheck, ExternalDataThatIsNotAsTheModelSays) {
  const auto refusal = [](const std::string& offset, const std::string& length) {
    const auto entry = [](const std::string& key, const std::string& value) {
      return field(13, field(1, key) + field(2, value));
    };
    const std::string tensor = varintField(1, 2) + varintField(2, 1) + field(8, "w") +
                               entry("location", "./w.bin") + entry("offset", offset) +
                               entry("length", length) + varintField(14, 1);
    const auto checked = checkModel(
        asBytes(varintField(1, 8) + field(7, field(5, tensor) + field(12, floatInput("w", {"2"})))), "m.onnx",
        {}, {{"w.bin", 12}});
    EXPECT_TRUE(checked || checked.error().details.find("\"exitCode\":3") != std::string::npos);
    return checked ? std::string("taken") : checked.error().message;
  };
  EXPECT_EQ(refusal("4", "8"), "taken");
  EXPECT_THAT(refusal("8", "8"),
              HasSubstr("m.onnx: tensor \"w\": external data file \"w.bin\" has 12 bytes"));
  EXPECT_THAT(refusal("0", "12"), HasSubstr("length is 12 bytes, the shape needs 8"));
  EXPECT_THAT(refusal("-4", "8"), HasSubstr("offset \"-4\" is no number"));
}

TEST(ModelCheck, WhatASequenceHoldsIsAskedFor) {
  const std::string tensor = field(1, varintField(1, 1)), sequence = field(4, field(1, tensor));
  const std::string model = varintField(1, 8) + field(7, field(11, field(1, "parts") + field(2, sequence)) +
                                                             field(12, floatInput("parts", {"1"})));
  CompileSpec spec;
  const auto open = checkModel(asBytes(model), "m.onnx", spec);
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, Code::kUnimplemented);
  EXPECT_THAT(open.error().message, AllOf(HasSubstr("what input parts of sequence or optional type holds"),
                                          HasSubstr("give --sequence parts=, ")));
  spec.sequences["parts"];
  EXPECT_TRUE(checkModel(asBytes(model), "m.onnx", spec));
}

// The farm reads other formats.
TEST(ModelCheck, OnlyOnnxIsLookedInto) {
  const TempDirectory directory;
  constexpr std::string_view kProgram =
      "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  %0 = stablehlo.add %x, %x : tensor<f32>\n  "
      "return %0 : "
      "tensor<f32>\n}\n";
  EXPECT_TRUE(checkModel(asBytes(kProgram), "net.mlir", {}));
  EXPECT_TRUE(checkModel(asBytes(kProgram), "net.onnx", {}));  // whatever it is called
  EXPECT_TRUE(checkModel(asBytes(testing_support::TorchArchive().build()), "net.onnx", {}));
  EXPECT_FALSE(checkModel(asBytes("no model"), "net.mlir", {}));
  EXPECT_FALSE(checkModel(asBytes("no model"), "net.onnx", {}));
  EXPECT_FALSE(checkModelFile(directory / "missing.mlir", {}));
}

TEST(ModelCheck, WhatIsNoModelIsNamedByTheUsersPath) {
  const TempDirectory directory;
  const auto refusal = [&](const std::string& name, const std::string& bytes) {
    const std::string path = directory / name;
    std::ofstream(path, std::ios::binary) << bytes;
    const auto checked = checkModelFile(path, {});
    EXPECT_FALSE(checked) << name;
    return checked ? Error{} : checked.error();
  };
  const Error pointer =
      refusal("net.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
  EXPECT_EQ(pointer.code, Code::kInvalidArgument);
  EXPECT_THAT(pointer.details, HasSubstr("\"exitCode\":3"));
  EXPECT_THAT(pointer.message, AllOf(HasSubstr(directory / "net.onnx"), HasSubstr("git lfs pull")));
  EXPECT_THAT(refusal("page.onnx", "<!doctype html><p>404</p>").message, HasSubstr("an HTML page"));
  EXPECT_THAT(refusal("empty.onnx", "").message, HasSubstr("empty"));
  EXPECT_THAT(refusal("loose.onnx", varintField(1, 8) + field(7, field(12, floatInput("y", {"1"})))).message,
              AllOf(HasSubstr(directory / "loose.onnx"), HasSubstr("'y' is defined by nothing")));
  EXPECT_THAT(refusal("cut.onnx", detector().substr(0, 60)).message, HasSubstr("truncated"));
  const Error name = refusal("long.onnx", varintField(1, 8) + field(7, field(2, std::string(5000, 'g'))));
  EXPECT_EQ(name.code, Code::kUnimplemented);
  EXPECT_EQ(name.details, "");
}

TEST(ModelReport, ReadsFilesOfThisMachine) {
  const auto report =
      inspectModel("git+https://h/r@" + std::string(40, 'a') + "#m.onnx", {}, {"cpu:x86-64-v3"});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::kInvalidArgument);
  EXPECT_THAT(report.error().message,
              AllOf(HasSubstr("inspect reads files of this machine"), HasSubstr("git show")));
}

// Whatever decides an If may be what keeps a branch from running; a line without its pin would not build.
TEST(ModelReport, PinsWhatDecidesAnIf) {
  const auto scalar = [](const std::string& name, int type) {
    return field(1, name) + field(2, field(1, varintField(1, type) + field(2, "")));
  };
  const auto branch = [](const std::string& name, const std::string& op) {
    return field(5, field(1, name) + field(6, field(1, field(1, "x") + field(2, name) + field(4, op)) +
                                                  field(12, field(1, name))));
  };
  const std::string rate = field(5, varintField(2, 7) + varintField(7, 16000) + field(8, "rate"));
  const std::string model =
      varintField(1, 8) +
      field(7, field(1, field(1, "sr") + field(1, "rate") + field(2, "c") + field(4, "Equal")) +
                   field(1, field(1, "c") + field(2, "y") + field(4, "If") + branch("then_branch", "Neg") +
                                branch("else_branch", "Abs")) +
                   rate + field(11, floatInput("x", {"4"})) + field(11, scalar("sr", 7)) +
                   field(12, floatInput("y", {"4"}))) +
      field(8, varintField(2, 17));
  const TempDirectory directory;
  const std::string path = directory / "vad.onnx";
  std::ofstream(path, std::ios::binary) << model;
  const auto report = inspectModel(path, {}, {"cpu:x86-64-v3"});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->requirements.pins.size(), 1u);
  EXPECT_FALSE(report->requirements.pins[0].certain);
  EXPECT_THAT(report->commandLine, testing::EndsWith(" --pin sr=16000"));
}

TEST(ModelReport, SaysWhatABuildNeeds) {
  const TempDirectory directory;
  const std::string path = directory / "my net.onnx";
  std::ofstream(path, std::ios::binary) << detector();
  const auto report = inspectModel(path, {}, {"cpu:x86-64-v3", "cuda:sm_90a"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->inputs, ElementsAre("image float[N,3,H,W]", "mask float[N,H,W]", "box float[4,box.1]"));
  EXPECT_EQ(report->commandLine,
            "kiln build '" + path +
                "' --target cpu:x86-64-v3 --target cuda:sm_90a --profile N=1 --profile H=224 "
                "--profile W=224 --profile box.1=1");
  EXPECT_EQ(report->bytes, detector().size());
  EXPECT_EQ(report->toJson().at("dimensions").size(), 4u);
  // What it prints passes the check that a build makes.
  CompileSpec spec = specWith({"N=1", "H=224", "W=224", "box.1=1"});
  EXPECT_TRUE(checkModelFile(path, spec));
}

// TensorFlow's names of inputs end in ":0", and a ':' ends a profile's name.
TEST(ModelReport, WhatIsAdvisedForNamesWithColonsIsTaken) {
  const TempDirectory directory;
  const std::string path = directory / "m.onnx";
  std::ofstream(path, std::ios::binary)
      << varintField(1, 8) +
             field(7, field(11, floatInput("x:0", {"?", "4"})) + field(12, floatInput("x:0", {"1"})));
  const auto report = inspectModel(path, {}, {"cpu:x86-64-v3"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->commandLine, HasSubstr("--profile default:x:0.0=1"));
  EXPECT_TRUE(checkModelFile(path, specWith({"default:x:0.0=1"})));
  const auto refused = checkModelFile(path, specWith({"x:0.0=1"}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("give --profile default:x:0.0="));
}

}  // namespace
}  // namespace kiln::client

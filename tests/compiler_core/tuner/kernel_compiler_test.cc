#include "compiler_core/tuner/kernel_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/schedule/strategies/winograd/knobs.h"
#include "compiler_core/tuner/bench.h"
#include "compiler_core/tuner/results.h"
#include "manifest/base/digest.h"
#include "tests/compiler_core/tuner/isolated.h"
#include "tests/support/temp_directory.h"

namespace kiln::tuner {
namespace {

using ::testing::HasSubstr;

class KernelCompilerTest : public ::testing::Test {
 protected:
  Result<KernelCompiler> open(const std::string& text) {
    return KernelCompiler::open(text, {KILN_TOOLCHAIN_LIB, directory_.path()});
  }
  testing_support::TempDirectory directory_;
};

TEST_F(KernelCompilerTest, TheIsolatedTextIsWhatTilingItIsolatesAgain) {
  const std::string text = isolatedProduct(24, 32, 64);
  const auto kernel = open(text);
  ASSERT_TRUE(kernel) << kernel.error().message;  // compares the signatures
  EXPECT_EQ(kernel->signature(), digestOf(text).text());
  EXPECT_EQ(kernel->site().shape.kind, schedule::KernelKind::kContraction);
  EXPECT_EQ(kernel->tensors().inputs.size(), 1u);
  EXPECT_EQ(kernel->tensors().weights.size(), 1u);
  EXPECT_EQ(kernel->tensors().outputs.at(0).bytes(), 24u * 64 * 4);
}

class EverySchedule : public KernelCompilerTest, public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Of, EverySchedule, ::testing::Values("contraction", "convolution"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(EverySchedule, GivesTheSameBitsAndTheSameProgramTwice) {
  const auto kernel = open(std::string_view(GetParam()) == "contraction" ? isolatedProduct(26, 70, 90)
                                                                         : isolatedConvolution(20, 12));
  ASSERT_TRUE(kernel) << kernel.error().message;
  const auto bench = Bench::open(*processorsFor(1));
  ASSERT_TRUE(bench) << bench.error().message;
  auto inputs = KernelInputs::make(kernel->tensors(), 1);
  ASSERT_TRUE(inputs);
  const auto run = [&](const Schedule& schedule) {
    const auto program = kernel->compile(schedule);
    EXPECT_TRUE(program) << text(schedule) << ": " << program.error().message;
    auto loaded = KernelRun::load(*program, kernel->tensors().outputs, 1);
    EXPECT_TRUE(loaded) << loaded.error().message;
    EXPECT_TRUE(loaded->run(**bench, *inputs, 0));
    Hasher hasher;
    for (std::size_t i = 0; i < loaded->outputs().size(); ++i)
      hasher.update(
          {static_cast<const std::uint8_t*>(loaded->outputs()[i]), kernel->tensors().outputs.at(i).bytes()});
    return hasher.finish();
  };
  const Digest standard = run(kernel->standard());
  EXPECT_EQ(kernel->compile(kernel->standard())->elf, kernel->compile(kernel->standard())->elf);
  for (const schedule::Knob& knob : schedule::knobsOf(kernel->site()))
    for (const auto& value : knob.values) {
      Schedule other = kernel->standard();
      other[knob.name] = value;
      EXPECT_EQ(run(other), standard) << text(other);
    }
}

// The text says which schedules there are, the caller which one is the default.
TEST_F(KernelCompilerTest, TheDefaultIsThatOfTheOrderThatIsAskedFor) {
  const std::string text = reassociated(isolatedConvolution(64, 28));
  const Tools tools{KILN_TOOLCHAIN_LIB, directory_.path()};
  const auto tuned = KernelCompiler::open(text, tools),
             any = KernelCompiler::open(text, tools, schedule::Reassociation::kDeterministic);
  ASSERT_TRUE(tuned && any);
  EXPECT_EQ(tuned->signature(), any->signature());
  EXPECT_EQ(schedule::numberOf(tuned->standard(), schedule::kWinogradKnob, -1), 0);
  EXPECT_EQ(schedule::numberOf(any->standard(), schedule::kWinogradKnob, -1), 4);
  const auto strict =
      KernelCompiler::open(isolatedConvolution(64, 28), tools, schedule::Reassociation::kDeterministic);
  ASSERT_TRUE(strict);
  EXPECT_FALSE(strict->site().isReassociable());
}

// Weights as the artifact would have them, so that what is measured is what is built.
TEST_F(KernelCompilerTest, WinogradsTilesGiveTheDefaultsResultsNearly) {
  const auto kernel = open(reassociated(isolatedConvolution(32, 14)));
  ASSERT_TRUE(kernel) << kernel.error().message;
  const auto bench = Bench::open(*processorsFor(1));
  auto inputs = KernelInputs::make(kernel->tensors(), 1);
  ASSERT_TRUE(bench && inputs);
  const auto run = [&](std::int64_t winograd) {
    Schedule schedule = kernel->standard();
    schedule::setNumber(schedule, schedule::kWinogradKnob, winograd);
    const auto program = kernel->compile(schedule);
    EXPECT_TRUE(program) << program.error().message;
    auto loaded = KernelRun::load(*program, kernel->tensors().outputs, 1);
    EXPECT_TRUE(loaded && loaded->run(**bench, *inputs, 0));
    return std::move(*loaded);
  };
  const KernelRun standard = run(0);
  const Results results(kernel->tensors().outputs, standard.outputs());
  for (const std::int64_t winograd : {2, 4}) {
    const double distance = results.distanceOf(run(winograd).outputs());
    EXPECT_GT(distance, 0) << winograd;
    EXPECT_LT(distance, 2e-5) << winograd;
  }
}

TEST_F(KernelCompilerTest, WhatIsNoKernelIsRefused) {
  const auto message = [&](std::string text, std::string_view from, std::string_view to) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    const auto kernel = open(text);
    return kernel ? "" : kernel.error().message;
  };
  const std::string text = isolatedProduct(8, 8, 16);
  EXPECT_THAT(message(text, "return", "retrun"), HasSubstr("does not parse"));
  EXPECT_THAT(message(text, "kiln.input = 0", "kiln.input = 1"), HasSubstr("does not number its arguments"));
  EXPECT_THAT(message(text, "kiln.target", "kiln.other"), HasSubstr("does not say what it is for"));
  EXPECT_THAT(message(text, "0.000000e+00", "0.0"), HasSubstr("is not one kernel"));  // another text
  EXPECT_FALSE(open(text)->compile({{"tile", {3, 16}}}));
}

TEST_F(KernelCompilerTest, AProgramThatIsCutOffIsNotLoaded) {
  const auto kernel = open(isolatedProduct(8, 8, 16));
  ASSERT_TRUE(kernel);
  KernelProgram program = *kernel->compile(kernel->standard());
  ASSERT_TRUE(KernelRun::load(program, kernel->tensors().outputs, 1));
  program.elf.resize(program.elf.size() / 2);
  EXPECT_EQ(KernelRun::load(program, kernel->tensors().outputs, 1).error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace kiln::tuner

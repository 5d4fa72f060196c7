// Kernels of a device, compiled by KernelCompiler and measured by kiln-measure on the emulated device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "compiler_core/codegen/cuda/codegen.h"
#include "compiler_core/tuner/measurer.h"
#include "compiler_core/tuner/tuner.h"
#include "manifest/base/digest.h"
#include "tests/compiler_core/tuner/isolated.h"
#include "tests/support/temp_directory.h"

namespace kiln::tuner {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTarget[] = "cuda:sm_90a";

// Of this process and those that it starts, for a scope.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

// One of tests/compiler_core/runtime/programs.
std::string programOf(const std::string& name) {
  std::ifstream file(std::string(KILN_TEST_PROGRAMS) + "/" + name + ".so", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class DeviceTunerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);
    if (!std::filesystem::exists(codegen::ptxasOf(KILN_TOOLCHAIN_LIB)))
      GTEST_SKIP() << "this toolchain has no ptxas";
  }

  Tools tools() { return {KILN_TOOLCHAIN_LIB, directory_.path(), emulation_.path()}; }
  Result<KernelCompiler> open(int rows, int steps, int columns) {
    return KernelCompiler::open(isolatedProduct(rows, steps, columns, kTarget), tools());
  }
  // A plan of these kernels, as kiln-cc plan would write it.
  void add(const std::string& text) {
    const auto kernel = KernelCompiler::open(text, tools());
    ASSERT_TRUE(kernel) << kernel.error().message;
    texts_[kernel->signature()] = text;
    plan_.target = kTarget;
    PlannedKernel& planned = plan_.kernels.emplace_back();
    planned = {kernel->signature(), "contraction", {"fc"}, 1, 1000, kernel->standard(), {}};
    for (schedule::Knob& knob : schedule::knobsOf(kernel->site()))
      planned.knobs.emplace(std::move(knob.name), std::move(knob.values));
    std::ranges::sort(plan_.kernels, {}, &PlannedKernel::signature);
  }
  TuneRequest request() {
    return {
        .plan = plan_,
        .isolated = [&](const std::string& signature) -> Result<std::string> { return texts_.at(signature); },
        .tools = tools(),
        .budget = std::chrono::seconds(10),
        .device = TuneDevice{KILN_MEASURE, KILN_EMULATED_CUDA, 0}};
  }
  static std::vector<std::string> command() { return {KILN_MEASURE, "--device-driver", KILN_EMULATED_CUDA}; }

  testing_support::TempDirectory directory_, emulation_;
  const Variable kernels_{"KILN_EMULATED_KERNELS", emulation_.path()};
  std::map<std::string, std::string> texts_;
  KernelPlan plan_;
};

TEST_F(DeviceTunerTest, EveryScheduleHasTheDefaultsBitsAndTheSameImageTwice) {
  const auto kernel = open(40, 70, 96);
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_TRUE(kernel->site().onDevice);
  Measurer measurer({kernel->tensors(), 1, {}}, {}, command());
  measurer.setLimit(std::chrono::seconds(60));
  const auto run = [&](const Schedule& schedule) {
    const auto program = kernel->compile(schedule);
    EXPECT_TRUE(program) << text(schedule) << ": " << program.error().message;
    EXPECT_FALSE(program->image.empty() || program->imageKernels.empty());
    const auto answer = measurer.tryOut(0, *program, 1);
    EXPECT_TRUE(answer) << text(schedule) << ": " << answer.error().message;
    return answer ? answer->results : Digest();
  };
  const Digest standard = run(kernel->standard());
  const auto first = kernel->compile(kernel->standard()), second = kernel->compile(kernel->standard());
  EXPECT_EQ(first->image, second->image);
  EXPECT_EQ(first->elf, second->elf);
  unsigned others = 0;
  for (const schedule::Knob& knob : schedule::knobsOf(kernel->site()))
    for (const auto& value : knob.values) {
      Schedule other = kernel->standard();
      other[knob.name] = value;
      if (!schedule::check(other, kernel->site())) continue;
      EXPECT_EQ(run(other), standard) << text(other);
      ++others;
    }
  EXPECT_GT(others, 2u);
}

TEST_F(DeviceTunerTest, ARecordSaysWhatItWasMeasuredOnAndHow) {
  add(isolatedProduct(40, 70, 96, kTarget));
  add(isolatedProduct(7, 33, 40, kTarget));
  TuneRequest wanted = request();
  unsigned records = 0;
  wanted.onRecord = [&](const TuningRecord& record) {
    ++records;
    return checkRecord(record, plan_);
  };
  const auto record = tune(wanted);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(records, 3u);
  EXPECT_EQ(record->device.kind, "emulated");
  EXPECT_THAT(record->device.name, HasSubstr("Kiln emulated device"));
  EXPECT_EQ(record->device.features,
            (std::vector<std::string>{"compute capability 9.0", "driver for CUDA 13.0"}));
  EXPECT_TRUE(record->method.byEvents);
  for (const TunedKernel& kernel : record->kernels) {
    ASSERT_GT(kernel.candidates.size(), 1u);
    EXPECT_EQ(kernel.candidates[0].state, TuningCandidate::State::kFinalist);
    for (const TuningCandidate& candidate : kernel.candidates)
      EXPECT_NE(candidate.state, TuningCandidate::State::kWrong) << text(candidate.schedule);
  }
  const auto read = TuningRecord::fromJson(record->toJson());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, *record);
  // Its times say nothing.
  EXPECT_THAT(entriesOf(*record).entries, IsEmpty());
}

// What runs on the processor, what the driver refuses, and what does another thing than its kernel.
TEST_F(DeviceTunerTest, CandidatesThatMisbehaveFailAndTheOthersAreMeasured) {
  add(isolatedProduct(70, 66, 130, kTarget));
  std::map<Schedule, std::string> bad;
  std::size_t made = 0;
  TuneRequest wanted = request();
  wanted.budget = std::chrono::seconds(60);
  wanted.compile = [&](const KernelCompiler& kernel, const Schedule& schedule) -> Result<KernelProgram> {
    KILN_ASSIGN(KernelProgram program, kernel.compile(schedule));
    const char* const kinds[] = {"traps", "hangs", "memory", "no image", "no kernel", "does_nothing"};
    const std::size_t at = made++;
    if (at == 0 || at > std::size(kinds)) return program;
    const std::string kind = bad[schedule] = kinds[at - 1];
    if (kind == "memory")
      program.arenaBytes = std::uint64_t{1} << 50;
    else if (kind == "no image")
      program.image = "no image at all, but long enough for a driver to look at its first bytes and more";
    else if (kind == "no kernel")
      program.imageKernels[0] += "x";
    else
      program.elf = programOf(kind);
    return program;
  };
  const auto record = tune(wanted);
  ASSERT_TRUE(record) << record.error().message;
  const TunedKernel& kernel = record->kernels.at(0);
  ASSERT_EQ(bad.size(), 6u);
  std::size_t measured = 0;
  for (const TuningCandidate& candidate : kernel.candidates) {
    const auto misbehaves = bad.find(candidate.schedule);
    if (misbehaves == bad.end()) {
      measured += candidate.state == TuningCandidate::State::kFinalist ||
                  candidate.state == TuningCandidate::State::kMeasured;
      continue;
    }
    EXPECT_EQ(candidate.state, misbehaves->second == "does_nothing" ? TuningCandidate::State::kWrong
                                                                    : TuningCandidate::State::kFailed)
        << misbehaves->second;
  }
  EXPECT_GT(measured, 1u);
  EXPECT_EQ(kernel.candidates[0].state, TuningCandidate::State::kFinalist);
  EXPECT_TRUE(checkRecord(*record, plan_));
}

TEST_F(DeviceTunerTest, AKernelThatHangsAndADeviceThatIsLostEndOneProcessAlone) {
  const auto kernel = open(8, 8, 16);
  ASSERT_TRUE(kernel) << kernel.error().message;
  const auto program = kernel->compile(kernel->standard());
  ASSERT_TRUE(program) << program.error().message;
  Measurer measurer({kernel->tensors(), 1, {}}, {}, command());
  {
    const Variable hangs("KILN_EMULATED_HANG", "1");
    measurer.setLimit(std::chrono::milliseconds(500));
    EXPECT_EQ(measurer.tryOut(0, *program, 1).error().code, Code::kDeadlineExceeded);
  }
  measurer.setLimit(std::chrono::seconds(60));
  {
    const Variable lost("KILN_EMULATED_LOST", "1");
    const auto gone = measurer.tryOut(1, *program, 1);
    ASSERT_FALSE(gone);
    EXPECT_NE(gone.error().code, Code::kDataLoss) << gone.error().message;
  }
  const auto good = measurer.tryOut(2, *program, 3);
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->nanoseconds.size(), 3u);
  ASSERT_TRUE(measurer.device());
  EXPECT_TRUE(measurer.device()->isEmulated);
}

TEST_F(DeviceTunerTest, ADeviceThatIsGoneEndsTheSearchAsUnavailable) {
  add(isolatedProduct(8, 8, 16, kTarget));
  TuneRequest wanted = request();
  std::optional<Variable> gone;
  wanted.compile = [&](const KernelCompiler& kernel, const Schedule& schedule) {
    gone.emplace("KILN_EMULATED_DEVICES", "0");
    return kernel.compile(schedule);
  };
  unsigned records = 0;
  wanted.onRecord = [&](const TuningRecord& record) {
    ++records;
    return checkRecord(record, plan_);
  };
  const auto record = tune(wanted);
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().code, Code::kUnavailable);
  EXPECT_THAT(record.error().message, HasSubstr("the device that measures was lost"));
  EXPECT_EQ(records, 2u);
}

TEST_F(DeviceTunerTest, WhatCannotBeMeasuredThereIsSaidFirst) {
  add(isolatedProduct(8, 8, 16, kTarget));
  const auto messageOf = [&](const TuneDevice& device) {
    TuneRequest wanted = request();
    wanted.device = device;
    const auto record = tune(wanted);
    return record ? "" : record.error().message;
  };
  EXPECT_THAT(messageOf({"/none", KILN_EMULATED_CUDA, 0}), HasSubstr("/none"));
  EXPECT_THAT(messageOf({KILN_MEASURE, "/none.so", 0}), HasSubstr("/none.so"));
  EXPECT_THAT(messageOf({KILN_MEASURE, KILN_EMULATED_CUDA, 7}), HasSubstr("there is no device 7"));
  const Variable other("KILN_EMULATED_ARCH", "sm_80");
  EXPECT_THAT(messageOf(*request().device),
              HasSubstr("compute capability 8.0: no kernels for cuda:sm_90a run there"));
}

TEST_F(DeviceTunerTest, KernelsOfTheOtherKindKeepTheirDefault) {
  add(isolatedProduct(8, 8, 16, kTarget));
  TuneRequest wanted = request();
  wanted.device = std::nullopt;
  std::string said;
  wanted.onProgress = [&](const std::string& line) { said += line; };
  const auto record = tune(wanted);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->device.kind, "cpu");
  EXPECT_EQ(choose(record->kernels.at(0)).reason, TuningChoice::Reason::kNotMeasured);
  EXPECT_THAT(said, HasSubstr("kernels of cuda:sm_90a are not measured on processors"));
}

TEST(DeviceTuner, WithoutAnAssemblerKernelsKeepTheirDefault) {
  const testing_support::TempDirectory bare;
  const auto kernel =
      KernelCompiler::open(isolatedProduct(8, 8, 16, kTarget), {bare.path() + "/lib", bare.path()});
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code, Code::kUnimplemented);
  EXPECT_THAT(kernel.error().message, HasSubstr("keep their default, this toolchain has no "));
}

}  // namespace
}  // namespace kiln::tuner

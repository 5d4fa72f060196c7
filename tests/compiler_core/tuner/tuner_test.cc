#include "compiler_core/tuner/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "compiler_core/tuner/bench.h"
#include "manifest/base/digest.h"
#include "tests/compiler_core/tuner/isolated.h"
#include "tests/support/temp_directory.h"

namespace kiln::tuner {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Timing, IsTheMedianAndTheMedianOfTheDistancesFromIt) {
  const Timing timing = timingOf({90, 100, 500, 110, 100});
  EXPECT_EQ(timing.medianNanoseconds, 100u);
  EXPECT_EQ(timing.spreadNanoseconds, 10u);
  EXPECT_EQ(timing.samples, 5u);
}

// One of tests/compiler_core/runtime/programs.
std::string programOf(const std::string& name) {
  std::ifstream file(std::string(KILN_TEST_PROGRAMS) + "/" + name + ".so", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class TunerTest : public ::testing::Test {
 protected:
  // A plan of these kernels, as kiln-cc plan would write it.
  void add(const std::string& text) {
    const auto kernel = KernelCompiler::open(text, tools());
    ASSERT_TRUE(kernel) << kernel.error().message;
    texts_[kernel->signature()] = text;
    plan_.target = "cpu:x86-64-v3";
    PlannedKernel& planned = plan_.kernels.emplace_back();
    planned = {kernel->signature(), "contraction", {"fc"}, 1, 1000, kernel->standard(), {}};
    for (schedule::Knob& knob : schedule::knobsOf(kernel->site()))
      planned.knobs.emplace(std::move(knob.name), std::move(knob.values));
    std::ranges::sort(plan_.kernels, {}, &PlannedKernel::signature);
  }
  Tools tools() { return {KILN_TOOLCHAIN_LIB, directory_.path()}; }
  TuneRequest request() {
    return {
        .plan = plan_,
        .isolated = [&](const std::string& signature) -> Result<std::string> { return texts_.at(signature); },
        .tools = tools(),
        .budget = std::chrono::seconds(5)};
  }

  testing_support::TempDirectory directory_;
  std::map<std::string, std::string> texts_;
  KernelPlan plan_;
};

TEST_F(TunerTest, ARecordChoosesOrKeepsByItsFigures) {
  add(isolatedProduct(48, 64, 64));
  add(isolatedProduct(7, 33, 40));
  TuneRequest wanted = request();
  std::vector<std::string> lines;
  unsigned records = 0;
  wanted.onProgress = [&](const std::string& line) { lines.push_back(line); };
  wanted.onRecord = [&](const TuningRecord& record) {
    ++records;
    return checkRecord(record, plan_);
  };
  const auto record = tune(wanted);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_TRUE(checkRecord(*record, plan_));
  EXPECT_EQ(record->device.kind, "cpu");
  EXPECT_FALSE(record->device.features.empty());
  EXPECT_EQ(records, 3u);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("kernel 1/2 contraction fc best "));
  for (const TunedKernel& kernel : record->kernels) {
    ASSERT_GT(kernel.candidates.size(), 1u);
    EXPECT_EQ(kernel.candidates[0].schedule, plan_.find(kernel.signature)->schedule);
    for (const TuningCandidate& candidate : kernel.candidates)
      EXPECT_NE(candidate.state, TuningCandidate::State::kWrong) << text(candidate.schedule);
  }
  // What is read back is the same, and the entries follow from it.
  const auto read = TuningRecord::fromJson(record->toJson());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, *record);
  EXPECT_TRUE(checkEntries(entriesOf(*record), plan_));
}

TEST_F(TunerTest, WhatTimeWasTooShortForStaysAtItsDefault) {
  add(isolatedProduct(48, 64, 64));
  TuneRequest wanted = request();
  wanted.shouldStop = [] { return true; };
  const auto record = tune(wanted);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(choose(record->kernels.at(0)).reason, TuningChoice::Reason::kNotMeasured);
  EXPECT_THAT(entriesOf(*record).entries, IsEmpty());
  EXPECT_TRUE(TuningRecord::fromJson(record->toJson()));
}

// Candidates that crash, hang or cannot have their memory take nothing along.
TEST_F(TunerTest, CandidatesThatMisbehaveFailAndTheOthersAreMeasured) {
  add(isolatedProduct(48, 64, 64));
  std::map<Schedule, std::string> bad;
  std::size_t made = 0;
  TuneRequest wanted = request();
  wanted.budget = std::chrono::seconds(20);
  wanted.compile = [&](const KernelCompiler& kernel, const Schedule& schedule) -> Result<KernelProgram> {
    KILN_ASSIGN(KernelProgram program, kernel.compile(schedule));
    const char* const kinds[] = {"traps", "hangs", "writes_wildly", "fails"};
    // Not the default, and each a few candidates after the last.
    if (const std::size_t at = made++; at % 3 == 2 && at / 3 < std::size(kinds)) {
      bad[schedule] = kinds[at / 3];
      program.elf = programOf(kinds[at / 3]);
    } else if (at == 1) {
      bad[schedule] = "memory";
      program.arenaBytes = std::uint64_t{1} << 60;
    } else if (at == 4) {
      bad[schedule] = "no program";
      program.elf.resize(program.elf.size() / 2);
    }
    return program;
  };
  const auto record = tune(wanted);
  ASSERT_TRUE(record) << record.error().message;
  const TunedKernel& kernel = record->kernels.at(0);
  ASSERT_EQ(bad.size(), 6u);
  ASSERT_GT(kernel.candidates.size(), 12u);
  std::size_t measured = 0;
  for (const TuningCandidate& candidate : kernel.candidates) {
    const auto misbehaves = bad.find(candidate.schedule);
    const bool failed = candidate.state == TuningCandidate::State::kFailed;
    if (misbehaves != bad.end()) EXPECT_TRUE(failed) << misbehaves->second;
    measured += !failed;
  }
  EXPECT_GT(measured, 3u);
  EXPECT_EQ(kernel.candidates[0].state, TuningCandidate::State::kFinalist);
  EXPECT_TRUE(checkRecord(*record, plan_));
}

TEST_F(TunerTest, AWrongCandidateIsNeverChosen) {
  add(isolatedProduct(48, 64, 64));
  TuneRequest wanted = request();
  std::set<Schedule> wrong;
  wanted.compile = [&](const KernelCompiler& kernel, const Schedule& schedule) -> Result<KernelProgram> {
    KILN_ASSIGN(KernelProgram program, kernel.compile(schedule));
    if (schedule == kernel.standard()) return program;
    wrong.insert(schedule);
    program.elf = programOf("does_nothing");
    return program;
  };
  const auto record = tune(wanted);
  ASSERT_TRUE(record) << record.error().message;
  const TunedKernel& kernel = record->kernels.at(0);
  ASSERT_GT(kernel.candidates.size(), 1u);
  for (const TuningCandidate& candidate : kernel.candidates)
    if (wrong.contains(candidate.schedule)) EXPECT_EQ(candidate.state, TuningCandidate::State::kWrong);
  EXPECT_EQ(choose(kernel).candidate, 0u);
}

// Sums of 64 products: about 25. What they begin with stands for what another order makes of them.
TEST_F(TunerTest, WhereSumsMayBeReassociatedResultsMustBeNearTheDefaults) {
  const std::string strict = isolatedProduct(48, 64, 64);
  const auto beginningWith = [](std::string text, std::string_view number) {
    const std::string_view zero = "0.000000e+00";
    return text.replace(text.find(zero), zero.size(), number);
  };
  for (const bool isFree : {false, true}) {
    plan_.kernels.clear();
    const std::string text = isFree ? reassociated(strict) : strict;
    add(text);
    const auto near = KernelCompiler::open(beginningWith(text, "1.000000e-03"), tools()),
               far = KernelCompiler::open(beginningWith(text, "6.250000e-02"), tools());
    ASSERT_TRUE(near) << near.error().message;
    ASSERT_TRUE(far) << far.error().message;
    EXPECT_EQ(near->site().isReassociable(), isFree);
    std::map<Schedule, bool> isNear;
    TuneRequest wanted = request();
    wanted.budget = std::chrono::seconds(2);
    wanted.compile = [&](const KernelCompiler& kernel, const Schedule& schedule) -> Result<KernelProgram> {
      if (schedule == kernel.standard()) return kernel.compile(schedule);
      const bool turn = isNear.size() % 2 == 0;
      isNear[schedule] = turn;
      return (turn ? near : far)->compile(schedule);
    };
    const auto record = tune(wanted);
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->method.tolerance, isFree ? "1e-4" : "");
    ASSERT_GT(isNear.size(), 1u);
    for (const TuningCandidate& candidate : record->kernels.at(0).candidates)
      if (const auto made = isNear.find(candidate.schedule); made != isNear.end())
        EXPECT_EQ(candidate.state == TuningCandidate::State::kWrong, !isFree || !made->second)
            << kiln::text(candidate.schedule);
    EXPECT_EQ(*TuningRecord::fromJson(record->toJson()), *record);
  }
}

TEST_F(TunerTest, AKernelWhoseDefaultDoesNotRunIsNotMeasuredAndTheNextOneIs) {
  add(isolatedProduct(48, 64, 64));
  add(isolatedProduct(7, 33, 40));
  TuneRequest wanted = request();
  const std::string broken = plan_.kernels[0].signature;
  wanted.compile = [&](const KernelCompiler& kernel, const Schedule& schedule) -> Result<KernelProgram> {
    KILN_ASSIGN(KernelProgram program, kernel.compile(schedule));
    if (kernel.signature() == broken) program.elf = programOf("traps");
    return program;
  };
  std::string said;
  wanted.onProgress = [&](const std::string& line) { said += line + "\n"; };
  const auto record = tune(wanted);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(choose(record->kernels.at(0)).reason, TuningChoice::Reason::kNotMeasured);
  EXPECT_EQ(record->kernels.at(0).candidates.size(), 1u);
  EXPECT_EQ(record->kernels.at(1).candidates.at(0).state, TuningCandidate::State::kFinalist);
  EXPECT_THAT(said,
              HasSubstr("its default cannot be measured, the process that measures was ended by signal SIG"));
}

// The default of the next kernel is being made when somebody wants an end.
// Known, so that nobody measures it again.
TEST_F(TunerTest, ADefaultThatNothingComesNearIsTheBest) {
  add(isolatedProduct(48, 64, 64));
  TuneRequest wanted = request();
  wanted.compile = [&](const KernelCompiler& kernel, const Schedule& schedule) -> Result<KernelProgram> {
    KernelProgram program;
    program.elf = programOf(schedule == kernel.standard() ? "does_nothing" : "does_nothing_slowly");
    return program;
  };
  const auto record = tune(wanted);
  ASSERT_TRUE(record) << record.error().message;
  const TunedKernel& kernel = record->kernels.at(0);
  EXPECT_EQ(choose(kernel).candidate, 0u);
  EXPECT_EQ(std::ranges::count(kernel.candidates, TuningCandidate::State::kFinalist, &TuningCandidate::state),
            2);
}

TEST_F(TunerTest, AStopBetweenTwoKernelsKeepsTheFirst) {
  add(isolatedProduct(48, 64, 64));
  add(isolatedProduct(7, 33, 40));
  TuneRequest wanted = request();
  std::string first;
  bool stop = false;
  wanted.shouldStop = [&] { return stop; };
  wanted.compile = [&](const KernelCompiler& kernel, const Schedule& schedule) -> Result<KernelProgram> {
    if (first.empty()) first = kernel.signature();
    stop = stop || kernel.signature() != first;
    return kernel.compile(schedule);
  };
  const auto record = tune(wanted);
  ASSERT_TRUE(record) << record.error().message;
  for (const TunedKernel& kernel : record->kernels) {
    EXPECT_EQ(kernel.signature == first, kernel.candidates.size() > 1);
  }
}

TEST_F(TunerTest, KernelsThatAreNotThePlansAreRefused) {
  add(isolatedProduct(8, 8, 16));
  const std::string signature = plan_.kernels[0].signature;
  texts_[signature] += " ";
  EXPECT_THAT(tune(request()).error().message, HasSubstr("has another digest"));
  texts_[signature].pop_back();
  plan_.kernels[0].schedule["tile"] = {4, 16};
  EXPECT_THAT(tune(request()).error().message, HasSubstr("is not this compiler's default"));
}

TEST_F(TunerTest, AKernelThatCannotBeReadKeepsItsDefaultAndTheNextOneIsMeasured) {
  add(isolatedProduct(48, 64, 64));
  const std::string broken =
      R"(module { func.func @main() -> tensor<?xf32> { %0 = tensor.empty() : tensor<?xf32> return %0 : tensor<?xf32> } })";
  PlannedKernel& planned = plan_.kernels.emplace_back(plan_.kernels.front());
  planned.signature = digestOf(broken).text();
  texts_[planned.signature] = broken;
  const std::string signature = planned.signature;
  std::ranges::sort(plan_.kernels, {}, &PlannedKernel::signature);
  TuneRequest wanted = request();
  std::string said;
  wanted.onProgress = [&](const std::string& line) { said += line + "\n"; };
  const auto record = tune(wanted);
  ASSERT_TRUE(record) << record.error().message;
  for (const TunedKernel& kernel : record->kernels)
    EXPECT_EQ(choose(kernel).reason == TuningChoice::Reason::kNotMeasured, kernel.signature == signature);
  EXPECT_THAT(said, HasSubstr("so it keeps its default"));
}

TEST_F(TunerTest, MoreThreadsThanProcessorsAreRefused) {
  TuneRequest wanted = request();
  wanted.threads = 4000;
  EXPECT_EQ(tune(wanted).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace kiln::tuner

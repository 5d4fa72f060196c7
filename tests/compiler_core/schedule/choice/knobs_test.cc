#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "compiler_core/schedule/choice/schedule.h"
#include "compiler_core/schedule/knobs/block_knobs.h"
#include "compiler_core/schedule/strategies/channel_lanes/knobs.h"
#include "compiler_core/schedule/strategies/im2col/knobs.h"
#include "compiler_core/schedule/strategies/winograd/knobs.h"

namespace kiln::schedule {
namespace {

Site matmul(std::int64_t rows, std::int64_t columns) {
  return {{KernelKind::kContraction, {{rows, true}, {columns, true}}, 3 * 512}, {256, 12}};
}
Site convolution() {
  return {{KernelKind::kConvolution, {{1, true}, {64, true}, {56, true}, {56, true}}, 3 * 576}, {512, 24}};
}
Site softmax() {
  return {{KernelKind::kReduction, {{384, true}, {128, false}}, 40}, {512, 24}};
}

std::string refusal(Schedule schedule, const Site& site) {
  const Status status = check(schedule, site);
  return status ? "" : status.error().message;
}

TEST(Knobs, WhatIsWorthTryingIsLegalAndBeginsWithTheDefault) {
  for (Site site : {matmul(192, 512), matmul(1, 1000), matmul(7, 11), convolution(), softmax()})
    for (const bool onDevice : {false, true}) {
      site.onDevice = onDevice;
      site.shape.hasWeight = !onDevice && site.shape.kind == KernelKind::kContraction;
      site.shape.channelLanes = !onDevice && site.shape.kind == KernelKind::kConvolution ? 32 : 0;
      const Schedule standard = defaultSchedule(site).schedule;
      EXPECT_TRUE(check(standard, site)) << check(standard, site).error().message;
      for (const Knob& knob : knobsOf(site)) {
        ASSERT_FALSE(knob.values.empty());
        EXPECT_EQ(knob.values.front(), standard.at(knob.name));
        for (const auto& value : knob.values) {
          Schedule other = standard;
          other[knob.name] = value;
          EXPECT_TRUE(check(other, site)) << text(other) << ": " << check(other, site).error().message;
          EXPECT_EQ(std::ranges::count(knob.values, value), 1) << text(other);
        }
      }
    }
}

TEST(Knobs, AWeightLiesInPanelsWhereTilesAreWholeRegisters) {
  Site site = matmul(192, 512);
  EXPECT_EQ(numberOf(defaultSchedule(site).schedule, kPackKnob, 0), 1);
  Schedule packed = defaultSchedule(site).schedule;
  setNumber(packed, kPackKnob, kPackedWeight);
  EXPECT_NE(refusal(packed, site).find("'pack' is 3, from 0 to 2 is allowed"), std::string::npos);
  site.shape.hasWeight = true;
  EXPECT_EQ(numberOf(defaultSchedule(site).schedule, kPackKnob, 0), kPackedWeight);
  EXPECT_EQ(refusal(packed, site), "");
  setList(packed, kTileKnob, {96, 4});
  EXPECT_NE(refusal(packed, site).find("'pack' is 3, which needs tiles of whole registers"),
            std::string::npos);
  setNumber(packed, kPackKnob, 2);
  EXPECT_EQ(refusal(packed, site), "");
  // Its divisors are no multiples of a register.
  site = matmul(1, 1000);
  site.shape.hasWeight = true;
  const Schedule odd = defaultSchedule(site).schedule;
  EXPECT_EQ(numberOf(odd, kPackKnob, 0), listOf(odd, kTileKnob).back() == 1000 ? kPackedWeight : 1);
}

TEST(Knobs, AllThreadsOfABlockHaveAsManyResultsWhereTheyShareNothing) {
  Site site{{KernelKind::kElementwise, {{40, true}, {600, true}}, 4}};
  site.onDevice = site.isSingle = true;
  Schedule schedule = defaultSchedule(site).schedule;
  EXPECT_EQ(refusal(schedule, site), "");
  setNumber(schedule, kTileKnob, 192);
  setNumber(schedule, kThreadsKnob, 128);
  EXPECT_NE(refusal(schedule, site).find("'tile' is 192, no multiple of the 128 threads"), std::string::npos);
  setNumber(schedule, kThreadsKnob, 96);
  EXPECT_EQ(refusal(schedule, site), "");
  for (const Knob& knob : knobsOf(site))
    for (const auto& value : knob.values) {
      Schedule other{{knob.name, value}};
      setNumber(other, knob.name == kTileKnob ? kThreadsKnob : kTileKnob, knob.name == kTileKnob ? 32 : 1024);
      EXPECT_EQ(refusal(other, site), "") << text(other);
    }
}

TEST(Knobs, ABlockSharesPanelsOfAProductWhereTheDefaultDoes) {
  const auto with = [](Site site, std::vector<std::int64_t> tile) {
    site.onDevice = true;
    Schedule schedule = defaultSchedule(site).schedule;
    setList(schedule, kTileKnob, std::move(tile));
    return refusal(schedule, site);
  };
  EXPECT_EQ(with(matmul(192, 512), {7, 33}), "");
  EXPECT_NE(with(matmul(192, 512), {3, 32}).find("'tile' needs at least 4 rows"), std::string::npos);
  EXPECT_NE(with(matmul(192, 512), {32, 3}).find("'tile' needs at least 4 columns"), std::string::npos);
  EXPECT_EQ(with(matmul(3, 512), {3, 128}), "");
  EXPECT_EQ(with(matmul(3, 512), {1, 100}), "");
  // Of the last tile it would be known to the run alone how many rows it has.
  EXPECT_NE(with(matmul(3, 512), {2, 128}).find("'tile' does not divide the 3 at loop 0"), std::string::npos);
  EXPECT_EQ(with(convolution(), {1, 32, 2, 2}), "");
  EXPECT_NE(with(convolution(), {1, 32, 1, 3}).find("'tile' needs at least 4 columns"), std::string::npos);
  Site batched = matmul(2, 512);
  batched.shape.loops.insert(batched.shape.loops.begin(), {8, true});
  EXPECT_NE(with(batched, {2, 2, 128}).find("'tile' has to be 1 at loop 0"), std::string::npos);
}

TEST(Knobs, ChannelsLieAlongLanesWhereImagesAreSmallAndTilesAreWholePanels) {
  Site site = convolution();
  Schedule alongChannels = defaultSchedule(site).schedule;
  setNumber(alongChannels, kLanesKnob, 1);
  EXPECT_NE(refusal(alongChannels, site).find("'lanes' is 1, from 0 to 0 is allowed"), std::string::npos);
  site.shape.channelLanes = 64;
  EXPECT_EQ(numberOf(defaultSchedule(site).schedule, kLanesKnob, -1), 0);
  EXPECT_EQ(refusal(alongChannels, site), "");
  setList(alongChannels, kTileKnob, {1, 32, 7, 56});
  EXPECT_NE(refusal(alongChannels, site).find("'lanes' is 1, which needs tiles of a multiple of 64 channels"),
            std::string::npos);
  site.shape.loops[2].extent = site.shape.loops[3].extent = 7;
  EXPECT_EQ(numberOf(defaultSchedule(site).schedule, kLanesKnob, -1), 1);
  for (const Knob& knob : knobsOf(site))
    if (knob.name == kTileKnob)
      for (const auto& tile : knob.values) EXPECT_EQ(tile[1] % 64, 0);
  site.shape.channelLanes = 0;
  EXPECT_EQ(numberOf(defaultSchedule(site).schedule, kLanesKnob, -1), 0);
}

TEST(Knobs, ChannelsOfLargerImagesLieAlongLanesWhereACopyOfTheWindowIsSharedByFew) {
  Site site = convolution();
  site.shape.channelLanes = 32;
  site.shape.loops[2].extent = site.shape.loops[3].extent = 28;
  const auto lanes = [&](std::int64_t kernel, std::int64_t channels) {
    site.shape.kernel = kernel;
    site.shape.loops[1].extent = channels;
    return numberOf(defaultSchedule(site).schedule, kLanesKnob, -1);
  };
  EXPECT_EQ(lanes(1, 256), 1);
  EXPECT_EQ(lanes(1, 512), 0);
  EXPECT_EQ(lanes(9, 128), 0);
  EXPECT_EQ(lanes(9, 32), 1);
  site.shape.loops[2].extent = site.shape.loops[3].extent = 56;
  EXPECT_EQ(lanes(1, 256), 0);
}

TEST(Knobs, AWindowIsReadWhereItIsIfRowsOfTheImageAreWholeRegisters) {
  Site site = convolution();
  site.registers = {512, 24, 4, true};
  const auto im2col = [&](std::int64_t row) {
    site.shape.loops[3].extent = row;
    return numberOf(defaultSchedule(site).schedule, kIm2colKnob, -1);
  };
  EXPECT_EQ(im2col(112), 0);
  EXPECT_EQ(im2col(56), 1);
  EXPECT_EQ(im2col(16), 1);
}

TEST(Knobs, WinogradsTilesAreThereWhereSumsMayBeReassociated) {
  Site site = convolution();
  site.shape.channelLanes = 64;
  site.shape.notes[kWinogradKnob] = 64;
  const Schedule off = defaultSchedule(site).schedule;
  EXPECT_FALSE(off.contains(kWinogradKnob));
  const auto with = [&](std::int64_t results, std::vector<std::int64_t> tile) {
    Schedule other = off;
    setNumber(other, kWinogradKnob, results);
    setList(other, kTileKnob, std::move(tile));
    return refusal(other, site);
  };
  EXPECT_NE(with(2, {1, 64, 8, 56}).find("numerics.reassociation \"off\" does not allow"), std::string::npos);
  site.reassociation = Reassociation::kOn;
  EXPECT_EQ(numberOf(defaultSchedule(site).schedule, kWinogradKnob, -1), 0);
  for (const std::int64_t results : {0, 2, 4}) EXPECT_EQ(with(results, {1, 64, 8, 56}), "");
  EXPECT_NE(with(3, {1, 64, 8, 56}).find("'winograd' is 3, from 0 to 4 in steps of 2"), std::string::npos);
  EXPECT_NE(with(6, {1, 64, 8, 56}).find("'winograd' is 6"), std::string::npos);
  EXPECT_NE(with(2, {1, 32, 8, 56}).find("'winograd' is 2, which needs tiles of a multiple of 64 channels"),
            std::string::npos);
  EXPECT_NE(with(4, {1, 64, 2, 56}).find("'winograd' is 4, which needs tiles of at least 4 rows"),
            std::string::npos);
  EXPECT_EQ(with(2, {1, 64, 2, 56}), "");
  site.shape.notes[kWinogradKnob] = 1024;
  EXPECT_NE(with(2, {1, 64, 56, 56}).find("'winograd' is 2, which needs smaller tiles"), std::string::npos);
  site.shape.notes[kWinogradKnob] = 0;
  EXPECT_FALSE(defaultSchedule(site).schedule.contains(kWinogradKnob));
}

// A convolution of 3x3 over one image of `size` x `size`.
Site threeByThree(std::int64_t inputs, std::int64_t channels, std::int64_t size, VectorShape registers) {
  Site site{{KernelKind::kConvolution,
             {{1, true}, {channels, true}, {size, true}, {size, true}},
             3 * 9 * inputs,
             2,
             9},
            registers};
  site.shape.channelLanes =
      registers.bits / 32 * (channels % (registers.bits / 8) == 0 ? 4 : 2);  // a panel's
  site.shape.notes[kWinogradKnob] = inputs;
  site.reassociation = Reassociation::kDeterministic;
  return site;
}

std::int64_t defaultTiles(const Site& site) {
  return numberOf(defaultSchedule(site).schedule, kWinogradKnob, -1);
}

constexpr VectorShape kAvx2{256, 12, 2, false}, kAvx512{512, 24, 4, true};

TEST(Knobs, TheDefaultTakesWinogradsTilesWhereTheyCostLessAndAnyOrderWillDo) {
  for (const VectorShape& registers : {kAvx2, kAvx512}) {
    for (const auto& [inputs, channels, size] :
         {std::array<std::int64_t, 3>{64, 64, 56}, {128, 128, 28}, {64, 64, 112}, {32, 32, 56}}) {
      Site site = threeByThree(inputs, channels, size, registers);
      const Chosen chosen = defaultSchedule(site);
      EXPECT_EQ(numberOf(chosen.schedule, kWinogradKnob, -1), 4) << inputs << " " << size;
      EXPECT_EQ(chosen.rule, "winograd");
      EXPECT_EQ(refusal(chosen.schedule, site), "");
      // Tasks for any number of threads.
      const auto tile = listOf(chosen.schedule, kTileKnob);
      EXPECT_GE(channels / tile[1] * (size / tile[2]), 4) << text(chosen.schedule);
      site.reassociation = Reassociation::kOn;
      EXPECT_EQ(defaultTiles(site), 0);
      site.reassociation = Reassociation::kOff;
      EXPECT_EQ(defaultTiles(site), -1) << "there is no such knob";
      site.reassociation = Reassociation::kDeterministic;
      site.shape.loops[0].divisible = false;
      EXPECT_EQ(defaultTiles(site), 0);
    }
    // Each weight is used by few tiles: what is read counts more than what is computed.
    EXPECT_EQ(defaultTiles(threeByThree(1024, 1024, 4, registers)), 0);
  }
  // The wider the registers, the more.
  EXPECT_EQ(defaultTiles(threeByThree(512, 512, 14, kAvx2)), 4);
  EXPECT_EQ(defaultTiles(threeByThree(512, 512, 14, kAvx512)), 2);
}

// CONVOLUTIONS.md: of fewer channels they are less exact than the bound.
TEST(Knobs, TheDefaultTakesLargeTilesOfManyInputChannelsAlone) {
  for (const VectorShape& registers : {kAvx2, kAvx512}) {
    EXPECT_EQ(defaultTiles(threeByThree(32, 64, 56, registers)), 4);
    EXPECT_NE(defaultTiles(threeByThree(16, 64, 56, registers)), 4);
  }
}

TEST(Knobs, WhatATemplateDoesNotAllowIsRefusedByName) {
  const Site site = matmul(192, 512);
  Schedule schedule = defaultSchedule(site).schedule;
  const auto with = [&](std::string_view knob, std::vector<std::int64_t> values) {
    Schedule other = schedule;
    setList(other, knob, std::move(values));
    return refusal(other, site);
  };
  EXPECT_EQ(with(kTileKnob, {96, 256}), "");
  EXPECT_NE(with(kTileKnob, {96, 100}).find("'tile' is 100 at loop 1, which does not divide 512"),
            std::string::npos);
  EXPECT_NE(with(kTileKnob, {96}).find("has 1 sizes, the kernel has 2 loops"), std::string::npos);
  EXPECT_NE(with(kTileKnob, {96, 1024}).find("from 1 to 512"), std::string::npos);
  EXPECT_NE(with(kRowsKnob, {49}).find("'rows' is 49, from 0 to 48 is allowed"), std::string::npos);
  EXPECT_NE(with(kPackKnob, {1, 1}).find("'pack' is no number"), std::string::npos);
  EXPECT_NE(with("colour", {1}).find("'colour' is none of a kernel of the template contraction"),
            std::string::npos);
  EXPECT_NE(with("split", {2}).find("numerics.reassociation"), std::string::npos);
  Site free = site;
  free.reassociation = Reassociation::kOn;
  Schedule split = schedule;
  setNumber(split, "split", 2);
  EXPECT_NE(refusal(split, free).find("'split' is none of a kernel of the template contraction"),
            std::string::npos);
  schedule.erase(schedule.find(kStepsKnob));
  EXPECT_NE(refusal(schedule, site).find("'steps' is missing"), std::string::npos);
  // A loop that others do not follow stays whole.
  Schedule rows = defaultSchedule(softmax()).schedule;
  setList(rows, kTileKnob, {1, 64});
  EXPECT_NE(refusal(rows, softmax()).find("has to stay whole"), std::string::npos);
}

}  // namespace
}  // namespace kiln::schedule

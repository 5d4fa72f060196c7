// The tuner's search over schedules of a device's kernels, on the emulated device: every candidate compiles,
// is right by the reference evaluator in three orders of threads, and has the bits of the default schedule.
// So does what is legal but not worth trying. Some candidates of each kernel, all of them with
// KILN_EVERY_CANDIDATE set.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "compiler_core/tuner/search.h"
#include "tests/compiler_core/schedule/compiled.h"

namespace kiln::tuner {
namespace {

using reference::HostTensor;
using testing::CheckOptions;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kSampled = 8;  // candidates of a kernel

// `templateName`: of its kernel that counts; others may stand beside it.
struct Network {
  const char* name;
  const char* templateName;
  std::string text;
  double relative = 1e-4, absolute = 1e-5;
  bool tf32 = false;
};

std::string product(int m, int n, int k, const char* type) {
  return fmt::format(R"(
func.func @main(%a: tensor<{0}x{2}x{3}>, %b: tensor<{2}x{1}x{3}>, %c: tensor<{1}x{3}>) -> tensor<{0}x{1}x{3}> {{
  %0 = kiln.matmul %a, %b : (tensor<{0}x{2}x{3}>, tensor<{2}x{1}x{3}>) -> tensor<{0}x{1}x{3}>
  %1 = kiln.broadcast %c : tensor<{1}x{3}> to tensor<{0}x{1}x{3}>
  %2 = kiln.binary <add> %0, %1 : tensor<{0}x{1}x{3}>
  %3 = kiln.unary <relu> %2 : tensor<{0}x{1}x{3}>
  return %3 : tensor<{0}x{1}x{3}>
}})",
                     m, n, k, type);
}

std::string convolution(const char* type) {
  return fmt::format(R"(
func.func @main(%x: tensor<1x6x20x20x{0}>, %w: tensor<32x6x3x3x{0}>, %b: tensor<32x{0}>) -> tensor<1x32x20x20x{0}> {{
  %0 = kiln.conv %x, %w bias %b strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1
    : (tensor<1x6x20x20x{0}>, tensor<32x6x3x3x{0}>, tensor<32x{0}>) -> tensor<1x32x20x20x{0}>
  %1 = kiln.unary <relu> %0 : tensor<1x32x20x20x{0}>
  return %1 : tensor<1x32x20x20x{0}>
}})",
                     type);
}

constexpr char kDepthwise[] = R"(
func.func @main(%x: tensor<1x32x18x18xf32>, %w: tensor<32x1x3x3xf32>) -> tensor<1x32x16x16xf32> {
  %0 = kiln.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 32
    : (tensor<1x32x18x18xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x16x16xf32>
  return %0 : tensor<1x32x16x16xf32>
})";

constexpr char kSoftmax[] = R"(
func.func @main(%x: tensor<6x96x80xf32>) -> tensor<6x96x80xf32> {
  %0 = kiln.softmax %x axis 2 : tensor<6x96x80xf32>
  return %0 : tensor<6x96x80xf32>
})";

// With what scales a centred row, so that two of them differ in one constant alone.
std::string centred(const char* scale) {
  return fmt::format(R"(
func.func @main(%x: tensor<4x128x72xf32>) -> tensor<4x128x72xf32> {{
  %s = kiln.reduce <sum> %x axes [2] : tensor<4x128x72xf32> to tensor<4x128xf32>
  %r = kiln.reshape %s : tensor<4x128xf32> to tensor<4x128x1xf32>
  %n = kiln.constant dense<{}> : tensor<4x128x1xf32>
  %m = kiln.binary <mul> %r, %n : tensor<4x128x1xf32>
  %b = kiln.broadcast %m : tensor<4x128x1xf32> to tensor<4x128x72xf32>
  %c = kiln.binary <sub> %x, %b : tensor<4x128x72xf32>
  return %c : tensor<4x128x72xf32>
}})",
                     scale);
}

constexpr char kSums[] = R"(
func.func @main(%x: tensor<96x20x18xf32>) -> tensor<96x18xf32> {
  %0 = kiln.reduce <sum> %x axes [1] : tensor<96x20x18xf32> to tensor<96x18xf32>
  return %0 : tensor<96x18xf32>
})";

constexpr char kElementwise[] = R"(
func.func @main(%x: tensor<40x30x20xf32>, %y: tensor<20xf32>) -> tensor<40x30x20xf32> {
  %0 = kiln.broadcast %y : tensor<20xf32> to tensor<40x30x20xf32>
  %1 = kiln.binary <mul> %x, %0 : tensor<40x30x20xf32>
  %2 = kiln.unary <tanh> %1 : tensor<40x30x20xf32>
  %3 = kiln.binary <add> %2, %x : tensor<40x30x20xf32>
  return %3 : tensor<40x30x20xf32>
})";

void PrintTo(const Network& network, std::ostream* out) {
  *out << network.name;
}

// One kernel of a network.
struct Kernel {
  std::string signature;
  schedule::Site site;
  Schedule standard;
};

// With what the default schedules give.
struct Compiled {
  std::vector<Kernel> kernels;
  std::vector<HostTensor> outputs;
};

CheckOptions optionsFor(const Network& network) {
  CheckOptions options;
  options.rewrite = true;
  options.relative = network.relative;
  options.absolute = network.absolute;
  options.device = true;
  options.tf32 = network.tf32;
  return options;
}

Result<Compiled> compile(const Network& network) {
  Compiled compiled;
  CheckOptions options = optionsFor(network);
  options.onKernel = [&](const schedule::KernelFound& kernel) {
    compiled.kernels.push_back({kernel.signature, kernel.site, kernel.standard});
  };
  KILN_ASSIGN(auto checked, testing::checkText(network.text, options));
  compiled.outputs = std::move(checked.outputs);
  return compiled;
}

// What is wrong with the network under a schedule of one of its kernels; "" for nothing.
std::string trouble(const Network& network, const std::vector<HostTensor>& expected, const Kernel& kernel,
                    const Schedule& schedule) {
  const std::string templateName(schedule::templateOf(kernel.site.shape.kind));
  const schedule::ScheduleOverrides given = {{kernel.signature, {templateName, schedule, ""}}};
  bool taken = false;
  CheckOptions options = optionsFor(network);
  options.given = &given;
  options.onKernel = [&](const schedule::KernelFound& found) {
    taken |= found.signature == kernel.signature;
  };
  const auto checked = testing::checkText(network.text, options);
  const std::string name = templateName + ", " + text(schedule) + ": ";
  if (!checked) return name + checked.error().message;
  if (!taken) return name + "no kernel took it";
  if (checked->outputs != expected) return name + "other bits than the default schedule's";
  return "";
}

std::vector<Schedule> candidatesOf(const Kernel& kernel) {
  std::vector<Schedule> all;
  Search search(kernel.site, kernel.standard, {});
  while (auto schedule = search.next()) all.push_back(std::move(*schedule));
  if (std::getenv("KILN_EVERY_CANDIDATE") || all.size() <= kSampled) return all;
  // Spread over the order of the search.
  std::vector<Schedule> some;
  for (std::size_t i = 0; i < kSampled; ++i) some.push_back(all[i * (all.size() - 1) / (kSampled - 1)]);
  return some;
}

// Legal, but nothing that the search would try.
std::vector<Schedule> oddOnesOf(const Kernel& kernel) {
  std::vector<Schedule> odd;
  const auto addIfLegal = [&](std::string_view knob, std::vector<std::int64_t> values) {
    Schedule schedule = kernel.standard;
    schedule::setList(schedule, knob, std::move(values));
    if (schedule::check(schedule, kernel.site)) odd.push_back(std::move(schedule));
  };
  for (const std::int64_t threads : {32, 96, 1024}) addIfLegal(schedule::kThreadsKnob, {threads});
  const auto tile = schedule::listOf(kernel.standard, schedule::kTileKnob);
  for (std::size_t loop = 0; loop < tile.size(); ++loop)
    for (const std::int64_t size : {1, 2, 7, 33}) {
      std::vector<std::int64_t> sizes(tile.begin(), tile.end());
      sizes[loop] = size;
      addIfLegal(schedule::kTileKnob, std::move(sizes));
    }
  return odd;
}

std::vector<std::string> search(const Network& network, const Compiled& compiled) {
  std::vector<std::string> troubles;
  const auto look = [&](const Kernel& kernel, const std::vector<Schedule>& schedules) {
    for (const Schedule& schedule : schedules)
      if (const std::string what = trouble(network, compiled.outputs, kernel, schedule); !what.empty())
        troubles.push_back(what);
  };
  for (const Kernel& kernel : compiled.kernels) {
    look(kernel, candidatesOf(kernel));
    look(kernel, oddOnesOf(kernel));
  }
  return troubles;
}

class DeviceSearch : public ::testing::TestWithParam<Network> {};

INSTANTIATE_TEST_SUITE_P(
    Of, DeviceSearch,
    ::testing::Values(Network{"Product", "contraction", product(160, 192, 24, "f32")},
                      Network{"ProductOfFewRows", "contraction", product(2, 1024, 24, "f32")},
                      Network{"ProductOnTensorCores", "contraction", product(160, 192, 40, "f16"), 4e-3,
                              4e-3},
                      Network{"ProductOfTf32", "contraction", product(160, 192, 40, "f32"), 5e-3, 5e-3, true},
                      Network{"Convolution", "convolution", convolution("f32")},
                      Network{"ConvolutionOnTensorCores", "convolution", convolution("f16"), 4e-3, 4e-3},
                      Network{"Depthwise", "convolution", kDepthwise},
                      Network{"Softmax", "reduction", kSoftmax},
                      Network{"Centred", "reduction", centred("0.0138")}, Network{"Sums", "reduction", kSums},
                      Network{"Elementwise", "elementwise", kElementwise}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(DeviceSearch, EveryCandidateIsRightAndHasTheBitsOfTheDefault) {
  const auto compiled = compile(GetParam());
  ASSERT_TRUE(compiled) << compiled.error().message;
  const auto main = std::ranges::find(compiled->kernels, GetParam().templateName, [](const Kernel& kernel) {
    return schedule::templateOf(kernel.site.shape.kind);
  });
  ASSERT_NE(main, compiled->kernels.end());
  EXPECT_TRUE(main->site.onDevice);
  EXPECT_GE(candidatesOf(*main).size(), 2u) << text(main->standard);
  EXPECT_THAT(search(GetParam(), *compiled), IsEmpty());
}

TEST(DeviceSearchFinds, ResultsThatAreNotTheDefaults) {
  const Network network{"", "reduction", centred("0.0138")};
  auto compiled = compile(network);
  const auto other = compile({"", "reduction", centred("0.0139")});
  ASSERT_TRUE(compiled) << compiled.error().message;
  ASSERT_TRUE(other) << other.error().message;
  compiled->outputs = other->outputs;
  const auto troubles = search(network, *compiled);
  EXPECT_GE(troubles.size(), candidatesOf(compiled->kernels.at(0)).size());
  EXPECT_THAT(troubles, Each(HasSubstr("other bits than the default")));
}

TEST(DeviceSearchFinds, WhatDoesNotCompileAndWhatNoKernelTakes) {
  const Network network{"", "reduction", kSoftmax};
  const auto compiled = compile(network);
  ASSERT_TRUE(compiled) << compiled.error().message;
  Kernel kernel = compiled->kernels.at(0);
  Schedule schedule = kernel.standard;
  schedule::setNumber(schedule, schedule::kThreadsKnob, 33);
  EXPECT_THAT(trouble(network, compiled->outputs, kernel, schedule), HasSubstr("'threads' is 33"));
  kernel.signature = "sha256:0";
  EXPECT_THAT(trouble(network, compiled->outputs, kernel, kernel.standard), HasSubstr("no kernel took it"));
}

}  // namespace
}  // namespace kiln::tuner

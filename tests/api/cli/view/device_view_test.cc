#include "api/cli/view/device_view.h"

#include <gtest/gtest.h>

#include "tests/support/sample_spec.h"

namespace kiln::cli {
namespace {

TEST(DeviceView, SaysWhatAnImageRunsOn) {
  Manifest manifest = makeManifest(testing_support::deviceSpec(), testing_support::deviceEvidence()).value();
  EXPECT_EQ(
      deviceLines(manifest),
      (std::vector<std::string>{"cuda:sm_90a: kernels/sm_90a.cubin 12 B, 2 kernels; compute capability 9.0 "
                                "only, driver 13.0 or later"}));
  manifest.devices[0].exact = false;
  EXPECT_NE(deviceLines(manifest)[0].find("9.0 or later of that major version"), std::string::npos);
  DeviceImageInfo& device = manifest.devices[0];
  EXPECT_EQ(deviceMemoryText(manifest, manifest.profiles[0]), ", 8.2 kB on cuda:sm_90a");
  device.target = "vulkan:1.3";
  device.image.path = "kernels/vulkan-1.3.spv";
  device.driver = "1.3";
  device.computeCapability = "1.6";
  EXPECT_EQ(deviceLines(manifest)[0],
            "vulkan:1.3: kernels/vulkan-1.3.spv 12 B, 2 kernels; SPIR-V 1.6, Vulkan 1.3 or later");
}

TEST(DeviceView, KernelsOfDevicesWithTheirFigures) {
  const Json device = {{"threads", 256},        {"registers", 40},          {"spillBytes", 8},
                       {"sharedBytes", "1024"}, {"occupancyPermille", 875}, {"movedBytes", "4096"}};
  const Json schedule = {{"kernels",
                          {{{"symbol", "kiln_k0_a"}, {"rule", "row"}, {"tasks", 12}, {"device", device}},
                           {{"symbol", "kiln_k1_b"},
                            {"rule", "row"},
                            {"tasks", 12},
                            {"codeOf", "kiln_k0_a"},
                            {"device", device}},
                           {{"symbol", "kiln_k2_on_the_processor"}}}}};
  const auto lines = deviceKernelLines(schedule);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(
      lines[0],
      "kiln_k0_a [row] 12 x 256 threads, 40 registers, 8 bytes spilled, 1024 bytes shared, occupancy 87.5 %, "
      "moves 4096 bytes");
  EXPECT_TRUE(lines[1].ends_with(", code of kiln_k0_a")) << lines[1];
  const Json portable = {{"kernels",
                          {{{"symbol", "kiln_k0_a"},
                            {"target", "vulkan:1.3"},
                            {"rule", "row"},
                            {"tasks", 12},
                            {"device", device}}}}};
  EXPECT_EQ(deviceKernelLines(portable).at(0),
            "kiln_k0_a [row] 12 x 256 threads, 1024 bytes shared, moves 4096 bytes");
  const auto said = [&](const Json& more) {
    Json saying = portable;
    saying["kernels"][0]["device"].update(more);
    const std::string line = deviceKernelLines(saying).at(0);
    return line.substr(line.find("bytes", line.find("moves")) + 5);
  };
  EXPECT_EQ(said({{"cpuBits", true}}), ", bits of the CPU");
  EXPECT_EQ(said({{"cpuBits", false}, {"mayDiffer", {"contraction", "order"}}}),
            ", CPU's bits but for contraction, order");
  EXPECT_EQ(said({{"cpuBits", "odd"}}), "");
  EXPECT_EQ(said({{"cpuBits", false}, {"mayDiffer", 3}}), ", CPU's bits but for what it does not say");
}

TEST(DeviceView, AnythingElseIsLeftOut) {
  for (const Json& facts :
       {Json(), Json(3), Json{{"kernels", 1}}, Json{{"kernels", {1, "x", Json::array()}}}})
    EXPECT_TRUE(deviceKernelLines(facts).empty());
  EXPECT_EQ(deviceKernelLines({{"kernels", {{{"device", "odd"}}}}}).size(), 1u);
}

}  // namespace
}  // namespace kiln::cli

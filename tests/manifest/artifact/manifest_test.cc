#include "manifest/artifact/manifest.h"

#include <gtest/gtest.h>

#include <functional>
#include <span>

#include "tests/support/sample_spec.h"

namespace kiln {
namespace {

using testing_support::deviceEvidence;
using testing_support::deviceSpec;
using testing_support::dynamicEvidence;
using testing_support::dynamicSpec;
using testing_support::sampleEvidence;
using testing_support::sampleSpec;
using testing_support::vulkanEvidence;

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    auto type = static_cast<DType>(i);
    EXPECT_EQ(parseDType(dtypeName(type)).value(), type);
    EXPECT_GT(dtypeBytes(type), 0u);
  }
  EXPECT_FALSE(parseDType("f128"));
}

TEST(Manifest, IsAPureFunctionOfSpecAndEvidence) {
  auto first = makeManifest(sampleSpec(), sampleEvidence());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->profiles[0].scratchBytes, 64u);
  EXPECT_EQ(first->inputs[0].shape, (std::vector<Dim>{1, 64}));
  std::string text = toCanonicalJson(first->toJson()).value();
  EXPECT_EQ(text, toCanonicalJson(makeManifest(sampleSpec(), sampleEvidence())->toJson()).value());
  auto back = Manifest::fromJson(parseCanonicalJson(text).value());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(toCanonicalJson(back->toJson()).value(), text);
  EXPECT_EQ(back->spec, sampleSpec());
}

struct Case {
  std::function<void(Json&)> damage;
  const char* place;
};

void refuses(const CompileSpec& spec, const Json& evidence, std::span<const Case> cases) {
  for (const Case& one : cases) {
    Json json = evidence;
    one.damage(json);
    auto manifest = makeManifest(spec, json);
    ASSERT_FALSE(manifest) << one.place;
    EXPECT_EQ(manifest.error().code, Code::kInvalidArgument);
    EXPECT_EQ(manifest.error().message.substr(0, manifest.error().message.find(": ")), one.place)
        << manifest.error().message;
  }
}

TEST(Manifest, RefusesWrongEvidenceByName) {
  const Case cases[] = {
      {[](Json& j) { j.erase("program"); }, "evidence.program"},
      {[](Json& j) { j["extra"] = 1; }, "evidence.extra"},
      {[](Json& j) { j["program"]["abi"] = 0; }, "evidence.program.abi"},
      {[](Json& j) { j["program"]["inputs"][0]["dtype"] = "f8"; }, "evidence.program.inputs[0].dtype"},
      {[](Json& j) { j["program"]["inputs"][0]["shape"][0] = -1; }, "evidence.program.inputs[0].shape"},
      {[](Json& j) { j["program"]["inputs"][0]["dimNames"] = {"N"}; }, "evidence.program.inputs[0].dimNames"},
      {[](Json& j) { j["program"]["outputs"].push_back(j["program"]["outputs"][0]); },
       "evidence.program.outputs[1].name"},
      {[](Json& j) { j["program"]["file"]["path"] = "/bin/sh"; }, "evidence.program.file.path"},
      {[](Json& j) { j["program"]["file"]["mediaType"] = "text/plain"; }, "evidence.program.file.mediaType"},
      {[](Json& j) { j["program"]["weights"][0]["path"] = "program.so"; },
       "evidence.program.weights[0].path"},
      {[](Json& j) { j["program"]["weights"][0]["path"] = "manifest.json"; },
       "evidence.program.weights[0].path"},
      {[](Json& j) { j["stages"]["tune"] = Json::object(); }, "evidence.stages.tune"},
      {[](Json& j) { j["stages"]["plan"]["reuse"] = 0.5; }, "evidence.stages"},
  };
  refuses(sampleSpec(), sampleEvidence(), cases);
}

TEST(Manifest, OfSymbolsAndProfiles) {
  const auto manifest = makeManifest(dynamicSpec(), dynamicEvidence());
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->symbols[0], (Symbol{.name = "N", .input = "x", .pad = true}));
  EXPECT_EQ(manifest->symbols[1], (Symbol{.name = "k[0]", .input = "k", .element = true}));
  EXPECT_EQ(manifest->inputs[0].shape, (std::vector<Dim>{"N", 64}));
  EXPECT_EQ(manifest->outputs[0].shape[0].text(), "(N + 1) floordiv 2");
  EXPECT_EQ(manifest->profiles[1], (ProgramProfile{"large", 262144, 64}));
}

TEST(Manifest, TransferBytesStandWhereThereAreAny) {
  Json evidence = dynamicEvidence();
  EXPECT_FALSE(
      makeManifest(dynamicSpec(), evidence)->toJson()["program"]["profiles"][0].contains("transferBytes"));
  evidence["program"]["profiles"][0]["transferBytes"] = "64";
  const auto manifest = makeManifest(dynamicSpec(), evidence);
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->profiles[0].transferBytes, 64u);
  EXPECT_EQ(manifest->toJson()["program"], evidence["program"]);
  evidence["program"]["profiles"][0]["transferBytes"] = "0";
  EXPECT_FALSE(makeManifest(dynamicSpec(), evidence));
}

TEST(Manifest, IndexChecksStandWhereThereAreAny) {
  Json evidence = dynamicEvidence();
  EXPECT_FALSE(makeManifest(dynamicSpec(), evidence)->toJson()["program"].contains("indexChecks"));
  evidence["program"]["indexChecks"] = {"embed", "a/b"};
  const auto manifest = makeManifest(dynamicSpec(), evidence);
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->indexChecks, (std::vector<std::string>{"embed", "a/b"}));
  EXPECT_EQ(Manifest::fromJson(manifest->toJson())->indexChecks, manifest->indexChecks);
  for (const Json& wrong : {Json::array(), Json{"a", "a"}, Json{1}, Json("a")}) {
    evidence["program"]["indexChecks"] = wrong;
    const auto refused = makeManifest(dynamicSpec(), evidence);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_NE(refused.error().message.find("indexChecks"), std::string::npos) << refused.error().message;
  }
}

TEST(Manifest, StringsAreATableThatTensorsOfIntegersPointInto) {
  Json evidence = dynamicEvidence();
  const Json plain = makeManifest(dynamicSpec(), evidence)->toJson();
  EXPECT_FALSE(plain["program"].contains("strings"));
  EXPECT_FALSE(plain["program"]["inputs"][1].contains("text"));
  evidence["program"]["strings"] = {"", "no", "yes"};
  evidence["program"]["inputs"][1]["text"] = true;
  const auto manifest = makeManifest(dynamicSpec(), evidence);
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->strings, (std::vector<std::string>{"", "no", "yes"}));
  EXPECT_FALSE(manifest->inputs[0].isText);
  EXPECT_TRUE(manifest->inputs[1].isText);
  const auto again = Manifest::fromJson(manifest->toJson());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->strings, manifest->strings);
  EXPECT_EQ(again->inputs, manifest->inputs);
  for (const Json& wrong : {Json::array(), Json{"b", "a"}, Json{"a", "a"}, Json{1}, Json("a"),
                            Json{std::string(4097, 'a')}, Json{std::string("a\0", 2)}}) {
    Json bad = evidence;
    bad["program"]["strings"] = wrong;
    const auto refused = makeManifest(dynamicSpec(), bad);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_NE(refused.error().message.find("strings"), std::string::npos) << refused.error().message;
  }
  for (const auto& [input, value] : {std::pair{0, Json(true)}, {1, Json(false)}, {1, Json("yes")}}) {
    Json bad = evidence;
    bad["program"]["inputs"][static_cast<std::size_t>(input)]["text"] = value;
    EXPECT_NE(makeManifest(dynamicSpec(), bad).error().message.find("text"), std::string::npos) << value;
  }
}

TEST(Manifest, OfDevices) {
  const auto manifest = makeManifest(deviceSpec(), deviceEvidence());
  ASSERT_TRUE(manifest) << manifest.error().message;
  ASSERT_EQ(manifest->devices.size(), 1u);
  const DeviceImageInfo& device = manifest->devices[0];
  EXPECT_EQ(device.arch, "sm_90a");
  EXPECT_EQ(device.image.path, "kernels/sm_90a.cubin");
  EXPECT_EQ(device.kernels, (std::vector<std::string>{"kiln_k0_relu", "kiln_k1_matmul"}));
  EXPECT_EQ(device.driver + " " + device.computeCapability, "13.0 9.0");
  EXPECT_TRUE(device.exact);
  EXPECT_EQ(manifest->weightSpaces, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(manifest->profiles[0].deviceArenaBytes, std::vector<std::uint64_t>{8192});
  std::string paths;
  for (const ArtifactFile& file : manifest->files()) paths += file.path + " ";
  EXPECT_EQ(paths, "program.so kernels/sm_90a.cubin weights/0000.bin weights/0001.bin ");
  const auto back = Manifest::fromJson(manifest->toJson());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->toJson(), manifest->toJson());
  EXPECT_EQ(back->devices, manifest->devices);
}

TEST(Manifest, OfAVulkanDevice) {
  CompileSpec spec = deviceSpec();
  spec.target = "vulkan:1.3+f16";
  Json evidence = vulkanEvidence("1.3+f16");
  Json& device = evidence["program"]["devices"][0];
  device["image"]["mediaType"] = kCubinMediaType;
  EXPECT_FALSE(makeManifest(spec, evidence)) << "the image is a cubin's";
  device["image"]["mediaType"] = kSpirvMediaType;
  const auto manifest = makeManifest(spec, evidence);
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->files()[1].mediaType, kSpirvMediaType);
  device["arch"] = "1.3";
  EXPECT_FALSE(makeManifest(spec, evidence));
}

TEST(Manifest, RefusesWrongDevicesByName) {
  const auto device = [](Json& j) -> Json& { return j["program"]["devices"][0]; };
  const Case cases[] = {
      {[](Json& j) { j["program"].erase("devices"); }, "evidence.program.devices"},
      {[](Json& j) { j["program"]["devices"] = Json::array(); }, "evidence.program.devices"},
      {[](Json& j) { j["program"]["abi"] = 2; }, "evidence.program.profiles[0].deviceArenaBytes"},
      {[&](Json& j) { j["program"]["devices"].push_back(device(j)); },
       "evidence.program.devices[1].image.path"},
      {[&](Json& j) { device(j)["target"] = "cuda:sm_80"; }, "evidence.program.devices[0].target"},
      {[&](Json& j) { device(j)["arch"] = "sm_80"; }, "evidence.program.devices[0].arch"},
      {[&](Json& j) { device(j)["image"]["path"] = "../x"; }, "evidence.program.devices[0].image.path"},
      {[&](Json& j) { device(j)["image"]["mediaType"] = kProgramMediaType; },
       "evidence.program.devices[0].image.mediaType"},
      {[&](Json& j) { device(j)["kernels"] = {"a", "a"}; }, "evidence.program.devices[0].kernels"},
      {[&](Json& j) { device(j)["kernels"] = {"a b"}; }, "evidence.program.devices[0].kernels"},
      {[&](Json& j) { device(j)["kernels"] = {std::string(257, 'a')}; },
       "evidence.program.devices[0].kernels"},
      {[&](Json& j) { device(j)["driver"] = "13"; }, "evidence.program.devices[0].driver"},
      {[&](Json& j) { device(j)["driver"] = "13.0x"; }, "evidence.program.devices[0].driver"},
      {[&](Json& j) { device(j)["computeCapability"] = "09.0"; },
       "evidence.program.devices[0].computeCapability"},
      {[&](Json& j) { device(j).erase("exact"); }, "evidence.program.devices[0].exact"},
      {[&](Json& j) { device(j)["extra"] = 1; }, "evidence.program.devices[0].extra"},
      {[](Json& j) { j["program"]["weights"][1]["space"] = 2; }, "evidence.program.weights[1].space"},
      {[](Json& j) { j["program"]["weights"][1].erase("space"); }, "evidence.program.weights[1].space"},
      {[](Json& j) { j["program"]["weights"][1]["path"] = "kernels/sm_90a.cubin"; },
       "evidence.program.weights[1].path"},
      {[](Json& j) { j["program"]["profiles"][0].erase("deviceArenaBytes"); },
       "evidence.program.profiles[0].deviceArenaBytes"},
      {[](Json& j) { j["program"]["profiles"][0]["deviceArenaBytes"] = {"1", "2"}; },
       "evidence.program.profiles[0].deviceArenaBytes"},
      {[](Json& j) { j["program"]["profiles"][0]["deviceArenaBytes"] = {-1}; },
       "evidence.program.profiles[0].deviceArenaBytes.size"},
  };
  refuses(deviceSpec(), deviceEvidence(), cases);
  const Case placed[] = {
      {[](Json& j) { j["program"]["weights"][0]["space"] = 0; }, "evidence.program.weights[0].space"}};
  refuses(dynamicSpec(), dynamicEvidence(), placed);
}

TEST(Manifest, RefusesWrongSymbolsAndProfilesByName) {
  const Case cases[] = {
      {[](Json& j) { j["program"]["symbols"][1]["name"] = "N"; }, "evidence.program.symbols[1].name"},
      {[](Json& j) { j["program"]["symbols"][0]["name"] = ""; }, "evidence.program.symbols[0].name"},
      {[](Json& j) { j["program"]["symbols"][0]["name"] = "M"; }, "evidence.program.symbols[0].dim"},
      {[](Json& j) { j["program"]["symbols"][0]["dim"] = 1; }, "evidence.program.symbols[0].dim"},
      {[](Json& j) { j["program"]["symbols"][0]["dim"] = 2; }, "evidence.program.symbols[0].dim"},
      {[](Json& j) { j["program"]["symbols"][0]["input"] = "y"; }, "evidence.program.symbols[0].input"},
      {[](Json& j) { j["program"]["symbols"][1]["element"] = 1; }, "evidence.program.symbols[1].element"},
      {[](Json& j) { j["program"]["symbols"][1]["input"] = "x"; }, "evidence.program.symbols[1].element"},
      {[](Json& j) { j["program"]["symbols"][1]["pad"] = true; }, "evidence.program.symbols[1].pad"},
      {[](Json& j) { j["program"]["inputs"][1]["dtype"] = "bf16"; }, "evidence.program.symbols[1].element"},
      {[](Json& j) { j["program"]["inputs"][0]["shape"][1] = "H"; }, "evidence.program.inputs[0].shape"},
      {[](Json& j) { j["program"]["inputs"][0]["shape"][1] = ""; }, "evidence.program.inputs[0].shape"},
      {[](Json& j) { j["program"]["inputs"][0]["dimNames"] = {"N", ""}; },
       "evidence.program.inputs[0].dimNames"},
      {[](Json& j) { j["program"]["outputs"][0]["shape"][0] = true; }, "evidence.program.outputs[0].shape"},
      {[](Json& j) { j["program"]["profiles"].erase(1); }, "evidence.program.profiles"},
      {[](Json& j) { j["program"]["profiles"][1]["name"] = "small"; }, "evidence.program.profiles[1].name"},
      {[](Json& j) { j["program"]["profiles"][0]["arenaBytes"] = -1; },
       "evidence.program.profiles[0].arenaBytes"},
      {[](Json& j) { j["program"]["arenaBytes"] = "1"; }, "evidence.program.arenaBytes"},
  };
  refuses(dynamicSpec(), dynamicEvidence(), cases);
  CompileSpec unbounded = dynamicSpec();
  unbounded.profiles[1].dims.erase("k[0]");
  const Case none[] = {{[](Json&) {}, "evidence.program.profiles[1].name"}};
  refuses(unbounded, dynamicEvidence(), none);
}

}  // namespace
}  // namespace kiln

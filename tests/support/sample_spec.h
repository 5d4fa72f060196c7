// A CompileSpec and the evidence of a tiny model, for tests.
#pragma once

#include "manifest/artifact/manifest.h"
#include "manifest/artifact/media_types.h"
#include "manifest/spec/target.h"

namespace kiln::testing_support {

inline CompileSpec sampleSpec() {
  CompileSpec spec;
  spec.files = {{"model.onnx", digestOf("model")}, {"data/weights.bin", digestOf("external")}};
  spec.toolchainDigest = digestOf("toolchain");
  Target target = parseTarget("cpu:x86-64-v3").value();
  spec.target = target.name;
  spec.features = target.features;
  spec.profiles = {{"default", {{"N", {1, 1, 1}}}}};
  spec.pins = {{"axes", {1, -1, INT64_MAX}}};
  spec.numerics.reassociation = "off";  // as the documents in tests/golden were written
  spec.maxArtifactBytes = 1 << 20;
  return spec;
}

// The bytes behind the digests that sampleEvidence() names.
inline constexpr char kSampleProgram[] =
    "\x7f"
    "ELF program";
inline constexpr char kSampleWeights[] = "weights";

inline Json sampleFile(const char* path, const char* mediaType, std::string_view bytes) {
  return {{"path", path},
          {"mediaType", mediaType},
          {"digest", digestOf(bytes).text()},
          {"size", std::to_string(bytes.size())}};
}

// Of program ABI 1, whose documents stay as they were.
inline Json sampleEvidence() {
  auto tensor = [](const char* name, Json shape, Json names) {
    return Json{
        {"name", name}, {"dtype", "f32"}, {"shape", std::move(shape)}, {"dimNames", std::move(names)}};
  };
  return {{"program",
           {{"abi", 1},
            {"inputs", Json::array({tensor("x", {1, 64}, {"N", ""})})},
            {"outputs", Json::array({tensor("y", {1, 10}, {"N", ""})})},
            {"arenaBytes", "4096"},
            {"scratchBytes", 64},
            {"file", sampleFile("program.so", kProgramMediaType, kSampleProgram)},
            {"weights", Json::array({sampleFile("weights/0000.bin", kWeightsMediaType, kSampleWeights)})}}},
          {"stages", {{"capture", {{"nodes", 3}}}, {"plan", {{"reuse", "0.50"}}}}}};
}

// A program of two profiles whose symbols are a dimension and an element of a value.
inline CompileSpec dynamicSpec() {
  CompileSpec spec = sampleSpec();
  spec.profiles = {{"small", {{"N", {1, 4, 8}}, {"k[0]", {1, 1, 4}}}},
                   {"large", {{"N", {9, 64, 512}}, {"k[0]", {1, 4, 16}}}}};
  spec.outOfProfile = "pad";
  spec.pins.clear();
  return spec;
}

inline Json dynamicEvidence() {
  const auto tensor = [](const char* name, const char* dtype, Json shape) {
    return Json{{"name", name}, {"dtype", dtype}, {"shape", std::move(shape)}};
  };
  const auto profile = [](const char* name, const char* arena) {
    return Json{{"name", name}, {"arenaBytes", arena}, {"scratchBytes", "64"}};
  };
  return {{"program",
           {{"abi", 2},
            {"symbols", Json::array({{{"name", "N"}, {"input", "x"}, {"dim", 0}, {"pad", true}},
                                     {{"name", "k[0]"}, {"input", "k"}, {"element", 0}, {"pad", false}}})},
            {"inputs", Json::array({tensor("x", "f32", {"N", 64}), tensor("k", "i64", Json::array({1}))})},
            {"outputs", Json::array({tensor("y", "f32", {"(N + 1) floordiv 2", "k[0]"}),
                                     tensor("found", "i64", Json::array({"? <= N * 64"}))})},
            {"profiles", Json::array({profile("small", "4096"), profile("large", "262144")})},
            {"file", sampleFile("program.so", kProgramMediaType, kSampleProgram)},
            {"weights", Json::array({sampleFile("weights/0000.bin", kWeightsMediaType, kSampleWeights)})}}},
          {"stages", {{"capture", {{"nodes", 3}}}}}};
}

// A program that runs on a GPU but for what falls back to the processor: a weight on either side.
inline constexpr char kSampleKernels[] =
    "\x7f"
    "ELF kernels";

inline CompileSpec deviceSpec() {
  CompileSpec spec = sampleSpec();
  Target target = parseTarget("cuda:sm_90a").value();
  spec.target = target.name;
  spec.features = target.features;
  spec.profiles = {{"default", {}}};
  spec.pins.clear();
  return spec;
}

inline Json deviceEvidence() {
  const auto tensor = [](const char* name) {
    return Json{{"name", name}, {"dtype", "f32"}, {"shape", {1, 64}}};
  };
  Json onProcessor = sampleFile("weights/0000.bin", kWeightsMediaType, kSampleWeights);
  Json onDevice = sampleFile("weights/0001.bin", kWeightsMediaType, kSampleWeights);
  onProcessor["space"] = 0;
  onDevice["space"] = 1;
  return {{"program",
           {{"abi", 3},
            {"symbols", Json::array()},
            {"inputs", Json::array({tensor("x")})},
            {"outputs", Json::array({tensor("y")})},
            {"profiles", Json::array({{{"name", "default"},
                                       {"arenaBytes", "4096"},
                                       {"scratchBytes", "64"},
                                       {"transferBytes", "512"},
                                       {"deviceArenaBytes", Json::array({"8192"})}}})},
            {"file", sampleFile("program.so", kProgramMediaType, kSampleProgram)},
            {"devices",
             Json::array({{{"target", "cuda:sm_90a"},
                           {"arch", "sm_90a"},
                           {"image", sampleFile("kernels/sm_90a.cubin", kCubinMediaType, kSampleKernels)},
                           {"kernels", {"kiln_k0_relu", "kiln_k1_matmul"}},
                           {"driver", "13.0"},
                           {"computeCapability", "9.0"},
                           {"exact", true}}})},
            {"weights", Json::array({onProcessor, onDevice})}}},
          {"stages", {{"capture", {{"nodes", 3}}}}}};
}

// The same for `level` of Vulkan ("1.3"), with modules of SPIR-V in the place of a cubin.
inline Json vulkanEvidence(const std::string& level) {
  Json evidence = deviceEvidence();
  Json& device = evidence["program"]["devices"][0];
  device["target"] = "vulkan:" + level;
  device["arch"] = level;
  device["driver"] = "1.3";
  device["image"] = sampleFile("kernels/vulkan.spv", kSpirvMediaType, kSampleKernels);
  return evidence;
}

}  // namespace kiln::testing_support

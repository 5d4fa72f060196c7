// A CompileSpec and the evidence of a tiny model, for tests.
#pragma once

#include "manifest/artifact/manifest.h"
#include "manifest/artifact/media_types.h"
#include "manifest/spec/target.h"

namespace kiln::testing_support {

inline CompileSpec sampleSpec() {
  CompileSpec spec;
  spec.files = {{"model.onnx", digestOf("model")}, {"data/weights.bin", digestOf("external")}};
  spec.toolchain = digestOf("toolchain");
  Target target = parseTarget("cpu:x86-64-v3").value();
  spec.target = target.name;
  spec.features = target.features;
  spec.profiles = {{"default", {{"N", {1, 1, 1}}}}};
  spec.pins = {{"axes", {1, -1, INT64_MAX}}};
  spec.maxArtifactBytes = 1 << 20;
  return spec;
}

// The bytes behind the digests that sampleEvidence() names.
inline constexpr char kSampleProgram[] =
    "\x7f"
    "ELF program";
inline constexpr char kSampleWeights[] = "weights";

inline Json sampleEvidence() {
  auto file = [](const char* path, const char* mediaType, std::string_view bytes) {
    return Json{{"path", path},
                {"mediaType", mediaType},
                {"digest", digestOf(bytes).text()},
                {"size", std::to_string(bytes.size())}};
  };
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
            {"file", file("program.so", kProgramMediaType, kSampleProgram)},
            {"weights", Json::array({file("weights/0000.bin", kWeightsMediaType, kSampleWeights)})}}},
          {"stages", {{"capture", {{"nodes", 3}}}, {"plan", {{"reuse", "0.50"}}}}}};
}

}  // namespace kiln::testing_support

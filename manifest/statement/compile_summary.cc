#include "manifest/statement/compile_summary.h"

#include "manifest/statement/members.h"

namespace kiln {
namespace {

Json tensorsJson(const std::vector<TensorInfo>& tensors) {
  Json out = Json::array();
  for (const TensorInfo& tensor : tensors) {
    Json shape = Json::array();
    for (const Dim& dim : tensor.shape) shape.push_back(dim.text());
    out.push_back({{"name", tensor.name},
                   {"dtype", std::string(dtypeName(tensor.dtype))},
                   {"shape", std::move(shape)}});
  }
  return out;
}

Json inputsJson(const CompileSpec& spec) {
  Json out = Json::array();
  for (const ModelFile& file : spec.files) {
    Json one = digestMember(file.digest);
    one["path"] = file.path;
    out.push_back(std::move(one));
  }
  return out;
}

Json profilesJson(const Manifest& manifest) {
  Json out = Json::array();
  for (const ProgramProfile& profile : manifest.profiles)
    out.push_back({{"name", profile.name},
                   {"arenaBytes", std::to_string(profile.arenaBytes)},
                   {"scratchBytes", std::to_string(profile.scratchBytes)}});
  return out;
}

Json weightsJson(const Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const ArtifactFile& file : manifest.weights) bytes += file.digest.size;
  return {{"files", std::to_string(manifest.weights.size())}, {"bytes", std::to_string(bytes)}};
}

Json devicesJson(const Manifest& manifest) {
  Json out = Json::array();
  for (const DeviceImageInfo& device : manifest.devices) {
    Json one = digestMember(device.image.digest);
    one["target"] = device.target;
    one["kernels"] = std::to_string(device.kernels.size());
    out.push_back(std::move(one));
  }
  return out;
}

// What the compiler gave evidence of, by stage.
Json stagesJson(const Manifest& manifest) {
  Json out = Json::array();
  if (manifest.stages.is_object())
    for (const auto& [name, facts] : manifest.stages.items()) out.push_back(name);
  return out;
}

}  // namespace

Json compileSummary(const Manifest& manifest, const Digest& manifestBlob) {
  const CompileSpec& spec = manifest.spec;
  Json out{{"manifest", digestMember(manifestBlob)},
           {"target", spec.target},
           {"toolchain", digestMember(spec.toolchainDigest)},
           {"files", inputsJson(spec)},
           {"numerics",
            {{"contraction", spec.numerics.contraction},
             {"reassociation", spec.numerics.reassociation},
             {"precision", spec.numerics.precision}}},
           {"programAbi", std::to_string(manifest.programAbi)},
           {"program", digestMember(manifest.program.digest)},
           {"weights", weightsJson(manifest)},
           {"inputs", tensorsJson(manifest.inputs)},
           {"outputs", tensorsJson(manifest.outputs)},
           {"profiles", profilesJson(manifest)},
           {"stages", stagesJson(manifest)}};
  if (!manifest.devices.empty()) out["devices"] = devicesJson(manifest);
  return out;
}

Status checkCompileSummary(const Json& predicate, const Manifest& manifest, const Digest& manifestBlob) {
  if (predicate == compileSummary(manifest, manifestBlob)) return {};
  return fail(Code::kDataLoss, "it is no summary of the Manifest " + manifestBlob.text());
}

Result<std::string> compileStatement(const Digest& artifact, const Manifest& manifest,
                                     const Digest& manifestBlob) {
  return toCanonicalJson(
      Statement{{{"artifact.json", artifact.hash}}, kCompileType, compileSummary(manifest, manifestBlob)}
          .toJson());
}

}  // namespace kiln

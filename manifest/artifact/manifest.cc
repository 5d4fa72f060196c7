#include "manifest/artifact/manifest.h"

#include <set>

#include "manifest/artifact/media_types.h"
#include "manifest/artifact/path_set.h"
#include "manifest/json/reader.h"
#include "manifest/spec/path.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxTensors = 4096, kMaxRank = 64, kMaxWeights = 16384;
constexpr std::string_view kStages[] = {"capture",  "analyse", "rewrite", "partition",
                                        "schedule", "codegen", "plan",    "package"};

std::string at(const std::string& place, std::size_t index) {
  return place + "[" + std::to_string(index) + "]";
}

Json fileJson(const ArtifactFile& file) {
  return {{"path", file.path},
          {"mediaType", file.mediaType},
          {"digest", file.digest.text()},
          {"size", std::to_string(file.digest.size)}};
}

Json tensorJson(const TensorInfo& tensor) {
  return {{"name", tensor.name},
          {"dtype", dtypeName(tensor.dtype)},
          {"shape", tensor.shape},
          {"dimNames", tensor.dimNames}};
}

Result<ArtifactFile> readFile(const Json& json, const std::string& place, std::string_view mediaType) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  ArtifactFile file;
  KILN_ASSIGN(file.path, reader.string("path"));
  if (auto safe = checkRelativePath(file.path); !safe)
    return badMember(reader.path("path"), safe.error().message);
  KILN_TRY(reader.expect("mediaType", mediaType));
  file.mediaType = mediaType;
  KILN_ASSIGN(file.digest, reader.digest());
  KILN_TRY(reader.finish());
  return file;
}

Result<TensorInfo> readTensor(const Json& json, const std::string& place) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  TensorInfo tensor;
  KILN_ASSIGN(tensor.name, reader.string("name"));
  KILN_ASSIGN(std::string dtype, reader.string("dtype"));
  auto type = parseDType(dtype);
  if (!type) return badMember(reader.path("dtype"), type.error().message);
  tensor.dtype = *type;
  KILN_ASSIGN(const Json* shape, reader.array("shape"));
  if (shape->size() > kMaxRank) return badMember(reader.path("shape"), "more than 64 dimensions");
  for (const Json& dim : *shape) {
    bool ok = dim.is_number_integer() && dim >= 0 && dim <= kMaxJsonInteger;
    if (!ok) return badMember(reader.path("shape"), "must hold integers from 0 to 2^53-1");
    tensor.shape.push_back(dim.get<std::int64_t>());
  }
  KILN_ASSIGN(tensor.dimNames, reader.strings("dimNames"));
  if (tensor.dimNames.size() != tensor.shape.size())
    return badMember(reader.path("dimNames"), "must have one name per dimension (\"\" where static)");
  KILN_TRY(reader.finish());
  return tensor;
}

Result<std::vector<TensorInfo>> readTensors(ObjectReader& program, std::string_view name) {
  KILN_ASSIGN(const Json* list, program.array(name));
  if (list->size() > kMaxTensors) return badMember(program.path(name), "too many tensors");
  std::vector<TensorInfo> out;
  std::set<std::string> names;
  for (std::size_t i = 0; i < list->size(); ++i) {
    std::string place = at(program.path(name), i);
    KILN_ASSIGN(TensorInfo tensor, readTensor((*list)[i], place));
    if (!names.insert(tensor.name).second) return badMember(place + ".name", "a second tensor of this name");
    out.push_back(std::move(tensor));
  }
  return out;
}

Status readProgram(ObjectReader& program, Manifest& manifest) {
  KILN_ASSIGN(std::int64_t abi, program.integer("abi", 1, 0xFFFFFFFF));
  manifest.programAbi = static_cast<std::uint32_t>(abi);
  KILN_ASSIGN(manifest.inputs, readTensors(program, "inputs"));
  KILN_ASSIGN(manifest.outputs, readTensors(program, "outputs"));
  KILN_ASSIGN(manifest.arenaBytes, program.unsigned64("arenaBytes"));
  KILN_ASSIGN(manifest.scratchBytes, program.unsigned64("scratchBytes"));
  KILN_ASSIGN(const Json* file, program.any("file"));
  KILN_ASSIGN(manifest.program, readFile(*file, program.path("file"), kProgramMediaType));
  KILN_ASSIGN(const Json* weights, program.array("weights"));
  if (weights->size() > kMaxWeights) return badMember(program.path("weights"), "too many weight files");
  PathSet paths;
  if (auto added = paths.add(manifest.program.path); !added)
    return badMember(program.path("file"), added.error().message);
  for (std::size_t i = 0; i < weights->size(); ++i) {
    std::string place = at(program.path("weights"), i);
    KILN_ASSIGN(ArtifactFile weight, readFile((*weights)[i], place, kWeightsMediaType));
    if (auto added = paths.add(weight.path); !added) return badMember(place + ".path", added.error().message);
    manifest.weights.push_back(std::move(weight));
  }
  return program.finish();
}

Status readStages(ObjectReader& reader, Manifest& manifest) {
  KILN_ASSIGN(ObjectReader stages, reader.object("stages"));
  for (std::string_view name : kStages)
    if (stages.has(name)) KILN_TRY(stages.object(name));
  KILN_TRY(stages.finish());
  KILN_ASSIGN(const Json* value, reader.any("stages"));
  if (auto canonical = toCanonicalJson(*value); !canonical)
    return badMember(reader.path("stages"), canonical.error().message);
  manifest.stages = *value;
  return {};
}

// The part that evidence.json and the Manifest have in common.
Status readEvidence(ObjectReader& reader, Manifest& manifest) {
  KILN_ASSIGN(ObjectReader program, reader.object("program"));
  KILN_TRY(readProgram(program, manifest));
  return readStages(reader, manifest);
}

}  // namespace

Json Manifest::toJson() const {
  Json ins = Json::array(), outs = Json::array(), weightList = Json::array();
  for (const TensorInfo& tensor : inputs) ins.push_back(tensorJson(tensor));
  for (const TensorInfo& tensor : outputs) outs.push_back(tensorJson(tensor));
  for (const ArtifactFile& weight : weights) weightList.push_back(fileJson(weight));
  return {{"apiVersion", "kiln/v1"},
          {"kind", "Manifest"},
          {"spec", spec.toJson()},
          {"program",
           {{"abi", programAbi},
            {"inputs", std::move(ins)},
            {"outputs", std::move(outs)},
            {"arenaBytes", std::to_string(arenaBytes)},
            {"scratchBytes", std::to_string(scratchBytes)},
            {"file", fileJson(program)},
            {"weights", std::move(weightList)}}},
          {"stages", stages}};
}

Result<Manifest> Manifest::fromJson(const Json& json) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, ""));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "Manifest"));
  Manifest manifest;
  KILN_ASSIGN(const Json* spec, reader.any("spec"));
  KILN_ASSIGN(manifest.spec, CompileSpec::fromJson(*spec));
  KILN_TRY(readEvidence(reader, manifest));
  KILN_TRY(reader.finish());
  return manifest;
}

Result<Manifest> makeManifest(const CompileSpec& spec, const Json& evidence) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(evidence, "evidence"));
  Manifest manifest;
  manifest.spec = spec;
  KILN_TRY(readEvidence(reader, manifest));
  KILN_TRY(reader.finish());
  return manifest;
}

}  // namespace kiln

#include "manifest/artifact/manifest.h"

#include <algorithm>
#include <functional>
#include <set>

#include "manifest/artifact/media_types.h"
#include "manifest/artifact/path_set.h"
#include "manifest/json/reader.h"
#include "manifest/spec/path.h"
#include "manifest/spec/target.h"
#include "manifest/spec/target_device.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxTensors = 4096, kMaxRank = 64, kMaxWeights = 16384, kMaxSymbols = 4096,
                      kMaxExpression = 1024, kMaxDevices = 16, kMaxKernels = 65536, kMaxName = 256,
                      kMaxIndexChecks = 4096, kMaxStrings = 16384, kMaxStringBytes = 4096;
constexpr std::int64_t kDeviceAbi = 3;
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

Json dimJson(const Dim& dim) {
  return dim.isStatic() ? Json(dim.value) : Json(dim.expression);
}

Json tensorJson(const TensorInfo& tensor, bool withNames) {
  Json shape = Json::array();
  for (const Dim& dim : tensor.shape) shape.push_back(dimJson(dim));
  Json json{{"name", tensor.name}, {"dtype", dtypeName(tensor.dtype)}, {"shape", std::move(shape)}};
  if (withNames) json["dimNames"] = tensor.dimNames;
  if (tensor.isText) json["text"] = true;
  return json;
}

Json symbolJson(const Symbol& symbol) {
  return {{"name", symbol.name},
          {"input", symbol.input},
          {symbol.element ? "element" : "dim", symbol.index},
          {"pad", symbol.pad}};
}

Json profileJson(const ProgramProfile& profile) {
  Json json{{"name", profile.name},
            {"arenaBytes", std::to_string(profile.arenaBytes)},
            {"scratchBytes", std::to_string(profile.scratchBytes)}};
  if (profile.transferBytes != 0) json["transferBytes"] = std::to_string(profile.transferBytes);
  for (const std::uint64_t bytes : profile.deviceArenaBytes)
    json["deviceArenaBytes"].push_back(std::to_string(bytes));
  return json;
}

template <class T, class F>
Json listJson(const std::vector<T>& values, F toJson) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(toJson(value));
  return list;
}

Json deviceJson(const DeviceImageInfo& device) {
  return {
      {"target", device.target},   {"arch", device.arch},     {"image", fileJson(device.image)},
      {"kernels", device.kernels}, {"driver", device.driver}, {"computeCapability", device.computeCapability},
      {"exact", device.exact}};
}

Json programJson(const Manifest& manifest) {
  const bool first = manifest.programAbi == 1;
  const auto tensor = [&](const TensorInfo& info) { return tensorJson(info, first); };
  Json json{{"abi", manifest.programAbi},
            {"inputs", listJson(manifest.inputs, tensor)},
            {"outputs", listJson(manifest.outputs, tensor)},
            {"file", fileJson(manifest.program)},
            {"weights", listJson(manifest.weights, fileJson)}};
  if (first) {
    json["arenaBytes"] = std::to_string(manifest.profiles.at(0).arenaBytes);
    json["scratchBytes"] = std::to_string(manifest.profiles.at(0).scratchBytes);
  } else {
    json["symbols"] = listJson(manifest.symbols, symbolJson);
    json["profiles"] = listJson(manifest.profiles, profileJson);
    if (!manifest.strings.empty()) json["strings"] = manifest.strings;
    if (!manifest.indexChecks.empty()) json["indexChecks"] = manifest.indexChecks;
  }
  if (manifest.devices.empty()) return json;
  json["devices"] = listJson(manifest.devices, deviceJson);
  for (std::size_t i = 0; i < manifest.weights.size(); ++i)
    json["weights"][i]["space"] = manifest.weightSpaces.at(i);
  return json;
}

Result<ArtifactFile> readFile(ObjectReader& reader, std::string_view mediaType) {
  ArtifactFile file;
  KILN_ASSIGN(file.path, reader.string("path"));
  if (auto safe = checkRelativePath(file.path); !safe)
    return badMember(reader.path("path"), safe.error().message);
  KILN_TRY(reader.expect("mediaType", mediaType));
  file.mediaType = mediaType;
  KILN_ASSIGN(file.digest, reader.digest());
  return file;
}

Result<ArtifactFile> readFile(ObjectReader reader, std::string_view mediaType, PathSet& paths) {
  KILN_ASSIGN(ArtifactFile file, readFile(reader, mediaType));
  KILN_TRY(reader.finish());
  if (auto added = paths.add(file.path); !added) return badMember(reader.path("path"), added.error().message);
  return file;
}

Result<Dim> readDim(const Json& json, bool expressions, const std::string& place) {
  if (json.is_number_integer() && json >= 0 && json <= kMaxJsonInteger) return Dim(json.get<std::int64_t>());
  if (!expressions) return badMember(place, "must hold integers from 0 to 2^53-1");
  if (!json.is_string() || json.get_ref<const std::string&>().empty() ||
      json.get_ref<const std::string&>().size() > kMaxExpression)
    return badMember(place, "must hold integers from 0 to 2^53-1 and expressions of 1 to 1024 bytes");
  return Dim(json.get<std::string>());
}

Result<TensorInfo> readTensor(const Json& json, bool first, const std::string& place) {
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
    KILN_ASSIGN(Dim one, readDim(dim, !first, reader.path("shape")));
    tensor.shape.push_back(std::move(one));
  }
  if (first) {
    KILN_ASSIGN(tensor.dimNames, reader.strings("dimNames"));
    if (tensor.dimNames.size() != tensor.shape.size())
      return badMember(reader.path("dimNames"), "must have one name per dimension (\"\" where static)");
  }
  if (reader.has("text")) {
    KILN_ASSIGN(tensor.isText, reader.boolean("text"));
    if (!tensor.isText) return badMember(reader.path("text"), "must be left out where it is false");
    if (first || tensor.dtype != DType::kI64) return badMember(reader.path("text"), "is for tensors of i64");
  }
  KILN_TRY(reader.finish());
  return tensor;
}

Result<std::vector<TensorInfo>> readTensors(ObjectReader& program, std::string_view name, bool first) {
  KILN_ASSIGN(const Json* list, program.array(name));
  if (list->size() > kMaxTensors) return badMember(program.path(name), "too many tensors");
  std::vector<TensorInfo> out;
  std::set<std::string> names;
  for (std::size_t i = 0; i < list->size(); ++i) {
    std::string place = at(program.path(name), i);
    KILN_ASSIGN(TensorInfo tensor, readTensor((*list)[i], first, place));
    if (!names.insert(tensor.name).second) return badMember(place + ".name", "a second tensor of this name");
    out.push_back(std::move(tensor));
  }
  return out;
}

bool holdsIntegers(DType dtype) {
  const std::string_view name = dtypeName(dtype);
  return name[0] == 'i' || name[0] == 'u' || name == "bool";
}

// The element of a symbol must be there whatever the caller gives.
Status checkElement(const Symbol& symbol, const TensorInfo& input, const std::string& place) {
  if (!holdsIntegers(input.dtype)) return badMember(place, "the input's elements are no integers");
  std::int64_t elements = 1;
  for (const Dim& dim : input.shape)
    if (!dim.isStatic() || __builtin_mul_overflow(elements, dim.value, &elements))
      return badMember(place, "the input's shape is not fixed");
  if (symbol.index >= elements) return badMember(place, "the input has no such element");
  return {};
}

Result<Symbol> readSymbol(const Json& json, const Manifest& manifest, const std::string& place) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  Symbol symbol;
  KILN_ASSIGN(symbol.name, reader.string("name"));
  if (symbol.name.empty()) return badMember(reader.path("name"), "must not be empty");
  KILN_ASSIGN(symbol.input, reader.string("input"));
  symbol.element = reader.has("element");
  const char* const member = symbol.element ? "element" : "dim";
  KILN_ASSIGN(symbol.index, reader.integer(member, 0, kMaxJsonInteger));
  KILN_ASSIGN(symbol.pad, reader.boolean("pad"));
  KILN_TRY(reader.finish());
  const auto input = std::find_if(manifest.inputs.begin(), manifest.inputs.end(),
                                  [&](const TensorInfo& tensor) { return tensor.name == symbol.input; });
  if (input == manifest.inputs.end()) return badMember(reader.path("input"), "no input of this name");
  if (symbol.element) {
    if (symbol.pad) return badMember(reader.path("pad"), "a value cannot be padded");
    KILN_TRY(checkElement(symbol, *input, reader.path(member)));
  } else if (static_cast<std::size_t>(symbol.index) >= input->shape.size() ||
             input->shape[static_cast<std::size_t>(symbol.index)].expression != symbol.name) {
    return badMember(reader.path(member), "the input has no dimension of this name there");
  }
  return symbol;
}

Status readSymbols(ObjectReader& program, Manifest& manifest) {
  KILN_ASSIGN(const Json* list, program.array("symbols"));
  if (list->size() > kMaxSymbols) return badMember(program.path("symbols"), "too many symbols");
  std::set<std::string> names;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string place = at(program.path("symbols"), i);
    KILN_ASSIGN(Symbol symbol, readSymbol((*list)[i], manifest, place));
    if (!names.insert(symbol.name).second) return badMember(place + ".name", "a second symbol of this name");
    manifest.symbols.push_back(std::move(symbol));
  }
  for (std::size_t i = 0; i < manifest.inputs.size(); ++i)
    for (const Dim& dim : manifest.inputs[i].shape)
      if (!dim.isStatic() && !names.contains(dim.expression))
        return badMember(at(program.path("inputs"), i) + ".shape", "no symbol is called " + dim.expression);
  return {};
}

Result<std::vector<std::uint64_t>> readSizes(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(const Json* list, reader.array(name));
  std::vector<std::uint64_t> sizes;
  for (const Json& one : *list) {
    const Json entry{{"size", one}};
    KILN_ASSIGN(ObjectReader inner, ObjectReader::open(entry, reader.path(name)));
    KILN_ASSIGN(const std::uint64_t size, inner.unsigned64("size"));
    sizes.push_back(size);
  }
  return sizes;
}

// One per profile of the spec, which holds the ranges of all symbols.
Status readProfiles(ObjectReader& program, bool withDevices, Manifest& manifest) {
  KILN_ASSIGN(const Json* list, program.array("profiles"));
  const std::vector<ShapeProfile>& wanted = manifest.spec.profiles;
  if (list->size() != wanted.size())
    return badMember(program.path("profiles"), "must have one entry for each profile of the spec");
  for (std::size_t i = 0; i < list->size(); ++i) {
    KILN_ASSIGN(ObjectReader reader, ObjectReader::open((*list)[i], at(program.path("profiles"), i)));
    ProgramProfile profile;
    KILN_ASSIGN(profile.name, reader.string("name"));
    if (profile.name != wanted[i].name)
      return badMember(reader.path("name"), "must be the spec's, \"" + wanted[i].name + "\"");
    for (const Symbol& symbol : manifest.symbols)
      if (!wanted[i].dims.contains(symbol.name))
        return badMember(reader.path("name"), "the spec's profile has no range for " + symbol.name);
    KILN_ASSIGN(profile.arenaBytes, reader.unsigned64("arenaBytes"));
    KILN_ASSIGN(profile.scratchBytes, reader.unsigned64("scratchBytes"));
    if (reader.has("transferBytes")) {
      KILN_ASSIGN(profile.transferBytes, reader.unsigned64("transferBytes"));
      if (profile.transferBytes == 0)
        return badMember(reader.path("transferBytes"), "must be left out where it is 0");
    }
    if (withDevices) {
      KILN_ASSIGN(profile.deviceArenaBytes, readSizes(reader, "deviceArenaBytes"));
    }
    KILN_TRY(reader.finish());
    manifest.profiles.push_back(std::move(profile));
  }
  return {};
}

// A number and a number: "13.0".
Result<std::string> readVersion(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(std::string text, reader.string(name));
  const auto isNumber = [](std::string_view part) {
    return !part.empty() && part.size() <= 3 && (part == "0" || part.front() != '0') &&
           part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::string_view view = text;
  const std::size_t dot = view.find('.');
  if (dot == std::string_view::npos || !isNumber(view.substr(0, dot)) || !isNumber(view.substr(dot + 1)))
    return badMember(reader.path(name), "must be two numbers, as in 13.0");
  return text;
}

// What an object file can hold and a driver looks up.
bool isKernelName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && (name.front() < '0' || name.front() > '9') &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

Result<DeviceImageInfo> readDevice(const Json& json, const CompileSpec& spec, const std::string& place,
                                   PathSet& paths) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  DeviceImageInfo device;
  KILN_ASSIGN(device.target, reader.string("target"));
  KILN_ASSIGN(device.arch, reader.string("arch"));
  const std::vector<std::string> targets = targetNames(spec.target);
  if (std::ranges::find(targets, device.target) == targets.end())
    return badMember(reader.path("target"), "is none of the spec's");
  const bool vulkan = isVulkan(device.target);
  if (device.target != (vulkan ? "vulkan:" : "cuda:") + device.arch)
    return badMember(reader.path("arch"), "is not that of the target");
  KILN_ASSIGN(ObjectReader image, reader.object("image"));
  KILN_ASSIGN(device.image, readFile(std::move(image), vulkan ? kSpirvMediaType : kCubinMediaType, paths));
  KILN_ASSIGN(device.kernels, reader.strings("kernels"));
  if (device.kernels.size() > kMaxKernels) return badMember(reader.path("kernels"), "too many kernels");
  std::set<std::string_view> names;
  for (const std::string& kernel : device.kernels)
    if (!isKernelName(kernel) || !names.insert(kernel).second)
      return badMember(reader.path("kernels"), "must be names of letters, digits and _, each once");
  KILN_ASSIGN(device.driver, readVersion(reader, "driver"));
  KILN_ASSIGN(device.computeCapability, readVersion(reader, "computeCapability"));
  KILN_ASSIGN(device.exact, reader.boolean("exact"));
  KILN_TRY(reader.finish());
  return device;
}

Status readDevices(ObjectReader& program, Manifest& manifest, PathSet& paths) {
  KILN_ASSIGN(const Json* list, program.array("devices"));
  if (list->empty() || list->size() > kMaxDevices)
    return badMember(program.path("devices"), "must hold 1 to 16 devices");
  std::set<std::string> targets;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string place = at(program.path("devices"), i);
    KILN_ASSIGN(DeviceImageInfo device, readDevice((*list)[i], manifest.spec, place, paths));
    if (!targets.insert(device.target).second)
      return badMember(place + ".target", "a second device of this target");
    manifest.devices.push_back(std::move(device));
  }
  for (std::size_t i = 0; i < manifest.profiles.size(); ++i)
    if (manifest.profiles[i].deviceArenaBytes.size() != manifest.devices.size())
      return badMember(at(program.path("profiles"), i) + ".deviceArenaBytes",
                       "must have one number per device");
  return {};
}

Status readFiles(ObjectReader& program, bool withDevices, Manifest& manifest) {
  PathSet paths;
  KILN_ASSIGN(ObjectReader file, program.object("file"));
  KILN_ASSIGN(manifest.program, readFile(std::move(file), kProgramMediaType, paths));
  if (withDevices) KILN_TRY(readDevices(program, manifest, paths));
  KILN_ASSIGN(const Json* weights, program.array("weights"));
  if (weights->size() > kMaxWeights) return badMember(program.path("weights"), "too many weight files");
  for (std::size_t i = 0; i < weights->size(); ++i) {
    KILN_ASSIGN(ObjectReader reader, ObjectReader::open((*weights)[i], at(program.path("weights"), i)));
    if (withDevices) {
      KILN_ASSIGN(const std::int64_t space,
                  reader.integer("space", 0, static_cast<std::int64_t>(manifest.devices.size())));
      manifest.weightSpaces.push_back(static_cast<std::uint32_t>(space));
    }
    KILN_ASSIGN(ArtifactFile weight, readFile(std::move(reader), kWeightsMediaType, paths));
    manifest.weights.push_back(std::move(weight));
  }
  return {};
}

Status readStrings(ObjectReader& program, Manifest& manifest) {
  if (!program.has("strings")) return {};
  KILN_ASSIGN(manifest.strings, program.strings("strings"));
  const std::string place = program.path("strings");
  const auto& strings = manifest.strings;
  if (strings.empty()) return badMember(place, "must be left out where there are none");
  if (strings.size() > kMaxStrings) return badMember(place, "too many texts");
  if (std::ranges::any_of(strings, [](const std::string& text) {
        return text.size() > kMaxStringBytes || text.find('\0') != text.npos;
      }))
    return badMember(place, "must have texts of at most 4096 bytes without a NUL");
  if (std::ranges::adjacent_find(strings, std::greater_equal()) != strings.end())
    return badMember(place, "must be in the order of their bytes, each once");
  return {};
}

Status readIndexChecks(ObjectReader& program, Manifest& manifest) {
  if (!program.has("indexChecks")) return {};
  KILN_ASSIGN(manifest.indexChecks, program.strings("indexChecks"));
  const std::string place = program.path("indexChecks");
  if (manifest.indexChecks.empty()) return badMember(place, "must be left out where there are none");
  if (manifest.indexChecks.size() > kMaxIndexChecks) return badMember(place, "too many nodes");
  const std::set<std::string_view> nodes(manifest.indexChecks.begin(), manifest.indexChecks.end());
  if (nodes.size() != manifest.indexChecks.size()) return badMember(place, "must name each node once");
  return {};
}

Status readProgram(ObjectReader& program, Manifest& manifest) {
  KILN_ASSIGN(std::int64_t abi, program.integer("abi", 1, 0xFFFFFFFF));
  manifest.programAbi = static_cast<std::uint32_t>(abi);
  const bool first = abi == 1;
  // Devices are the whole difference between ABI 2 and 3; a later one may have them.
  const bool withDevices = abi == kDeviceAbi || (abi > kDeviceAbi && program.has("devices"));
  KILN_ASSIGN(manifest.inputs, readTensors(program, "inputs", first));
  KILN_ASSIGN(manifest.outputs, readTensors(program, "outputs", first));
  if (first) {
    ProgramProfile profile{manifest.spec.profiles.empty() ? "" : manifest.spec.profiles[0].name};
    KILN_ASSIGN(profile.arenaBytes, program.unsigned64("arenaBytes"));
    KILN_ASSIGN(profile.scratchBytes, program.unsigned64("scratchBytes"));
    manifest.profiles.push_back(std::move(profile));
  } else {
    KILN_TRY(readSymbols(program, manifest));
    KILN_TRY(readProfiles(program, withDevices, manifest));
    KILN_TRY(readStrings(program, manifest));
    KILN_TRY(readIndexChecks(program, manifest));
  }
  KILN_TRY(readFiles(program, withDevices, manifest));
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

std::vector<ArtifactFile> Manifest::files() const {
  std::vector<ArtifactFile> all{program};
  for (const DeviceImageInfo& device : devices) all.push_back(device.image);
  all.insert(all.end(), weights.begin(), weights.end());
  return all;
}

Json Manifest::toJson() const {
  return {{"apiVersion", "kiln/v1"},
          {"kind", "Manifest"},
          {"spec", spec.toJson()},
          {"program", programJson(*this)},
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

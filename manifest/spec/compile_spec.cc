#include "manifest/spec/compile_spec.h"

#include <algorithm>
#include <functional>
#include <set>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "manifest/spec/path.h"
#include "manifest/spec/profile_name.h"
#include "manifest/spec/target.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxFiles = 4096;
constexpr std::size_t kMaxProfiles = 64;
constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;
constexpr std::size_t kMaxRules = 256;
constexpr std::size_t kMaxNameBytes = 1024;
constexpr std::size_t kMaxSequenceRank = 32;

std::string at(std::string_view place, std::size_t index) {
  return std::string(place) + "[" + std::to_string(index) + "]";
}

Status checkName(const std::string& name, const std::string& place) {
  if (name.empty() || name.size() > kMaxNameBytes) return badMember(place, "must have 1 to 1024 bytes");
  return {};
}

Status checkOneOf(const std::string& value, std::initializer_list<const char*> allowed,
                  const std::string& place) {
  std::string list;
  for (const char* one : allowed) {
    if (value == one) return {};
    list += (list.empty() ? "\"" : ", \"") + std::string(one) + "\"";
  }
  return badMember(place, "must be one of " + list);
}

Json digestJson(const Digest& digest) {
  return {{"digest", digest.text()}, {"size", std::to_string(digest.size)}};
}

Json profilesJson(const std::vector<ShapeProfile>& profiles) {
  Json out = Json::array();
  for (const ShapeProfile& profile : profiles) {
    Json dims = Json::array();
    for (const auto& [name, range] : profile.dims) {
      dims.push_back({{"dim", name}, {"min", range.min}, {"opt", range.opt}, {"max", range.max}});
      if (range.multiple != 1) dims.back()["multiple"] = range.multiple;
    }
    out.push_back({{"name", profile.name}, {"dims", std::move(dims)}});
  }
  return out;
}

Json pinsJson(const Pins& pins) {
  Json out = Json::array();
  for (const auto& [input, values] : pins) {
    Json list = Json::array();
    for (const PinValue& value : values) list.push_back(pinText(value));
    out.push_back({{"input", input}, {"values", std::move(list)}});
  }
  return out;
}

Json sequencesJson(const Composites& sequences) {
  Json out = Json::array();
  for (const auto& [input, composite] : sequences) {
    Json tensors = Json::array();
    for (const auto& shape : composite.tensors) tensors.push_back(shape ? Json(*shape) : Json("declared"));
    out.push_back({{"input", input}, {"present", composite.present}, {"tensors", std::move(tensors)}});
  }
  return out;
}

Json numericsJson(const Numerics& numerics) {
  return {{"contraction", numerics.contraction},
          {"reassociation", numerics.reassociation},
          {"precision", numerics.precision}};
}

Json budgetsJson(const CompileSpec& spec) {
  return {{"artifactBytes", std::to_string(spec.maxArtifactBytes)},
          {"plannedBytes", std::to_string(spec.maxPlannedBytes)}};
}

Json placementsJson(const std::vector<PlacementRule>& rules) {
  Json out = Json::array();
  for (const PlacementRule& rule : rules) out.push_back({{"pattern", rule.pattern}, {"target", rule.target}});
  return out;
}

Json partitionJson(const PartitionRules& rules) {
  return {{"affinities", placementsJson(rules.affinities)},
          {"exclusions", placementsJson(rules.exclusions)},
          {"fallbackOperators", rules.fallbackOperators},
          {"fallbackPermille", rules.fallbackPermille}};
}

bool isOfMultiples(const DimRange& range) {
  return range.min % range.multiple == 0 && range.opt % range.multiple == 0 &&
         range.max % range.multiple == 0;
}

Result<ShapeProfile> readProfile(const Json& json, const std::string& place) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  ShapeProfile profile;
  KILN_ASSIGN(profile.name, reader.string("name"));
  if (const Status usable = checkProfileName(profile.name); !usable)
    return badMember(reader.path("name"), usable.error().message);
  KILN_ASSIGN(const Json* dims, reader.array("dims"));
  std::string previous;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    KILN_ASSIGN(ObjectReader dim, ObjectReader::open((*dims)[i], at(reader.path("dims"), i)));
    KILN_ASSIGN(std::string name, dim.string("dim"));
    KILN_TRY(checkName(name, dim.path("dim")));
    if (i > 0 && name <= previous)
      return badMember(dim.path("dim"), "dimensions must be sorted by name, each once");
    previous = name;
    DimRange range;
    KILN_ASSIGN(range.min, dim.integer("min", -kMaxJsonInteger, kMaxJsonInteger));
    KILN_ASSIGN(range.opt, dim.integer("opt", range.min, kMaxJsonInteger));
    KILN_ASSIGN(range.max, dim.integer("max", range.opt, kMaxJsonInteger));
    if (dim.has("multiple")) {
      // 1 is what leaving it out says: one document for one meaning.
      KILN_ASSIGN(range.multiple, dim.integer("multiple", 2, kMaxSize));
      if (!isOfMultiples(range))
        return badMember(dim.path("multiple"), "min, opt and max must be multiples of it");
    }
    KILN_TRY(dim.finish());
    profile.dims.emplace(std::move(name), range);
  }
  KILN_TRY(reader.finish());
  return profile;
}

Status readProfiles(ObjectReader& reader, CompileSpec& spec) {
  KILN_ASSIGN(const Json* profiles, reader.array("profiles"));
  if (profiles->empty() || profiles->size() > kMaxProfiles)
    return badMember(reader.path("profiles"), "must hold 1 to " + std::to_string(kMaxProfiles) + " profiles");
  std::set<std::string> names;
  spec.profiles.clear();
  for (std::size_t i = 0; i < profiles->size(); ++i) {
    std::string place = at(reader.path("profiles"), i);
    KILN_ASSIGN(ShapeProfile profile, readProfile((*profiles)[i], place));
    if (!names.insert(profile.name).second)
      return badMember(place + ".name", "a second profile of this name");
    spec.profiles.push_back(std::move(profile));
  }
  return {};
}

Status readPins(ObjectReader& reader, CompileSpec& spec) {
  KILN_ASSIGN(const Json* pins, reader.array("pins"));
  spec.pins.clear();
  std::string previous;
  for (std::size_t i = 0; i < pins->size(); ++i) {
    KILN_ASSIGN(ObjectReader pin, ObjectReader::open((*pins)[i], at(reader.path("pins"), i)));
    KILN_ASSIGN(std::string input, pin.string("input"));
    KILN_TRY(checkName(input, pin.path("input")));
    if (i > 0 && input <= previous)
      return badMember(pin.path("input"), "pins must be sorted by input, each once");
    previous = input;
    KILN_ASSIGN(std::vector<std::string> texts, pin.strings("values"));
    std::vector<PinValue> values;
    for (const std::string& text : texts) {
      auto value = parsePin(text);
      if (!value || pinText(*value) != text)
        return badMember(pin.path("values"), "must be decimal numbers as strings, each in its shortest form");
      values.push_back(*value);
    }
    KILN_TRY(pin.finish());
    spec.pins.emplace(std::move(input), std::move(values));
  }
  return {};
}

Result<std::optional<std::vector<std::int64_t>>> readSequenceShape(const Json& json,
                                                                   const std::string& place) {
  std::optional<std::vector<std::int64_t>> none;
  if (json == "declared") return none;
  if (!json.is_array() || json.size() > kMaxSequenceRank)
    return badMember(place, "must be \"declared\" or a list of dimensions");
  std::vector<std::int64_t> shape;
  for (const Json& dim : json) {
    if (!dim.is_number_integer() || dim < 0 || dim > kMaxJsonInteger)
      return badMember(place, "must hold integers of 0 or more");
    shape.push_back(dim.get<std::int64_t>());
  }
  return std::optional(std::move(shape));
}

Status readSequences(ObjectReader& reader, CompileSpec& spec) {
  KILN_ASSIGN(const Json* sequences, reader.array("sequences"));
  if (sequences->empty()) return badMember(reader.path("sequences"), "must be left out where it is empty");
  spec.sequences.clear();
  std::string previous;
  for (std::size_t i = 0; i < sequences->size(); ++i) {
    KILN_ASSIGN(ObjectReader entry, ObjectReader::open((*sequences)[i], at(reader.path("sequences"), i)));
    KILN_ASSIGN(std::string input, entry.string("input"));
    KILN_TRY(checkName(input, entry.path("input")));
    if (i > 0 && input <= previous)
      return badMember(entry.path("input"), "sequences must be sorted by input, each once");
    previous = input;
    Composite composite;
    KILN_ASSIGN(composite.present, entry.boolean("present"));
    KILN_ASSIGN(const Json* tensors, entry.array("tensors"));
    if (tensors->size() > kMaxCompositeTensors || (!composite.present && !tensors->empty()))
      return badMember(entry.path("tensors"), "must hold at most " + std::to_string(kMaxCompositeTensors) +
                                                  " tensors, none of an input that is absent");
    for (const Json& tensor : *tensors) {
      KILN_ASSIGN(auto shape, readSequenceShape(tensor, entry.path("tensors")));
      composite.tensors.push_back(std::move(shape));
    }
    KILN_TRY(entry.finish());
    spec.sequences.emplace(std::move(input), std::move(composite));
  }
  return {};
}

Status readParameters(ObjectReader& reader, CompileSpec& spec) {
  KILN_ASSIGN(spec.parameters, reader.strings("parameters"));
  const auto& paths = spec.parameters;
  if (paths.empty() || paths.size() > kMaxFiles)
    return badMember(reader.path("parameters"), "must hold 1 to " + std::to_string(kMaxFiles) +
                                                    " paths, and be left out where there are none");
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string place = at(reader.path("parameters"), i);
    if (auto safe = checkRelativePath(paths[i]); !safe) return badMember(place, safe.error().message);
    if (std::ranges::find(paths.begin(), paths.begin() + static_cast<std::ptrdiff_t>(i), paths[i]) !=
        paths.begin() + static_cast<std::ptrdiff_t>(i))
      return badMember(place, "is there twice");
  }
  return {};
}

Status readNumerics(ObjectReader& reader, CompileSpec& spec) {
  KILN_ASSIGN(ObjectReader numerics, reader.object("numerics"));
  KILN_ASSIGN(spec.numerics.contraction, numerics.string("contraction"));
  KILN_TRY(checkOneOf(spec.numerics.contraction, {"on", "off"}, numerics.path("contraction")));
  KILN_ASSIGN(spec.numerics.reassociation, numerics.string("reassociation"));
  KILN_TRY(checkOneOf(spec.numerics.reassociation, {"on", "off", "deterministic"},
                      numerics.path("reassociation")));
  KILN_ASSIGN(spec.numerics.precision, numerics.string("precision"));
  KILN_TRY(checkOneOf(spec.numerics.precision, {"f32", "tf32", "bf16", "f16", "int8"},
                      numerics.path("precision")));
  return numerics.finish();
}

Status readBudgets(ObjectReader& reader, CompileSpec& spec) {
  KILN_ASSIGN(ObjectReader budgets, reader.object("budgets"));
  KILN_ASSIGN(spec.maxArtifactBytes, budgets.unsigned64("artifactBytes"));
  KILN_ASSIGN(spec.maxPlannedBytes, budgets.unsigned64("plannedBytes"));
  return budgets.finish();
}

Result<std::vector<PlacementRule>> readPlacements(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(const Json* rules, reader.array(name));
  if (rules->size() > kMaxRules)
    return badMember(reader.path(name), "must hold at most " + std::to_string(kMaxRules) + " rules");
  std::vector<PlacementRule> out;
  for (std::size_t i = 0; i < rules->size(); ++i) {
    KILN_ASSIGN(ObjectReader entry, ObjectReader::open((*rules)[i], at(reader.path(name), i)));
    PlacementRule rule;
    KILN_ASSIGN(rule.pattern, entry.string("pattern"));
    KILN_TRY(checkName(rule.pattern, entry.path("pattern")));
    KILN_ASSIGN(rule.target, entry.string("target"));
    KILN_TRY(checkName(rule.target, entry.path("target")));
    KILN_TRY(entry.finish());
    out.push_back(std::move(rule));
  }
  return out;
}

Status readPartition(ObjectReader& reader, CompileSpec& spec) {
  KILN_ASSIGN(ObjectReader rules, reader.object("partition"));
  KILN_ASSIGN(spec.partition.affinities, readPlacements(rules, "affinities"));
  KILN_ASSIGN(spec.partition.exclusions, readPlacements(rules, "exclusions"));
  KILN_ASSIGN(spec.partition.fallbackOperators, rules.strings("fallbackOperators"));
  const auto& operators = spec.partition.fallbackOperators;
  if (operators.size() > kMaxRules ||
      std::ranges::adjacent_find(operators, std::ranges::greater_equal()) != operators.end())
    return badMember(rules.path("fallbackOperators"),
                     "must be sorted, each operator once, at most " + std::to_string(kMaxRules) + " of them");
  KILN_ASSIGN(spec.partition.fallbackPermille, rules.integer("fallbackPermille", 0, 1000));
  if (spec.partition == PartitionRules{})
    return badMember(reader.path("partition"), "must be left out where it says nothing");
  return rules.finish();
}

Status readSubmitted(ObjectReader& reader, std::string_view name, CompileSpec& spec) {
  if (name == "profiles") return readProfiles(reader, spec);
  if (name == "pins") return readPins(reader, spec);
  if (name == "sequences") return readSequences(reader, spec);
  if (name == "parameters") return readParameters(reader, spec);
  if (name == "numerics") return readNumerics(reader, spec);
  if (name == "budgets") return readBudgets(reader, spec);
  if (name == "partition") return readPartition(reader, spec);
  if (name == "outOfProfile") {
    KILN_ASSIGN(spec.outOfProfile, reader.string(name));
    return checkOneOf(spec.outOfProfile, {"fail", "pad", "request"}, reader.path(name));
  }
  KILN_ASSIGN(spec.fallback, reader.string("fallback"));
  return checkOneOf(spec.fallback, {"fail", "cpu"}, reader.path("fallback"));
}

constexpr std::string_view kSubmitted[] = {"profiles", "outOfProfile", "pins",       "numerics", "fallback",
                                           "budgets",  "sequences",    "parameters", "partition"};
// Members that are left out where they say nothing, as they were before there were such members.
bool mayBeAbsent(std::string_view name) {
  return name == "sequences" || name == "parameters" || name == "partition";
}

Status readFiles(ObjectReader& reader, CompileSpec& spec) {
  KILN_ASSIGN(const Json* files, reader.array("files"));
  if (files->empty() || files->size() > kMaxFiles)
    return badMember(reader.path("files"), "must hold 1 to " + std::to_string(kMaxFiles) + " files");
  for (std::size_t i = 0; i < files->size(); ++i) {
    KILN_ASSIGN(ObjectReader entry, ObjectReader::open((*files)[i], at(reader.path("files"), i)));
    ModelFile file;
    KILN_ASSIGN(file.path, entry.string("path"));
    if (auto safe = checkRelativePath(file.path); !safe)
      return badMember(entry.path("path"), safe.error().message);
    KILN_ASSIGN(file.digest, entry.digest());
    KILN_TRY(entry.finish());
    if (i == 0 && !isModelFileName(file.path))
      return badMember(entry.path("path"), "the first file is the model, \"model.onnx\" or \"model.mlir\"");
    if (i > 0 && (isModelFileName(file.path) || file.path == "spec.json"))
      return badMember(entry.path("path"), "this name is taken by the action's own files");
    if (i > 1 && file.path <= spec.files.back().path)
      return badMember(entry.path("path"), "external data files must be sorted by path, each once");
    spec.files.push_back(std::move(file));
  }
  return {};
}

Status readTarget(ObjectReader& reader, CompileSpec& spec) {
  KILN_ASSIGN(ObjectReader target, reader.object("target"));
  KILN_ASSIGN(spec.target, target.string("name"));
  auto known =
      parseTarget(spec.target);  // a target of another release is fine here, a meaningless one is not
  if (!known && known.error().code == Code::kInvalidArgument)
    return badMember(target.path("name"), known.error().message);
  KILN_ASSIGN(spec.features, target.strings("features"));
  for (std::size_t i = 0; i < spec.features.size(); ++i) {
    const std::string& feature = spec.features[i];
    if (feature.size() < 2 || feature.size() > 64 || feature[0] != '+')
      return badMember(at(target.path("features"), i), "must be \"+\" and a feature name");
    if (i > 0 && feature <= spec.features[i - 1])
      return badMember(at(target.path("features"), i), "features must be sorted, each once");
  }
  return target.finish();
}

}  // namespace

bool isModelFileName(std::string_view path) {
  return path == "model.onnx" || path == "model.mlir";
}

Json submittedToJson(const CompileSpec& spec) {
  Json out = {{"profiles", profilesJson(spec.profiles)},
              {"outOfProfile", spec.outOfProfile},
              {"pins", pinsJson(spec.pins)},
              {"numerics", numericsJson(spec.numerics)},
              {"fallback", spec.fallback},
              {"budgets", budgetsJson(spec)}};
  if (!spec.sequences.empty()) out["sequences"] = sequencesJson(spec.sequences);
  if (!spec.parameters.empty()) out["parameters"] = spec.parameters;
  if (spec.partition != PartitionRules{}) out["partition"] = partitionJson(spec.partition);
  return out;
}

Status applySubmitted(const Json& submitted, CompileSpec& spec) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(submitted, "options"));
  for (std::string_view name : kSubmitted)
    if (reader.has(name)) KILN_TRY(readSubmitted(reader, name, spec));
  for (const ShapeProfile& profile : spec.profiles)
    for (const auto& [dim, range] : profile.dims)
      if (auto fits = checkRange(dim, range); !fits)
        return fail(fits.error().in("profile " + inQuotes(profile.name)));
  return reader.finish();
}

std::string parameterPath(std::size_t index, std::string_view name) {
  std::string path = "params/" + std::to_string(index);
  if (!name.empty()) path += "/" + std::string(name);
  return path;
}

Status checkParameterFiles(const CompileSpec& spec) {
  std::set<std::string_view> files;
  for (std::size_t i = 1; i < spec.files.size(); ++i) files.insert(spec.files[i].path);
  for (std::size_t i = 0; i < spec.parameters.size(); ++i)
    if (!files.contains(spec.parameters[i]))
      return badMember(at("spec.parameters", i), "is no file beside the model");
  return {};
}

Status checkRange(const std::string& dim, const DimRange& range) {
  constexpr std::int64_t kMost = kMaxSize;
  if (range.multiple < 1 || range.multiple > kMost || !isOfMultiples(range)) {
    return fail(Code::kInvalidArgument, "dimension " + inQuotes(dim) + " is " + std::to_string(range.min) +
                                            ":" + std::to_string(range.opt) + ":" +
                                            std::to_string(range.max) + ", which are not all multiples of " +
                                            std::to_string(range.multiple));
  }
  if (dim.ends_with(']')) return {};  // of an element's value, or told apart by whoever has the model
  const bool isOne = range.min == range.max;
  if (range.min >= (isOne ? 0 : 1) && range.max <= kMost) return {};
  return fail(Code::kInvalidArgument, "dimension " + inQuotes(dim) + " is " + std::to_string(range.min) +
                                          ":" + std::to_string(range.opt) + ":" + std::to_string(range.max) +
                                          "; " + (isOne ? "a fixed size is 0 to " : "a range takes 1 to ") +
                                          std::to_string(kMost));
}

Json CompileSpec::toJson() const {
  Json list = Json::array();
  for (const ModelFile& file : files) {
    Json entry = digestJson(file.digest);
    entry["path"] = file.path;
    list.push_back(std::move(entry));
  }
  Json out = submittedToJson(*this);
  out["apiVersion"] = "kiln/v1";
  out["kind"] = "CompileSpec";
  out["files"] = std::move(list);
  out["toolchain"] = digestJson(toolchainDigest);
  out["target"] = {{"name", target}, {"features", features}};
  if (tuning) out["tuning"] = digestJson(*tuning);
  return out;
}

Result<CompileSpec> CompileSpec::fromJson(const Json& json) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "spec"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "CompileSpec"));
  CompileSpec spec;
  KILN_TRY(readFiles(reader, spec));
  KILN_ASSIGN(ObjectReader toolchain, reader.object("toolchain"));
  KILN_ASSIGN(spec.toolchainDigest, toolchain.digest());
  KILN_TRY(toolchain.finish());
  KILN_TRY(readTarget(reader, spec));
  for (std::string_view name : kSubmitted)
    if (!mayBeAbsent(name) || reader.has(name)) KILN_TRY(readSubmitted(reader, name, spec));
  KILN_TRY(checkParameterFiles(spec));
  if (reader.has("tuning")) {
    KILN_ASSIGN(ObjectReader tuning, reader.object("tuning"));
    KILN_ASSIGN(spec.tuning, tuning.digest());
    KILN_TRY(tuning.finish());
  }
  KILN_TRY(reader.finish());
  return spec;
}

}  // namespace kiln

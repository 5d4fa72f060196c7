#include "signing/policy/policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "manifest/json/reader.h"
#include "manifest/statement/input_statement.h"
#include "manifest/statement/vsa.h"
#include "signing/keys/files.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxPolicyBytes = 1u << 20;
constexpr std::int64_t kMaxSeconds = std::int64_t{100} * 366 * 86400;

Result<std::vector<std::string>> readList(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(std::vector<std::string> list, reader.strings(name));
  if (list.empty()) return badMember(reader.path(name), "must name what is accepted, or \"*\"");
  return list;
}

Result<std::vector<std::string>> readOptionalList(ObjectReader& reader, std::string_view name) {
  if (!reader.has(name)) return std::vector<std::string>();
  return readList(reader, name);
}

Result<std::optional<std::int64_t>> readSeconds(ObjectReader& reader, std::string_view name) {
  if (!reader.has(name)) return std::optional<std::int64_t>();
  KILN_ASSIGN(const std::int64_t value, reader.integer(name, 1, kMaxSeconds));
  return std::optional(value);
}

Result<std::optional<double>> readDecimal(ObjectReader& reader, std::string_view name) {
  if (!reader.has(name)) return std::optional<double>();
  KILN_ASSIGN(const double value, reader.decimal(name));
  return std::optional(value);
}

Result<bool> readFlag(ObjectReader& reader, std::string_view name) {
  return reader.has(name) ? reader.boolean(name) : false;
}

Result<WantedCheck> readCheck(const Json& json, const std::string& place) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  WantedCheck check;
  KILN_ASSIGN(check.kind, reader.string("kind"));
  if (check.kind.empty()) return badMember(reader.path("kind"), "must not be empty");
  if (reader.has("name")) {
    KILN_ASSIGN(check.name, reader.string("name"));
  }
  KILN_ASSIGN(check.maxAbsolute, readDecimal(reader, "maxAbsolute"));
  KILN_ASSIGN(check.maxRelative, readDecimal(reader, "maxRelative"));
  KILN_ASSIGN(check.minAccuracy, readDecimal(reader, "minAccuracy"));
  KILN_TRY(reader.finish());
  return check;
}

Result<WantedInput> readInput(ObjectReader reader) {
  WantedInput out;
  KILN_ASSIGN(out.predicateTypes, readOptionalList(reader, "predicateTypes"));
  KILN_ASSIGN(out.identities, readOptionalList(reader, "identities"));
  KILN_ASSIGN(out.issuers, readOptionalList(reader, "issuers"));
  KILN_ASSIGN(out.roots, readOptionalList(reader, "roots"));
  KILN_ASSIGN(out.keyIds, readOptionalList(reader, "keyIds"));
  KILN_TRY(reader.finish());
  if (!out.identities.empty() && out.issuers.empty() && out.roots.empty())
    return badMember(reader.path("identities"),
                     "needs issuers or roots: a name is whose somebody says it is");
  for (const std::string& one : out.roots)
    if (!one.starts_with("sha256:") || !Digest::parse(one, 0))
      return badMember(reader.path("roots"), "must hold \"sha256:\" digests of certificates");
  return out;
}

Result<WantedStatement> readStatement(const Json& json, const std::string& place) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  WantedStatement wanted;
  KILN_ASSIGN(wanted.predicateType, reader.string("predicateType"));
  KILN_ASSIGN(wanted.authors, readList(reader, "authors"));
  // Every instance of a farm signs as the same author: only the policy tells their verdicts apart.
  if (wanted.predicateType == kVsaType) {
    KILN_ASSIGN(wanted.policies, readList(reader, "policies"));
  }
  if (wanted.predicateType == kInputStatementType && reader.has("input")) {
    KILN_ASSIGN(ObjectReader input, reader.object("input"));
    KILN_ASSIGN(wanted.input, readInput(std::move(input)));
  }
  for (const std::string& one : wanted.policies)
    if (!one.starts_with("sha256:") || !Digest::parse(one, 0))
      return badMember(reader.path("policies"), "must hold \"sha256:\" digests of policies");
  KILN_TRY(reader.finish());
  return wanted;
}

template <class T>
Result<std::vector<T>> readObjects(ObjectReader& reader, std::string_view name,
                                   Result<T> (*read)(const Json&, const std::string&)) {
  std::vector<T> out;
  if (!reader.has(name)) return out;
  KILN_ASSIGN(const Json* list, reader.array(name));
  for (const Json& element : *list) {
    KILN_ASSIGN(T one, read(element, reader.path(name) + "[" + std::to_string(out.size()) + "]"));
    out.push_back(std::move(one));
  }
  return out;
}

Status readArtifactRules(ObjectReader& reader, Policy& policy) {
  KILN_ASSIGN(policy.signers, readOptionalList(reader, "signers"));
  if (reader.has("minToolchainVersion")) {
    KILN_ASSIGN(policy.minToolchainVersion, reader.string("minToolchainVersion"));
    if (!parseVersion(policy.minToolchainVersion))
      return badMember(reader.path("minToolchainVersion"), "must be a version such as \"0.2.0\"");
  }
  if (reader.has("maxFallbackPermille")) {
    KILN_ASSIGN(const std::int64_t most, reader.integer("maxFallbackPermille", 0, 1000));
    policy.maxFallbackPermille = static_cast<int>(most);
  }
  KILN_ASSIGN(policy.partitionTargets, readOptionalList(reader, "partitionTargets"));
  return {};
}

Status readCheckDevices(ObjectReader& reader, Policy& policy) {
  KILN_ASSIGN(const auto names, readOptionalList(reader, "checkDevices"));
  for (const std::string& name : names) {
    const auto on = parseCheckedOn(name);
    if (!on)
      return badMember(reader.path("checkDevices"), "must hold \"hardware\", \"software\" or \"emulated\"");
    if (*on == CheckedOn::kEmulated && policy.refuseEmulated)
      return badMember(reader.path("checkDevices"), "names emulated devices, which refuseEmulated refuses");
    policy.checkDevices.push_back(*on);
  }
  std::ranges::sort(policy.checkDevices);
  if (std::ranges::adjacent_find(policy.checkDevices) != policy.checkDevices.end())
    return badMember(reader.path("checkDevices"), "names one twice");
  return {};
}

Status readEvidenceRules(ObjectReader& reader, Policy& policy) {
  KILN_ASSIGN(policy.requireCheck, readFlag(reader, "requireCheck"));
  KILN_ASSIGN(policy.checks, readObjects<WantedCheck>(reader, "checks", readCheck));
  if (!policy.checks.empty() && !policy.requireCheck)
    return badMember(reader.path("checks"), "says what a check must hold, so requireCheck must be true");
  KILN_ASSIGN(policy.refuseEmulated, readFlag(reader, "refuseEmulated"));
  KILN_TRY(readCheckDevices(reader, policy));
  KILN_ASSIGN(policy.statements, readObjects<WantedStatement>(reader, "statements", readStatement));
  KILN_ASSIGN(policy.requireLog, readFlag(reader, "requireLog"));
  if (reader.has("minWitnesses")) {
    KILN_ASSIGN(const std::int64_t least, reader.integer("minWitnesses", 0, 16));
    policy.minWitnesses = static_cast<int>(least);
    if (least > 0 && !policy.requireLog)
      return badMember(reader.path("minWitnesses"), "witnesses see a log, so requireLog must be true");
  }
  KILN_ASSIGN(policy.maxAgeSeconds, readSeconds(reader, "maxAgeSeconds"));
  KILN_ASSIGN(policy.maxRecallAgeSeconds, readSeconds(reader, "maxRecallAgeSeconds"));
  return {};
}

Json inputJson(const WantedInput& input) {
  Json out = Json::object();
  const auto add = [&](const char* name, const std::vector<std::string>& values) {
    if (!values.empty()) out[name] = values;
  };
  add("predicateTypes", input.predicateTypes);
  add("identities", input.identities);
  add("issuers", input.issuers);
  add("roots", input.roots);
  add("keyIds", input.keyIds);
  return out;
}

Json checkJson(const WantedCheck& check) {
  Json out{{"kind", check.kind}};
  if (!check.name.empty()) out["name"] = check.name;
  if (check.maxAbsolute) out["maxAbsolute"] = fmt::format("{}", *check.maxAbsolute);
  if (check.maxRelative) out["maxRelative"] = fmt::format("{}", *check.maxRelative);
  if (check.minAccuracy) out["minAccuracy"] = fmt::format("{}", *check.minAccuracy);
  return out;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> parseVersion(std::string_view text) {
  std::vector<std::uint32_t> out;
  while (out.size() < 4) {
    const std::size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    const auto number = parseDecimal(part);
    if (!number || *number > UINT32_MAX) return std::nullopt;
    out.push_back(static_cast<std::uint32_t>(*number));
    if (dot == std::string_view::npos) return out;
    text.remove_prefix(dot + 1);
  }
  return std::nullopt;
}

bool Policy::counts(CheckedOn on) const {
  if (!checkDevices.empty()) return std::ranges::find(checkDevices, on) != checkDevices.end();
  return !refuseEmulated || on == CheckedOn::kHardware;
}

Json Policy::toJson() const {
  Json json{{"apiVersion", "kiln/v1"},
            {"kind", "Policy"},
            {"name", name},
            {"allowDevelopment", allowDevelopment},
            {"builderIds", builderIds},
            {"minBuilders", minBuilders},
            {"minOperators", minOperators},
            {"targets", targets},
            {"toolchains", toolchains}};
  if (minOwnSandbox != 1) json["minOwnSandbox"] = minOwnSandbox;
  if (requireCheck) json["requireCheck"] = true;
  if (!signers.empty()) json["signers"] = signers;
  if (!minToolchainVersion.empty()) json["minToolchainVersion"] = minToolchainVersion;
  if (maxFallbackPermille) json["maxFallbackPermille"] = *maxFallbackPermille;
  if (!partitionTargets.empty()) json["partitionTargets"] = partitionTargets;
  for (const WantedCheck& check : checks) json["checks"].push_back(checkJson(check));
  if (refuseEmulated) json["refuseEmulated"] = true;
  for (const CheckedOn on : checkDevices) json["checkDevices"].push_back(checkedOnText(on));
  for (const WantedStatement& one : statements) {
    Json wanted{{"predicateType", one.predicateType}, {"authors", one.authors}};
    if (!one.policies.empty()) wanted["policies"] = one.policies;
    if (one.input) wanted["input"] = inputJson(*one.input);
    json["statements"].push_back(std::move(wanted));
  }
  if (requireLog) json["requireLog"] = true;
  if (minWitnesses > 0) json["minWitnesses"] = minWitnesses;
  if (maxAgeSeconds) json["maxAgeSeconds"] = *maxAgeSeconds;
  if (maxRecallAgeSeconds) json["maxRecallAgeSeconds"] = *maxRecallAgeSeconds;
  return json;
}

Result<Policy> Policy::parse(std::string_view text) {
  KILN_ASSIGN(Json json, parseStrictJson(text, {.bytes = kMaxPolicyBytes, .depth = 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "policy"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "Policy"));
  Policy policy;
  KILN_ASSIGN(policy.name, reader.string("name"));
  KILN_ASSIGN(policy.allowDevelopment, reader.boolean("allowDevelopment"));
  KILN_ASSIGN(policy.builderIds, readList(reader, "builderIds"));
  KILN_ASSIGN(std::int64_t builders, reader.integer("minBuilders", 1, 16));
  policy.minBuilders = static_cast<int>(builders);
  KILN_ASSIGN(std::int64_t operators, reader.integer("minOperators", 1, builders));
  policy.minOperators = static_cast<int>(operators);
  if (reader.has("minOwnSandbox")) {
    KILN_ASSIGN(const std::int64_t own, reader.integer("minOwnSandbox", 0, builders));
    policy.minOwnSandbox = static_cast<int>(own);
  }
  KILN_ASSIGN(policy.targets, readList(reader, "targets"));
  KILN_ASSIGN(policy.toolchains, readList(reader, "toolchains"));
  for (const std::string& one : policy.toolchains)
    if (one != "*" && (!one.starts_with("sha256:") || !Digest::parse(one, 0)))
      return badMember(reader.path("toolchains"),
                       "must hold \"sha256:\" digests; a label can be re-pointed, a digest cannot");
  KILN_TRY(readArtifactRules(reader, policy));
  KILN_TRY(readEvidenceRules(reader, policy));
  KILN_TRY(reader.finish());
  return policy;
}

Result<Policy> Policy::load(const std::string& path) {
  KILN_ASSIGN(std::string text, readTrustFile(path, kMaxPolicyBytes));
  auto policy = parse(text);
  if (!policy) return fail(policy.error().in(path));
  return policy;
}

}  // namespace kiln::signing

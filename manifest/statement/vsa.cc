#include "manifest/statement/vsa.h"

#include <algorithm>
#include <set>

#include "manifest/statement/members.h"

namespace kiln {
namespace {

constexpr char kLevel[] = "SLSA_BUILD_LEVEL_";
constexpr char kFailed[] = "FAILED";  // in the place of a level, too
constexpr std::string_view kResource = "urn:kiln:artifact:";
constexpr std::size_t kMaxNames = 1024;

Json hashJson(const Digest& digest) {
  return {{"sha256", digest.hex()}};
}

Result<Digest> readHash(ObjectReader& parent) {
  KILN_ASSIGN(ObjectReader digests, parent.object("digest"));
  KILN_ASSIGN(const std::string hex, digests.string("sha256"));
  auto digest = Digest::parse(hex, 0);
  if (!digest || hex.size() != 64)
    return badMember(digests.path("sha256"), "must be 64 lowercase hex digits");
  KILN_TRY(digests.finish());
  return *digest;
}

Result<std::vector<std::string>> readNames(ObjectReader& reader, std::string_view name, bool some) {
  KILN_ASSIGN(std::vector<std::string> list, reader.strings(name));
  if ((some && list.empty()) || list.size() > kMaxNames ||
      std::set(list.begin(), list.end()).size() != list.size())
    return badMember(reader.path(name),
                     "must hold " + std::string(some ? "1" : "0") + " to 1024 names, each once");
  return list;
}

Status readVerifier(ObjectReader reader, VerificationSummary& out) {
  KILN_ASSIGN(out.verifierId, reader.string("id"));
  if (out.verifierId.empty()) return badMember(reader.path("id"), "must not be empty");
  KILN_ASSIGN(ObjectReader version, reader.object("version"));
  KILN_ASSIGN(out.verifierVersion, version.string("kiln"));
  KILN_TRY(version.finish());
  return reader.finish();
}

Status readPolicy(ObjectReader reader, VerificationSummary& out) {
  KILN_ASSIGN(out.policyUri, reader.string("uri"));
  KILN_ASSIGN(out.policy, readHash(reader));
  return reader.finish();
}

Status readInputs(ObjectReader& reader, VerificationSummary& out) {
  KILN_ASSIGN(const Json* inputs, reader.array("inputAttestations"));
  if (inputs->size() > kMaxNames) return badMember(reader.path("inputAttestations"), "too many entries");
  for (const Json& one : *inputs) {
    KILN_ASSIGN(ObjectReader input, ObjectReader::open(one, reader.path("inputAttestations")));
    KILN_ASSIGN(const Digest digest, readHash(input));
    KILN_TRY(input.finish());
    out.from.push_back(digest);
  }
  return {};
}

Status readLevel(ObjectReader& reader, VerificationSummary& out) {
  KILN_ASSIGN(const std::vector<std::string> levels, reader.strings("verifiedLevels"));
  if (!out.passed())
    return levels == std::vector<std::string>{kFailed}
               ? Status()
               : badMember(reader.path("verifiedLevels"), "must be FAILED where the result is");
  for (int level = 0; level <= 3; ++level)
    if (levels == std::vector<std::string>{kLevel + std::to_string(level)}) {
      out.buildLevel = level;
      return {};
    }
  return badMember(reader.path("verifiedLevels"), "must be one of SLSA_BUILD_LEVEL_0 to 3");
}

Status readResult(ObjectReader& reader, VerificationSummary& out) {
  if (!reader.has(kVsaFailed)) return reader.expect("verificationResult", "PASSED");
  KILN_TRY(reader.expect("verificationResult", kFailed));
  KILN_ASSIGN(out.failed, readNames(reader, kVsaFailed, true));
  if (!std::is_sorted(out.failed.begin(), out.failed.end()))
    return badMember(reader.path(kVsaFailed), "must be sorted");
  return {};
}

Status readAgreement(ObjectReader reader, VerificationSummary& out) {
  KILN_ASSIGN(out.builders, readNames(reader, "builders", out.passed()));
  KILN_ASSIGN(out.operators, readNames(reader, "operators", out.passed()));
  for (const auto& [name, list] :
       {std::pair<const char*, const std::vector<std::string>&>{"reproduced", out.builders},
        {"independently", out.operators}}) {
    KILN_ASSIGN(const bool claimed, reader.boolean(name));
    if (claimed != (list.size() >= 2))
      return badMember(reader.path(name), "is not what the names listed say");
  }
  return reader.finish();
}

}  // namespace

std::string VerificationSummary::resourceUri() const {
  return std::string(kResource) + "sha256:" + artifact.hex();
}

Json VerificationSummary::toJson() const {
  Json inputs = Json::array();
  for (const Digest& one : from) inputs.push_back({{"digest", hashJson(one)}});
  Json out{{"verifier", {{"id", verifierId}, {"version", {{"kiln", verifierVersion}}}}},
           {"timeVerified", rfc3339(timeVerified)},
           {"resourceUri", resourceUri()},
           {"policy", {{"uri", policyUri}, {"digest", hashJson(policy)}}},
           {"inputAttestations", std::move(inputs)},
           {"verificationResult", passed() ? "PASSED" : kFailed},
           {"verifiedLevels", {passed() ? kLevel + std::to_string(buildLevel) : kFailed}},
           {"slsaVersion", "1.0"},
           {kVsaAgreement,
            {{"builders", builders},
             {"operators", operators},
             {"reproduced", builders.size() >= 2},
             {"independently", operators.size() >= 2}}}};
  if (!passed()) out[kVsaFailed] = failed;
  return out;
}

Result<VerificationSummary> VerificationSummary::fromJson(const Json& predicate) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(predicate, "predicate"));
  VerificationSummary out;
  KILN_ASSIGN(ObjectReader verifier, reader.object("verifier"));
  KILN_TRY(readVerifier(std::move(verifier), out));
  KILN_ASSIGN(out.timeVerified, readTimeMember(reader, "timeVerified"));
  KILN_ASSIGN(const std::string resource, reader.string("resourceUri"));
  auto artifact = resource.starts_with(kResource) ? Digest::parse(resource.substr(kResource.size()), 0)
                                                  : fail(Code::kInvalidArgument, "");
  if (!artifact) return badMember(reader.path("resourceUri"), "must be urn:kiln:artifact:sha256:<hex>");
  out.artifact = *artifact;
  KILN_ASSIGN(ObjectReader policy, reader.object("policy"));
  KILN_TRY(readPolicy(std::move(policy), out));
  KILN_TRY(readInputs(reader, out));
  KILN_TRY(readResult(reader, out));
  KILN_TRY(readLevel(reader, out));
  KILN_TRY(reader.expect("slsaVersion", "1.0"));
  KILN_ASSIGN(ObjectReader agreement, reader.object(kVsaAgreement));
  KILN_TRY(readAgreement(std::move(agreement), out));
  KILN_TRY(reader.finish());
  return out;
}

Result<Digest> verdictFacts(const VerificationSummary& summary) {
  Json said = summary.toJson();
  said.erase("timeVerified");
  KILN_ASSIGN(const std::string text, toCanonicalJson(said));
  return Digest{digestOf(text).hash, 0};
}

Result<std::string> verificationStatement(const VerificationSummary& summary) {
  return toCanonicalJson(
      Statement{{{"artifact.json", summary.artifact.hash}}, kVsaType, summary.toJson()}.toJson());
}

}  // namespace kiln

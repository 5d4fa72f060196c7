#include "manifest/statement/toolchain_admission.h"

#include "manifest/base/printable.h"
#include "manifest/statement/members.h"
#include "manifest/toolchain/description.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxInstanceBytes = 64;

}  // namespace

Json ToolchainAdmission::toJson() const {
  Json json{{"issuer", {{"id", builderId}}}, {"label", label}, {"admittedOn", rfc3339(admittedOn)}};
  if (lock) json["lock"] = digestMember(*lock);
  if (instance) json["instance"] = *instance;
  return json;
}

Result<ToolchainAdmission> ToolchainAdmission::fromJson(const Json& predicate) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(predicate, "predicate"));
  ToolchainAdmission out;
  KILN_ASSIGN(ObjectReader issuer, reader.object("issuer"));
  KILN_ASSIGN(out.builderId, issuer.string("id"));
  if (out.builderId.empty()) return badMember(issuer.path("id"), "must not be empty");
  KILN_TRY(issuer.finish());
  KILN_ASSIGN(out.label, reader.string("label"));
  if (auto fits = checkToolchainLabel(out.label); !fits)
    return badMember(reader.path("label"), fits.error().message);
  if (reader.has("lock")) {
    KILN_ASSIGN(out.lock, readDigestMember(reader, "lock"));
  }
  KILN_ASSIGN(out.admittedOn, readTimeMember(reader, "admittedOn"));
  if (reader.has("instance")) {
    KILN_ASSIGN(out.instance, reader.string("instance"));
    if (out.instance->size() > kMaxInstanceBytes || printable(*out.instance) != *out.instance)
      return badMember(reader.path("instance"), "must be the name of an instance");
  }
  KILN_TRY(reader.finish());
  return out;
}

Result<std::string> admissionStatement(const Digest& toolchainDigest, const ToolchainAdmission& admission) {
  KILN_TRY(
      ToolchainAdmission::fromJson(admission.toJson()));  // nothing is written that a reader would refuse
  return toCanonicalJson(
      Statement{{{"toolchain", toolchainDigest.hash}}, kToolchainType, admission.toJson()}.toJson());
}

}  // namespace kiln

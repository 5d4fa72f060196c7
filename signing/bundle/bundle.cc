#include "signing/bundle/bundle.h"

#include <algorithm>
#include <array>

#include "manifest/artifact/bundle_limit.h"
#include "manifest/json/reader.h"

namespace kiln::signing {
namespace {

// A bundle is a few long strings: base64, and notes of a log. What has many values is none, and takes many
// times its size in memory to find that out by reading it.
Status checkValues(std::string_view text) {
  constexpr std::ptrdiff_t kMaxValues = 4096;
  const auto separates = [](char c) { return c == '[' || c == '{' || c == ','; };
  if (std::ranges::count_if(text, separates) <= kMaxValues) return {};
  return fail(Code::kInvalidArgument, "bundle: holds more than " + std::to_string(kMaxValues) + " values");
}

}  // namespace

Result<std::string> makeBundle(const Envelope& envelope, const PublicKey& key,
                               const std::optional<LogEntry>& entry) {
  if (envelope.signatures.size() != 1 || envelope.payloadType != kInTotoPayload)
    return fail(Code::kInvalidArgument, "a bundle holds one signature over an in-toto statement");
  KILN_TRY(verifyEnvelope(envelope, std::array{key}));
  Json material{{"publicKey", {{"hint", key.id()}}}};
  if (entry) material["tlogEntries"] = Json::array({entry->toJson()});
  return toCanonicalJson({{"mediaType", kBundleMediaType},
                          {"verificationMaterial", std::move(material)},
                          {"dsseEnvelope", envelope.toJson()}});
}

Result<Bundle> parseBundle(std::string_view text) {
  KILN_TRY(checkValues(text));
  KILN_ASSIGN(Json json, parseStrictJson(text, {.bytes = kMaxBundleBytes, .depth = 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "bundle"));
  KILN_TRY(reader.expect("mediaType", kBundleMediaType));
  KILN_ASSIGN(ObjectReader material, reader.object("verificationMaterial"));
  KILN_ASSIGN(ObjectReader key, material.object("publicKey"));
  Bundle bundle;
  KILN_ASSIGN(bundle.keyId, key.string("hint"));
  KILN_TRY(key.finish());
  if (material.has("tlogEntries")) {
    KILN_ASSIGN(const Json* entries, material.array("tlogEntries"));
    if (entries->size() > 1) return badMember(material.path("tlogEntries"), "must hold at most one entry");
    if (!entries->empty()) {
      KILN_ASSIGN(bundle.logEntry, readLogEntry((*entries)[0], material.path("tlogEntries[0]")));
    }
  }
  KILN_TRY(material.finish());
  KILN_ASSIGN(const Json* envelope, reader.any("dsseEnvelope"));
  KILN_ASSIGN(bundle.envelope, readEnvelope(*envelope, kInTotoPayload));
  if (bundle.envelope.signatures.size() != 1)
    return badMember("bundle.dsseEnvelope.signatures", "must hold exactly one signature");
  KILN_TRY(reader.finish());
  return bundle;
}

}  // namespace kiln::signing

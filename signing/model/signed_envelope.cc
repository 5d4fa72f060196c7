#include "signing/model/signed_envelope.h"

#include <algorithm>

#include "manifest/json/reader.h"
#include "signing/bundle/bundle.h"

namespace kiln::signing {
namespace {

// A bundle is a few long strings; with many values it is none, and costs much memory to be read.
Status checkValues(std::string_view text) {
  constexpr std::ptrdiff_t kMaxValues = 4096;
  const auto separates = [](char c) { return c == '[' || c == '{' || c == ','; };
  if (std::ranges::count_if(text, separates) <= kMaxValues) return {};
  return fail(Code::kInvalidArgument, "bundle: holds more than " + std::to_string(kMaxValues) + " values");
}

Status checkMaterial(ObjectReader& reader) {
  KILN_ASSIGN(ObjectReader material, reader.object("verificationMaterial"));
  for (const char* other : {"x509CertificateChain", "certificate"})
    if (material.has(other))
      return fail(Code::kUnimplemented,
                  material.path(other) + ": signatures by certificate are not served; have it signed by key");
  return material.object("publicKey").map([](const ObjectReader&) {});
}

// Early signers wrote "keyid": null where others leave it out.
Json withoutKeyIds(Json envelope) {
  const auto signatures = envelope.find("signatures");
  if (signatures == envelope.end() || !signatures->is_array()) return envelope;
  for (Json& signature : *signatures)
    if (signature.is_object()) signature.erase("keyid");
  return envelope;
}

Result<Envelope> parse(std::string_view text, EnvelopeForm form) {
  KILN_TRY(checkValues(text));
  KILN_ASSIGN(const Json json, parseJson(text, {.bytes = kMaxForeignBytes, .depth = 16}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "bundle"));
  if (form == EnvelopeForm::kBundleOrBare && reader.has("payloadType"))
    return readEnvelope(withoutKeyIds(json), kInTotoPayload);
  KILN_TRY(reader.expect("mediaType", kBundleMediaType));
  KILN_TRY(checkMaterial(reader));
  KILN_TRY(reader.object("dsseEnvelope"));
  KILN_ASSIGN(const Json* envelope, reader.any("dsseEnvelope"));
  return readEnvelope(withoutKeyIds(*envelope), kInTotoPayload);
}

}  // namespace

Result<SignedEnvelope> openSignedEnvelope(std::string_view text, std::span<const ModelKey> keys,
                                          EnvelopeForm form) {
  KILN_ASSIGN(Envelope envelope, parse(text, form));
  if (envelope.signatures.size() != 1)
    return badMember("envelope.signatures", "must hold exactly one signature");
  const std::string message = preAuthenticationEncoding(envelope.payloadType, envelope.payload);
  const auto signer = std::ranges::find_if(keys, [&](const ModelKey& key) {
    return key.verifies(asBytes(message), asBytes(envelope.signatures[0]));
  });
  if (signer == keys.end())
    return fail(Code::kDataLoss, keys.size() == 1 ? "it was not signed by the key that is named"
                                                  : "it was signed by none of the keys that are named");
  return SignedEnvelope{std::move(envelope), signer->id(), signer->pem()};
}

}  // namespace kiln::signing

#include "signing/dsse/dsse.h"

#include <algorithm>

#include "manifest/json/reader.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxSignatures = 16;
constexpr std::size_t kMaxEnvelopeBytes = 8u << 20;

Result<std::string> readBase64(const std::string& text, const std::string& place) {
  auto bytes = fromBase64(text);
  if (!bytes) return badMember(place, "must be base64 with padding");
  return *bytes;
}

}  // namespace

Json Envelope::toJson() const {
  Json list = Json::array();
  for (const std::string& signature : signatures) list.push_back({{"sig", toBase64(asBytes(signature))}});
  return {
      {"payloadType", payloadType}, {"payload", toBase64(asBytes(payload))}, {"signatures", std::move(list)}};
}

std::string preAuthenticationEncoding(std::string_view payloadType, std::string_view payload) {
  std::string out = "DSSEv1 " + std::to_string(payloadType.size()) + " ";
  out.append(payloadType).append(" ").append(std::to_string(payload.size())).append(" ").append(payload);
  return out;
}

Result<Envelope> signEnvelope(std::string_view payloadType, std::string_view payload, const PrivateKey& key) {
  KILN_ASSIGN(std::string signature, key.sign(asBytes(preAuthenticationEncoding(payloadType, payload))));
  return Envelope{std::string(payloadType), std::string(payload), {std::move(signature)}};
}

Result<Envelope> readEnvelope(const Json& json, std::string_view payloadType) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "envelope"));
  Envelope envelope;
  KILN_TRY(reader.expect("payloadType", payloadType));
  envelope.payloadType = payloadType;
  KILN_ASSIGN(std::string payload, reader.string("payload"));
  KILN_ASSIGN(envelope.payload, readBase64(payload, "envelope.payload"));
  KILN_ASSIGN(const Json* signatures, reader.array("signatures"));
  if (signatures->empty() || signatures->size() > kMaxSignatures)
    return badMember("envelope.signatures", "must hold 1 to 16 signatures");
  for (const Json& element : *signatures) {
    std::string place = "envelope.signatures[" + std::to_string(envelope.signatures.size()) + "]";
    KILN_ASSIGN(ObjectReader entry, ObjectReader::open(element, place));
    if (entry.has("keyid")) KILN_TRY(entry.string("keyid"));
    KILN_ASSIGN(std::string text, entry.string("sig"));
    KILN_ASSIGN(std::string signature, readBase64(text, entry.path("sig")));
    KILN_TRY(entry.finish());
    envelope.signatures.push_back(std::move(signature));
  }
  KILN_TRY(reader.finish());
  return envelope;
}

Result<Envelope> parseEnvelope(std::string_view text, std::string_view payloadType) {
  KILN_ASSIGN(Json json, parseStrictJson(text, {.bytes = kMaxEnvelopeBytes, .depth = 8}));
  return readEnvelope(json, payloadType);
}

Result<std::vector<std::string>> verifyEnvelope(const Envelope& envelope, std::span<const PublicKey> keys,
                                                std::size_t threshold) {
  std::string message = preAuthenticationEncoding(envelope.payloadType, envelope.payload);
  std::vector<std::string> signers;
  for (const PublicKey& key : keys) {
    std::string id = key.id();
    if (std::find(signers.begin(), signers.end(), id) != signers.end()) continue;
    bool made = std::any_of(envelope.signatures.begin(), envelope.signatures.end(),
                            [&](const std::string& signature) {
                              return key.verify(asBytes(message), asBytes(signature)).has_value();
                            });
    if (made) signers.push_back(std::move(id));
  }
  if (signers.size() < threshold || signers.empty())
    return fail(Code::kDataLoss, "signed by " + std::to_string(signers.size()) + " of the accepted keys; " +
                                     std::to_string(std::max<std::size_t>(threshold, 1)) + " wanted");
  return signers;
}

}  // namespace kiln::signing

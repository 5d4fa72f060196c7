#include "signing/log/leaf.h"

#include <algorithm>

#include "manifest/json/reader.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxLeafBytes = 16 << 10;

Result<std::string> readBytes(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(std::string text, reader.string(name));
  auto bytes = fromBase64(text);
  if (!bytes) return badMember(reader.path(name), "must be base64");
  return bytes;
}

}  // namespace

std::string Leaf::text() const {
  const Json json{{"apiVersion", "0.0.2"},
                  {"kind", "hashedrekord"},
                  {"spec",
                   {{"hashedRekordV002",
                     {{"data", {{"algorithm", "SHA2_256"}, {"digest", toBase64(digest)}}},
                      {"signature",
                       {{"content", toBase64(asBytes(signature))},
                        {"verifier",
                         {{"keyDetails", "PKIX_ECDSA_P256_SHA_256"},
                          {"publicKey", {{"rawBytes", toBase64(asBytes(spki))}}}}}}}}}}}};
  return toCanonicalJson(json).value();
}

Result<Leaf> Leaf::parse(std::string_view text) {
  KILN_ASSIGN(Json json, parseCanonicalJson(text, {.bytes = kMaxLeafBytes, .depth = 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "leaf"));
  KILN_TRY(reader.expect("apiVersion", "0.0.2"));
  KILN_TRY(reader.expect("kind", "hashedrekord"));
  KILN_ASSIGN(ObjectReader spec, reader.object("spec"));
  KILN_ASSIGN(ObjectReader record, spec.object("hashedRekordV002"));
  KILN_ASSIGN(ObjectReader data, record.object("data"));
  KILN_TRY(data.expect("algorithm", "SHA2_256"));
  KILN_ASSIGN(std::string digest, readBytes(data, "digest"));
  Leaf out;
  if (digest.size() != out.digest.size()) return badMember(data.path("digest"), "must be a SHA-256");
  std::copy(digest.begin(), digest.end(), out.digest.begin());
  KILN_ASSIGN(ObjectReader signature, record.object("signature"));
  KILN_ASSIGN(out.signature, readBytes(signature, "content"));
  KILN_ASSIGN(ObjectReader verifier, signature.object("verifier"));
  KILN_TRY(verifier.expect("keyDetails", "PKIX_ECDSA_P256_SHA_256"));
  KILN_ASSIGN(ObjectReader key, verifier.object("publicKey"));
  KILN_ASSIGN(out.spki, readBytes(key, "rawBytes"));
  if (auto known = PublicKey::fromDer(out.spki); !known)
    return badMember(key.path("rawBytes"), known.error().message);
  if (out.text() != text) return badMember("leaf", "holds members that are not a hashedrekord's");
  return out;
}

std::array<std::uint8_t, 32> logDigest(std::string_view payloadType, std::string_view payload) {
  return digestOf(preAuthenticationEncoding(payloadType, payload)).hash;
}

Result<Leaf> leafOf(const Envelope& envelope, const PublicKey& key) {
  if (envelope.signatures.size() != 1)
    return fail(Code::kInvalidArgument, "a leaf is about an envelope with one signature");
  return Leaf{logDigest(envelope.payloadType, envelope.payload), envelope.signatures[0], key.der()};
}

}  // namespace kiln::signing

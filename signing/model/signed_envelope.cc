#include "signing/model/signed_envelope.h"

#include <algorithm>
#include <span>

#include "manifest/base/printable.h"
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

// The certificates that a bundle brings, whoever signed first; empty where it names a key.
Result<std::vector<X509Certificate>> readMaterial(ObjectReader& reader) {
  KILN_ASSIGN(ObjectReader material, reader.object("verificationMaterial"));
  const bool key = material.has("publicKey"), one = material.has("certificate"),
             several = material.has("x509CertificateChain");
  if (key + one + several != 1)
    return badMember("verificationMaterial",
                     "must hold one of publicKey, certificate and x509CertificateChain");
  std::vector<X509Certificate> out;
  if (key) {
    KILN_TRY(material.object("publicKey"));
    return out;
  }
  Json list = Json::array();
  if (one) {
    KILN_ASSIGN(const Json* certificate, material.any("certificate"));
    list.push_back(*certificate);
  } else {
    KILN_ASSIGN(ObjectReader chain, material.object("x509CertificateChain"));
    KILN_ASSIGN(const Json* certificates, chain.array("certificates"));
    list = *certificates;
  }
  if (list.empty() || list.size() > kMaxCertificates)
    return badMember("verificationMaterial", "must hold 1 to 16 certificates");
  for (const Json& each : list) {
    const std::string place = "verificationMaterial.certificates[" + std::to_string(out.size()) + "]";
    KILN_ASSIGN(ObjectReader certificate, ObjectReader::open(each, place));
    KILN_ASSIGN(const std::string text, certificate.string("rawBytes"));
    const auto der = fromBase64(text);
    if (!der) return badMember(certificate.path("rawBytes"), "must be base64 with padding");
    auto read = X509Certificate::fromDer(*der);
    if (!read) return fail(read.error().in(place));
    out.push_back(std::move(*read));
  }
  return out;
}

// Early signers wrote "keyid": null where others leave it out.
Json withoutKeyIds(Json envelope) {
  const auto signatures = envelope.find("signatures");
  if (signatures == envelope.end() || !signatures->is_array()) return envelope;
  for (Json& signature : *signatures)
    if (signature.is_object()) signature.erase("keyid");
  return envelope;
}

struct Foreign {
  Envelope envelope;
  std::vector<X509Certificate> certificates;
  Json material;
};

// `gh attestation download` writes a bundle on a line, and several where there are several attestations.
Status checkLines(std::string_view text) {
  const auto last = text.find_last_not_of(" \t\r\n");
  const auto end = text.substr(0, last == text.npos ? 0 : last).find("}\n{");
  if (end == text.npos || !parseJson(text.substr(0, end + 1), {.bytes = kMaxForeignBytes, .depth = 16}))
    return {};
  return fail(Code::kInvalidArgument, "holds more than one bundle, a line each; give a file with one bundle");
}

Result<Foreign> parse(std::string_view text, EnvelopeForm form) {
  KILN_TRY(checkValues(text));
  KILN_TRY(checkLines(text));
  KILN_ASSIGN(const Json json, parseJson(text, {.bytes = kMaxForeignBytes, .depth = 16}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "bundle"));
  Foreign out;
  if (form == EnvelopeForm::kBundleOrBare && reader.has("payloadType")) {
    KILN_ASSIGN(out.envelope, readEnvelope(withoutKeyIds(json), kInTotoPayload));
    return out;
  }
  KILN_TRY(reader.expect("mediaType", kBundleMediaType));
  KILN_ASSIGN(out.certificates, readMaterial(reader));
  out.material = json["verificationMaterial"];
  KILN_TRY(reader.object("dsseEnvelope"));
  KILN_ASSIGN(const Json* envelope, reader.any("dsseEnvelope"));
  KILN_ASSIGN(out.envelope, readEnvelope(withoutKeyIds(*envelope), kInTotoPayload));
  return out;
}

bool isSigned(const Envelope& envelope, const ModelKey& key) {
  const std::string message = preAuthenticationEncoding(envelope.payloadType, envelope.payload);
  return key.verifies(asBytes(message), asBytes(envelope.signatures[0]));
}

Result<Signer> byKey(const Envelope& envelope, std::span<const ModelKey> keys) {
  const auto signer =
      std::ranges::find_if(keys, [&](const ModelKey& key) { return isSigned(envelope, key); });
  if (keys.empty()) return fail(Code::kDataLoss, "it was signed by a key, and no key is named");
  if (signer == keys.end())
    return fail(Code::kDataLoss, keys.size() == 1 ? "it was not signed by the key that is named"
                                                  : "it was signed by none of the keys that are named");
  Signer out;
  out.keyId = signer->id();
  out.pem = signer->pem();
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + inQuotes(name);
  return out.empty() ? "nobody in a subject alternative name" : out;
}

Result<Signer> byAuthority(const Foreign& foreign, const CertificateRule& rule) {
  const X509Certificate& leaf = foreign.certificates[0];
  Signer out;
  KILN_ASSIGN(out.chain, checkChain(foreign.certificates, rule.roots, rule.at));
  const auto identity =
      std::ranges::find_if(rule.identities, [&](const std::string& one) { return leaf.names(one); });
  if (identity == rule.identities.end())
    return fail(Code::kDataLoss, "its certificate names " + listed(leaf.alternativeNames()) + ", and not " +
                                     listed(rule.identities));
  out.identity = *identity;
  return out;
}

Result<Signer> byKeyless(Foreign& foreign, const KeylessRule& rule) {
  KILN_ASSIGN(KeylessSigner found,
              checkKeyless(foreign.material, foreign.certificates[0], foreign.envelope, rule));
  Signer out;
  out.identity = std::move(found.identity);
  out.chain = std::move(found.chain);
  out.issuer = std::move(found.issuer);
  out.at = found.at;
  out.material = std::move(foreign.material);
  return out;
}

Result<Signer> byCertificate(Foreign& foreign, const AcceptedSigners& signers) {
  if (!signers.certificates && !signers.keyless)
    return fail(Code::kDataLoss, "it was signed by a certificate, and no authority is named that issues one");
  KILN_ASSIGN(const ModelKey key, ModelKey::fromPem(foreign.certificates[0].keyPem()));
  if (!isSigned(foreign.envelope, key))
    return fail(Code::kDataLoss, "it was not signed by the key of its certificate");
  KILN_ASSIGN(Signer out, signers.certificates ? byAuthority(foreign, *signers.certificates)
                                               : byKeyless(foreign, *signers.keyless));
  out.keyId = key.id();
  out.pem = key.pem();
  return out;
}

}  // namespace

Result<SignedEnvelope> openSignedEnvelope(std::string_view text, const AcceptedSigners& signers,
                                          EnvelopeForm form) {
  KILN_ASSIGN(Foreign foreign, parse(text, form));
  if (foreign.envelope.signatures.size() != 1)
    return badMember("envelope.signatures", "must hold exactly one signature");
  KILN_ASSIGN(Signer signer, foreign.certificates.empty() ? byKey(foreign.envelope, signers.keys)
                                                          : byCertificate(foreign, signers));
  return SignedEnvelope{std::move(foreign.envelope), std::move(signer)};
}

}  // namespace kiln::signing

#include "signing/sigstore/rekor_body.h"

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"

namespace kiln::signing {
namespace {

tl::unexpected<Error> other(const std::string& what) {
  return fail(Code::kDataLoss, "log entry: is about another " + what);
}

// The one element of a list.
Result<ObjectReader> only(ObjectReader& reader, const char* name) {
  KILN_ASSIGN(const Json* list, reader.array(name));
  if (list->size() != 1) return badMember(reader.path(name), "must hold one");
  return ObjectReader::open((*list)[0], reader.path(name));
}

Status checkBytes(ObjectReader& reader, const char* name, const std::string& wanted, const char* what) {
  KILN_ASSIGN(const std::string text, reader.string(name));
  const auto bytes = fromBase64(text);
  return bytes && *bytes == wanted ? Status() : other(what);
}

// A certificate as base64 of its PEM.
Status checkPem(ObjectReader& reader, const char* name, const X509Certificate& signer) {
  KILN_ASSIGN(const std::string text, reader.string(name));
  const auto pem = fromBase64(text);
  const auto read = pem.and_then([](const std::string& one) { return certificatesFromPem(one); });
  return read && read->size() == 1 && read->front().der() == signer.der() ? Status() : other("certificate");
}

Status checkHex(ObjectReader& reader, const std::string& payload) {
  KILN_TRY(reader.expect("algorithm", "sha256"));
  KILN_ASSIGN(const std::string hex, reader.string("value"));
  return hex == digestOf(payload).hex() ? Status() : other("payload");
}

// The parts of the second version's types.
Status checkVerifier(ObjectReader& reader, const Envelope& envelope, const X509Certificate& signer) {
  KILN_TRY(checkBytes(reader, "content", envelope.signatures[0], "signature"));
  KILN_ASSIGN(ObjectReader verifier, reader.object("verifier"));
  KILN_ASSIGN(ObjectReader certificate, verifier.object("x509Certificate"));
  return checkBytes(certificate, "rawBytes", signer.der(), "certificate");
}

Status checkDigest(ObjectReader& reader, const std::string& message) {
  KILN_TRY(reader.expect("algorithm", "SHA2_256"));
  const Digest digest = digestOf(message);
  return checkBytes(reader, "digest", std::string(digest.hash.begin(), digest.hash.end()), "payload");
}

Status checkDsse1(ObjectReader& spec, const Envelope& envelope, const X509Certificate& signer) {
  KILN_ASSIGN(ObjectReader hash, spec.object("payloadHash"));
  KILN_TRY(checkHex(hash, envelope.payload));
  KILN_ASSIGN(ObjectReader signature, only(spec, "signatures"));
  KILN_TRY(checkBytes(signature, "signature", envelope.signatures[0], "signature"));
  return checkPem(signature, "verifier", signer);
}

// The envelope in it holds its signature in base64 twice.
Status checkIntoto2(ObjectReader& spec, const Envelope& envelope, const X509Certificate& signer) {
  KILN_ASSIGN(ObjectReader content, spec.object("content"));
  KILN_ASSIGN(ObjectReader hash, content.object("payloadHash"));
  KILN_TRY(checkHex(hash, envelope.payload));
  KILN_ASSIGN(ObjectReader inside, content.object("envelope"));
  KILN_TRY(inside.expect("payloadType", envelope.payloadType));
  KILN_ASSIGN(ObjectReader signature, only(inside, "signatures"));
  KILN_TRY(checkBytes(signature, "sig", toBase64(asBytes(envelope.signatures[0])), "signature"));
  return checkPem(signature, "publicKey", signer);
}

Status checkDsse2(ObjectReader& spec, const Envelope& envelope, const X509Certificate& signer) {
  KILN_ASSIGN(ObjectReader dsse, spec.object("dsseV002"));
  KILN_ASSIGN(ObjectReader hash, dsse.object("payloadHash"));
  KILN_TRY(checkDigest(hash, envelope.payload));
  KILN_ASSIGN(ObjectReader signature, only(dsse, "signatures"));
  return checkVerifier(signature, envelope, signer);
}

Status checkHashed2(ObjectReader& spec, const Envelope& envelope, const X509Certificate& signer) {
  KILN_ASSIGN(ObjectReader hashed, spec.object("hashedRekordV002"));
  KILN_ASSIGN(ObjectReader data, hashed.object("data"));
  KILN_TRY(checkDigest(data, preAuthenticationEncoding(envelope.payloadType, envelope.payload)));
  KILN_ASSIGN(ObjectReader signature, hashed.object("signature"));
  return checkVerifier(signature, envelope, signer);
}

struct Kind {
  const char *kind, *version;
  Status (*check)(ObjectReader&, const Envelope&, const X509Certificate&);
};
constexpr Kind kKinds[] = {{"dsse", "0.0.1", checkDsse1},
                           {"intoto", "0.0.2", checkIntoto2},
                           {"dsse", "0.0.2", checkDsse2},
                           {"hashedrekord", "0.0.2", checkHashed2}};

}  // namespace

Status checkRekorBody(const RekorEntry& entry, const Envelope& envelope, const X509Certificate& signer) {
  for (const Kind& kind : kKinds) {
    if (entry.kind != kind.kind || entry.version != kind.version) continue;
    KILN_ASSIGN(const Json json, parseJson(entry.body, {.bytes = 12u << 20, .depth = 16}));
    KILN_ASSIGN(ObjectReader body, ObjectReader::open(json, "log entry"));
    KILN_TRY(body.expect("kind", kind.kind));
    KILN_TRY(body.expect("apiVersion", kind.version));
    KILN_ASSIGN(ObjectReader spec, body.object("spec"));
    return kind.check(spec, envelope, signer);
  }
  return fail(Code::kUnimplemented, "log entry: kind " + inQuotes(entry.kind + " " + entry.version) +
                                        " is not served; dsse 0.0.1 and 0.0.2, intoto 0.0.2 and hashedrekord "
                                        "0.0.2 are");
}

}  // namespace kiln::signing

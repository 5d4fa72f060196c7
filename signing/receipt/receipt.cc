#include "signing/receipt/receipt.h"

#include <array>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "manifest/spec/path.h"
#include "signing/dsse/dsse.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxOutputs = 32768;

Json digestJson(const Digest& digest) {
  return {{"sha256", digest.hex()}, {"size", std::to_string(digest.size)}};
}

Result<Digest> readDigest(ObjectReader& reader) {
  KILN_ASSIGN(std::string hex, reader.string("sha256"));
  KILN_ASSIGN(std::uint64_t size, reader.unsigned64("size"));
  auto digest = Digest::parse(hex, size);
  if (!digest || hex.size() != 64) return badMember(reader.path("sha256"), "must be 64 lowercase hex digits");
  return *digest;
}

Json toJson(const Receipt& receipt) {
  Json outputs = Json::array();
  for (const ReceiptOutput& output : receipt.outputs) {
    Json entry = digestJson(output.digest);
    entry["path"] = output.path;
    outputs.push_back(std::move(entry));
  }
  return {{"action", digestJson(receipt.action)},
          {"lease", receipt.lease},
          {"epoch", std::to_string(receipt.epoch)},
          {"worker", receipt.worker},
          {"operator", receipt.operatorName},
          {"exitCode", receipt.exitCode},
          {"sandboxPolicy", digestJson(receipt.sandboxPolicy)},
          {"outputs", std::move(outputs)}};
}

Result<Receipt> fromJson(const Json& json) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "receipt"));
  Receipt receipt;
  KILN_ASSIGN(ObjectReader action, reader.object("action"));
  KILN_ASSIGN(receipt.action, readDigest(action));
  KILN_TRY(action.finish());
  KILN_ASSIGN(receipt.lease, reader.string("lease"));
  KILN_ASSIGN(receipt.epoch, reader.unsigned64("epoch"));
  KILN_ASSIGN(receipt.worker, reader.string("worker"));
  KILN_ASSIGN(receipt.operatorName, reader.string("operator"));
  KILN_ASSIGN(std::int64_t exitCode, reader.integer("exitCode", INT32_MIN, INT32_MAX));
  receipt.exitCode = static_cast<int>(exitCode);
  KILN_ASSIGN(ObjectReader policy, reader.object("sandboxPolicy"));
  KILN_ASSIGN(receipt.sandboxPolicy, readDigest(policy));
  KILN_TRY(policy.finish());
  if (receipt.sandboxPolicy.size > kMaxSandboxPolicyBytes)
    return badMember(policy.path("size"), "must be at most 65536");
  KILN_ASSIGN(const Json* outputs, reader.array("outputs"));
  if (outputs->size() > kMaxOutputs) return badMember("receipt.outputs", "too many outputs");
  for (const Json& element : *outputs) {
    std::string place = "receipt.outputs[" + std::to_string(receipt.outputs.size()) + "]";
    KILN_ASSIGN(ObjectReader entry, ObjectReader::open(element, place));
    ReceiptOutput output;
    KILN_ASSIGN(output.path, entry.string("path"));
    if (auto safe = checkRelativePath(output.path); !safe)
      return badMember(entry.path("path"), safe.error().message);
    if (!receipt.outputs.empty() && output.path <= receipt.outputs.back().path)
      return badMember(entry.path("path"), "outputs must be sorted by path, each once");
    KILN_ASSIGN(output.digest, readDigest(entry));
    KILN_TRY(entry.finish());
    receipt.outputs.push_back(std::move(output));
  }
  KILN_TRY(reader.finish());
  return receipt;
}

Result<Receipt> read(const Envelope& envelope) {
  KILN_ASSIGN(Json json, parseCanonicalJson(envelope.payload));
  return fromJson(json);
}

Result<Receipt> verify(const Envelope& envelope, const Certificate& certificate, const Certificate& authority,
                       TimePoint now) {
  KILN_TRY(certificate.checkIssuedBy(authority, now));
  KILN_TRY(verifyEnvelope(envelope, std::array{certificate.publicKey()}));
  KILN_ASSIGN(Receipt receipt, read(envelope));
  bool own = !receipt.worker.empty() && !receipt.operatorName.empty() &&
             receipt.worker == certificate.commonName() && receipt.operatorName == certificate.organisation();
  if (!own)
    return fail(Code::kPermissionDenied, "receipt of " + inQuotes(receipt.worker) + " of operator " +
                                             inQuotes(receipt.operatorName) + " signed by " +
                                             inQuotes(certificate.commonName()) + " of operator " +
                                             inQuotes(certificate.organisation()));
  return receipt;
}

}  // namespace

Result<std::string> makeReceipt(const Receipt& receipt, const PrivateKey& key) {
  Json json = toJson(receipt);
  KILN_TRY(fromJson(json));
  KILN_ASSIGN(std::string payload, toCanonicalJson(json));
  KILN_ASSIGN(Envelope envelope, signEnvelope(kReceiptPayload, payload, key));
  return toCanonicalJson(envelope.toJson());
}

Result<Receipt> verifyReceipt(std::string_view envelope, const Certificate& certificate,
                              const Certificate& authority, TimePoint now) {
  KILN_ASSIGN(Envelope parsed, parseEnvelope(envelope, kReceiptPayload));
  return verify(parsed, certificate, authority, now);
}

Result<Receipt> readReceipt(std::string_view envelope) {
  KILN_ASSIGN(Envelope parsed, parseEnvelope(envelope, kReceiptPayload));
  return read(parsed);
}

Result<std::string> receiptDocument(std::string_view envelope, const Certificate& certificate) {
  KILN_ASSIGN(Envelope parsed, parseEnvelope(envelope, kReceiptPayload));
  return toCanonicalJson({{"certificate", certificate.pem()}, {"envelope", parsed.toJson()}});
}

Result<Receipt> readReceiptDocument(std::string_view document) {
  KILN_ASSIGN(Json json, parseStrictJson(document));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "receipt"));
  KILN_ASSIGN(const Json* envelopeJson, reader.any("envelope"));
  KILN_ASSIGN(Envelope envelope, readEnvelope(*envelopeJson, kReceiptPayload));
  return read(envelope);
}

Result<VerifiedReceipt> verifyReceiptDocument(std::string_view document, const Certificate& authority,
                                              TimePoint now) {
  KILN_ASSIGN(Json json, parseStrictJson(document));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "receipt"));
  KILN_ASSIGN(std::string pem, reader.string("certificate"));
  KILN_ASSIGN(const Json* envelopeJson, reader.any("envelope"));
  KILN_TRY(reader.finish());
  KILN_ASSIGN(Certificate certificate, Certificate::fromPem(pem));
  KILN_ASSIGN(Envelope envelope, readEnvelope(*envelopeJson, kReceiptPayload));
  KILN_ASSIGN(Receipt receipt, verify(envelope, certificate, authority, now));
  return VerifiedReceipt{std::move(receipt), certificate.publicKey().id()};
}

}  // namespace kiln::signing

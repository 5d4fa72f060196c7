#include "signing/server/logged_records.h"

#include "signing/bundle/bundle.h"
#include "signing/log/leaf.h"
#include "storage/index/log/log_repository.h"

namespace kiln::signing {
namespace {

constexpr char kUnknownInstance[] = "";  // of records that did not say

// The bundle of a row, without its log entry; kDataLoss if the row does not hold a signature of `payload`.
Result<std::string> bundleOf(const index::SignatureRecord& row, std::string_view payload) {
  auto leaf = Leaf::parse(row.leaf);
  if (!leaf || leaf->digest != logDigest(kInTotoPayload, payload))
    return fail(Code::kDataLoss, "the record of a signature is damaged; restore the database from a backup");
  KILN_ASSIGN(PublicKey key, PublicKey::fromDer(leaf->spki));
  auto bundle = makeBundle({kInTotoPayload, std::string(payload), {leaf->signature}}, key);
  if (!bundle)
    return fail(Code::kDataLoss, "the record of a signature is damaged: " + bundle.error().message);
  return bundle;
}

}  // namespace

Result<std::optional<std::string>> LoggedRecords::find(std::string_view payload) {
  const Digest digest{logDigest(kInTotoPayload, payload), 0};
  KILN_ASSIGN(auto connection, database_.acquire());
  KILN_ASSIGN(auto row, index::findSignature(*connection, digest));
  if (row && row->payload.empty()) {  // known from the log alone: it learns its payload
    KILN_ASSIGN(row, index::addSignature(*connection, {kUnknownInstance, digest, std::string(payload),
                                                       row->leaf, clock_.now()}));
  }
  if (row) return bundleOf(*row, payload);
  KILN_ASSIGN(auto text, legacy_.find(digestOf(payload)));
  if (!text) return text;
  KILN_ASSIGN(Bundle bundle, parseBundle(*text));
  if (bundle.keyId != key_.id()) return std::optional<std::string>();
  KILN_TRY(verifyEnvelope(bundle.envelope, std::span(&key_, 1)));
  KILN_ASSIGN(Leaf leaf, leafOf(bundle.envelope, key_));
  KILN_ASSIGN(row, index::addSignature(*connection, {kUnknownInstance, digest, std::string(payload),
                                                     leaf.text(), clock_.now()}));
  return bundleOf(*row, payload);
}

Result<std::optional<std::string>> LoggedRecords::find(const Digest& payload) {
  KILN_ASSIGN(auto connection, database_.acquire());
  KILN_ASSIGN(auto row, index::findSignatureOfPayload(*connection, payload));
  if (!row) return legacy_.find(payload);
  if (digestOf(row->payload).hash != payload.hash)
    return fail(Code::kDataLoss, "the record of " + payload.text() + " holds another payload");
  return bundleOf(*row, row->payload);
}

Result<std::string> LoggedRecords::add(const std::string& instance, const Envelope& envelope,
                                       const PublicKey& key, const std::string& trace) {
  KILN_ASSIGN(Leaf leaf, leafOf(envelope, key));
  KILN_ASSIGN(auto connection, database_.acquire());
  KILN_ASSIGN(
      auto row,
      index::addSignature(*connection,
                          {instance, {leaf.digest, 0}, envelope.payload, leaf.text(), clock_.now(), trace}));
  return bundleOf(row, envelope.payload);
}

}  // namespace kiln::signing

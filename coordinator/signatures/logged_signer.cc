#include "coordinator/signatures/logged_signer.h"

#include "signing/bundle/bundle.h"
#include "signing/log/leaf.h"
#include "signing/log/log_proof.h"
#include "storage/index/log/log_repository.h"

namespace kiln::service {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kKeyAge{1000};

// The id of the key that signed the checkpoint; "" if none of them did.
std::string signerOf(const std::string& checkpoint, const std::vector<signing::VerifierKey>& logs) {
  const auto note = signing::parseNote(checkpoint);
  if (!note) return "";
  for (const signing::VerifierKey& log : logs)
    if (signing::verifyNote(*note, log)) return log.id();
  return "";
}

signing::LogEntry entryOf(const index::LogInclusion& inclusion, const std::string& leaf,
                          const std::vector<signing::VerifierKey>& logs) {
  return {signerOf(inclusion.checkpoint, logs),
          inclusion.index,
          inclusion.treeSize,
          inclusion.root,
          inclusion.proof,
          inclusion.checkpoint,
          leaf};
}

}  // namespace

Result<std::string> LoggedSigner::publicKeyPem() {
  const auto now = steady_clock::now();
  {
    const MutexLock lock(mutex_);
    if (!key_.empty() && now - keyAsked_ < kKeyAge) return key_;
  }
  KILN_ASSIGN(std::string key, signer_.publicKeyPem());
  const MutexLock lock(mutex_);
  key_ = key;
  keyAsked_ = now;
  return key;
}

Status takeSignatureIn(postgres::Pool& database, const std::string& instance,
                       const signing::Envelope& envelope, const signing::PublicKey& key, TimePoint now) {
  KILN_ASSIGN(const signing::Leaf leaf, signing::leafOf(envelope, key));
  KILN_ASSIGN(auto connection, database.acquire());
  KILN_ASSIGN(
      const auto row,
      index::addSignature(*connection, {instance, {leaf.digest, 0}, envelope.payload, leaf.text(), now}));
  KILN_ASSIGN(const signing::Leaf first, signing::Leaf::parse(row.leaf));
  if (first.spki != leaf.spki)
    return fail(Code::kAlreadyExists, "this very statement is in the log already, signed by another key");
  return {};
}

Result<std::optional<std::string>> LoggedSigner::released(const std::string& statement) {
  const Digest digest{signing::logDigest(signing::kInTotoPayload, statement), 0};
  KILN_ASSIGN(auto connection, database_.acquire());
  KILN_ASSIGN(auto row, index::findSignature(*connection, digest));
  if (!row || !row->inclusion) return std::optional<std::string>();
  KILN_ASSIGN(signing::Leaf leaf, signing::Leaf::parse(row->leaf));
  KILN_ASSIGN(signing::PublicKey key, signing::PublicKey::fromDer(leaf.spki));
  signing::Bundle bundle{key.id(),
                         {signing::kInTotoPayload, statement, {leaf.signature}},
                         entryOf(*row->inclusion, row->leaf, logs_)};
  auto proven = signing::checkLogEntry(bundle, key, logs_, {});
  if (!proven) return fail(Code::kDataLoss, "the database's proof does not hold: " + proven.error().message);
  KILN_ASSIGN(std::string text, signing::makeBundle(bundle.envelope, key, bundle.logEntry));
  return text;
}

Result<std::string> LoggedSigner::sign(const signing::SignRequest& request) {
  KILN_TRY(signer_.sign(request));
  return await(request.statement);
}

Result<std::vector<std::string>> LoggedSigner::signAll(std::span<const signing::SignRequest> requests) {
  KILN_TRY(signer_.signAll(requests));
  std::vector<std::string> out;
  for (const signing::SignRequest& request : requests) {
    KILN_ASSIGN(std::string bundle, await(request.statement));
    out.push_back(std::move(bundle));
  }
  return out;
}

Result<std::string> LoggedSigner::takeIn(const std::string& instance, const signing::Envelope& envelope,
                                         const signing::PublicKey& key) {
  KILN_TRY(takeSignatureIn(database_, instance, envelope, key, SystemClock().now()));
  return await(envelope.payload);
}

Result<std::string> LoggedSigner::await(const std::string& statement) {
  return growth_.await(timeout_, [&] { return released(statement); });
}

}  // namespace kiln::service

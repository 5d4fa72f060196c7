#include "coordinator/signatures/statement_reader.h"

#include "coordinator/farm/log.h"
#include "manifest/toolchain/lock.h"
#include "signing/bundle/bundle.h"
#include "storage/index/artifacts/mention_repository.h"
#include "storage/index/toolchains/toolchain_parts.h"

namespace kiln::service {
namespace {

constexpr std::uint64_t kMaxBundleBytes = 12u << 20;
constexpr int kBatch = 200;
constexpr std::chrono::minutes kPause{1};

Status readOne(const Stores& stores, index::UnreadStatement& unread) {
  KILN_ASSIGN(const std::string bundle,
              storage::getBlob(stores.blobs, unread.instance, unread.bundle.bundle, kMaxBundleBytes));
  KILN_TRY(readMentions(bundle, unread.bundle));
  return stores.database.transact(
      [&](postgres::Connection& c) { return index::insertMentions(c, unread.instance, unread.bundle); });
}

Status readLock(const Stores& stores, const index::ToolchainRecord& toolchain) {
  KILN_ASSIGN(const std::string text,
              storage::getBlob(stores.blobs, toolchain.instance, *toolchain.lock, kMaxToolchainLockBytes));
  KILN_ASSIGN(const auto parts, index::lockedPartsOf(text));
  return stores.database.transact([&](postgres::Connection& c) {
    return index::insertParts(c, toolchain.instance, toolchain.toolchainDigest, parts);
  });
}

}  // namespace

Status readMentions(std::string_view bundle, index::BundleRecord& record) {
  KILN_ASSIGN(const signing::Bundle parsed, signing::parseBundle(bundle));
  if (digestOf(parsed.envelope.payload).hash != record.payload.hash)
    return fail(Code::kDataLoss, "the bundle " + record.bundle.text() + " holds another statement");
  KILN_ASSIGN(const Digest signer, index::keyValue(parsed.keyId));
  KILN_ASSIGN(index::StatementMentions mentions, index::mentionsOf(parsed.envelope.payload, signer));
  record.signer = signer;
  record.mentions = std::move(mentions.all);
  return {};
}

Status keepBundle(storage::BlobStore& blobs, const std::string& instance, const std::string& bundle,
                  index::BundleRecord& record) {
  index::BundleRecord* one[] = {&record};
  return keepBundles(blobs, instance, std::span(&bundle, 1), one);
}

Status keepBundles(storage::BlobStore& blobs, const std::string& instance,
                   std::span<const std::string> bundles, std::span<index::BundleRecord* const> records) {
  std::vector<storage::BlobBytes> all;
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    records[i]->bundle = digestOf(bundles[i]);
    KILN_TRY(readMentions(bundles[i], *records[i]));
    all.push_back({records[i]->bundle, asBytes(bundles[i])});
  }
  for (const Status& kept : blobs.putBatch(instance, all)) KILN_TRY(kept);
  return {};
}

StatementReader::~StatementReader() {
  stop();
}

Result<std::size_t> StatementReader::readStatements(bool provenance) {
  std::size_t read = 0;
  std::vector<index::UnreadStatement> batch;
  do {
    KILN_ASSIGN(auto connection, stores_.database.acquire());
    const auto last = batch.empty() ? nullptr : &batch.back();
    KILN_ASSIGN(batch, index::listUnread(*connection, provenance, last, kBatch));
    for (index::UnreadStatement& unread : batch) {
      {
        const MutexLock lock(mutex_);
        if (stopping_) return read;
      }
      if (Status status = readOne(stores_, unread); status)
        ++read;
      else
        logWarning("a statement cannot be read", {{"instance", unread.instance},
                                                  {"statement", unread.bundle.payload.text()},
                                                  {"error", status.error().message}});
    }
  } while (batch.size() == kBatch);
  return read;
}

Result<std::size_t> StatementReader::readLocks() {
  std::vector<index::ToolchainRecord> unread;
  {
    KILN_ASSIGN(auto connection, stores_.database.acquire());
    KILN_ASSIGN(unread, index::listUnreadLocks(*connection));
  }
  std::size_t read = 0;
  for (const index::ToolchainRecord& toolchain : unread) {
    if (Status status = readLock(stores_, toolchain); status)
      ++read;
    else
      logWarning(
          "a toolchain's lock cannot be read",
          {{"instance", toolchain.instance}, {"label", toolchain.label}, {"error", status.error().message}});
  }
  return read;
}

// Provenances first: what others say of an artifact is found by its content too.
Result<std::size_t> StatementReader::readAll() {
  KILN_ASSIGN(const std::size_t locks, readLocks());
  KILN_ASSIGN(const std::size_t provenances, readStatements(true));
  KILN_ASSIGN(const std::size_t others, readStatements(false));
  if (provenances + others > 0)
    logInfo("statements read into the index", {{"statements", std::to_string(provenances + others)}});
  return locks + provenances + others;
}

void StatementReader::start() {
  thread_ = std::thread([this] { readForEver(); });
}

void StatementReader::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  stopped_.notifyAll();
  if (thread_.joinable()) thread_.join();
}

void StatementReader::readForEver() {
  MutexLock lock(mutex_);
  do {
    lock.unlock();
    if (auto read = readAll(); !read)
      logWarning("statements were not read into the index", {{"error", read.error().message}});
    lock.lock();
  } while (!stopped_.waitFor(mutex_, kPause, [this]() KILN_REQUIRES(mutex_) { return stopping_; }));
}

}  // namespace kiln::service

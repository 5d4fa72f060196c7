#include "coordinator/service/logged_signer.h"

#include <array>

#include "signing/bundle/bundle.h"
#include "signing/log/leaf.h"
#include "signing/log/log_proof.h"
#include "storage/index/log_repository.h"
#include "storage/postgres/listener.h"

namespace kiln::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kListen{250};  // also how soon the thread sees that it is to end
constexpr milliseconds kRetry{250};
constexpr milliseconds kLookAgain{500};  // without a notification
constexpr milliseconds kKeyAge{1000};

signing::LogEntry entryOf(const index::LogInclusion& inclusion, const std::string& leaf,
                          const signing::VerifierKey& log) {
  return {
      log.id(), inclusion.index, inclusion.treeSize, inclusion.root, inclusion.proof, inclusion.checkpoint,
      leaf};
}

}  // namespace

LoggedSigner::LoggedSigner(signing::Signer& signer, postgres::Pool& database, signing::VerifierKey log,
                           milliseconds patience)
    : signer_(signer), database_(database), log_(std::move(log)), patience_(patience), thread_([this] {
        follow();
      }) {}

LoggedSigner::~LoggedSigner() {
  stop();
  thread_.join();
}

void LoggedSigner::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

Result<std::string> LoggedSigner::publicKeyPem() {
  const auto now = steady_clock::now();
  {
    std::lock_guard lock(mutex_);
    if (!key_.empty() && now - keyAsked_ < kKeyAge) return key_;
  }
  KILN_ASSIGN(std::string key, signer_.publicKeyPem());
  std::lock_guard lock(mutex_);
  key_ = key;
  keyAsked_ = now;
  return key;
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
                         entryOf(*row->inclusion, row->leaf, log_)};
  auto proven = signing::checkLogEntry(bundle, key, std::array{log_}, {});
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

Result<std::string> LoggedSigner::await(const std::string& statement) {
  const auto end = steady_clock::now() + patience_;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const std::uint64_t seen = growths_;
    lock.unlock();
    KILN_ASSIGN(auto bundle, released(statement));
    if (bundle) return *bundle;
    if (steady_clock::now() >= end)
      return fail(Code::kUnavailable,
                  "signed, but no checkpoint of the log covers it yet; is kiln-log running?");
    lock.lock();
    changed_.wait_for(lock, kLookAgain, [&] { return stopping_ || growths_ != seen; });
  }
  return fail(Code::kUnavailable, "the coordinator is stopping");
}

void LoggedSigner::follow() {
  std::optional<postgres::Listener> listener;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    bool heard = false;
    if (!listener) {
      if (auto opened = postgres::Listener::open(database_.options(), {"kiln_log"})) {
        listener.emplace(std::move(*opened));
        heard = true;  // it may have grown meanwhile
      }
    } else if (auto got = listener->wait(kListen)) {
      heard = !got->empty();
    } else {
      listener.reset();
    }
    lock.lock();
    if (heard) {
      ++growths_;
      changed_.notify_all();
    }
    if (!listener) changed_.wait_for(lock, kRetry, [&] { return stopping_; });
  }
}

}  // namespace kiln::service

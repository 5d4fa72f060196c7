#include "coordinator/recall/recalls.h"

#include "coordinator/farm/advisory_lock.h"
#include "coordinator/farm/log.h"
#include "coordinator/recall/logged_recalls.h"
#include "manifest/base/exit_code.h"
#include "signing/keys/certificate.h"
#include "signing/keys/files.h"
#include "signing/trust/signed_root.h"
#include "storage/index/log/recall_repository.h"

namespace kiln::service {
namespace {

constexpr std::int64_t kLockKey = 0x6b696c6e'72656361;  // "kilnreca"

Result<signing::RootFile> readRoot(const std::string& text) {
  KILN_ASSIGN(signing::RootFile root, signing::RootFile::parse(text));
  KILN_TRY(signing::checkSigned(root));
  return root;
}

// Under the root that they were published with. kDataLoss if the row holds something else.
Result<signing::Recalls> readRecalls(const index::RecallsRecord& record) {
  const auto root = readRoot(record.root);
  auto recalls = root ? signing::Recalls::parse(record.document, root->root, signing::LogProofs::kIfAny)
                      : Result<signing::Recalls>(fail(root.error()));
  if (recalls && recalls->version != record.version)
    recalls = fail(Code::kDataLoss, "the document is version " + std::to_string(recalls->version));
  if (recalls) return recalls;
  return fail(Code::kDataLoss, "recalls version " + std::to_string(record.version) +
                                   " in the database: " + recalls.error().message);
}

Result<std::string> rootText(const RecallSettings& settings) {
  return signing::readTrustFile(settings.trustRoot, 2 * signing::kMaxRootBytes);
}

Status checkFollows(const signing::Recalls& news, const index::RecallsRecord& before,
                    const signing::TrustRoot& root) {
  if (news.version <= before.version)
    return fail(Code::kAlreadyExists, "version " + std::to_string(before.version) +
                                          " is in force; this is version " + std::to_string(news.version) +
                                          "; draft it again on top of version " +
                                          std::to_string(before.version));
  KILN_ASSIGN(const signing::Recalls old, readRecalls(before));
  KILN_ASSIGN(const signing::RootFile earlier, readRoot(before.root));
  // What other recall keys said that do not count any more is gone.
  const bool sameKeys = earlier.root.toJson()["recallKeys"] == root.toJson()["recallKeys"];
  if (!sameKeys && !signing::Recalls::parse(before.document, root, signing::LogProofs::kIfAny)) return {};
  if (!news.extends(old))
    return fail(Code::kDataLoss, "it leaves out recalls of version " + std::to_string(before.version) +
                                     ", which is in force; draft it again on top of that");
  return news.continuesLogs(old);
}

// What is in force already if it is what the issuers signed in `news`; else whether that may follow it.
Result<std::optional<signing::Recalls>> alreadyInForce(postgres::Connection& connection,
                                                       const signing::Recalls& news,
                                                       const signing::TrustRoot& root) {
  KILN_ASSIGN(const auto before, index::newestRecalls(connection));
  if (!before) return std::optional<signing::Recalls>();
  if (before->version == news.version) {
    KILN_ASSIGN(signing::Recalls same, readRecalls(*before));
    if (same.payload == news.payload) return std::optional(std::move(same));
  }
  KILN_TRY(checkFollows(news, *before, root));
  return std::optional<signing::Recalls>();
}

Result<signing::Recalls> proven(const RecallSettings& settings, const signing::Recalls& news,
                                const signing::TrustRoot& root) {
  if (!settings.logger)
    return fail(Code::kFailedPrecondition,
                "the trust root names a log, but this farm's coordinator was started without --log-tiles");
  KILN_ASSIGN(const std::string text, settings.logger->logged(news, *root.recallKeys));
  return signing::Recalls::parse(text, root);
}

Result<std::optional<signing::Recalls>> broughtForward(const RecallSettings& settings,
                                                       const signing::Recalls& old) {
  KILN_ASSIGN(const std::string text, rootText(settings));
  KILN_ASSIGN(const signing::RootFile file, readRoot(text));
  if (file.root.logs.empty()) return std::optional<signing::Recalls>();
  KILN_ASSIGN(const auto recalls, signing::Recalls::parse(old.text, file.root, signing::LogProofs::kIfAny));
  KILN_ASSIGN(const auto found, settings.logger->loggedAlready(recalls, *file.root.recallKeys));
  if (!found) return std::optional<signing::Recalls>();
  KILN_ASSIGN(signing::Recalls proven, signing::Recalls::parse(*found, file.root));
  return std::optional(std::move(proven));
}

tl::unexpected<Error> refused(const signing::RecallEntry& entry) {
  return fail(Error{Code::kPermissionDenied, describe(entry),
                    "{\"exitCode\":" + std::to_string(kExitVerification) + "}"});
}

// The newest that the database has, whether or not the log holds others.
Result<std::shared_ptr<const signing::Recalls>> recallsStored(const RecallSource& source) {
  KILN_ASSIGN(auto connection, source.database.acquire());
  KILN_ASSIGN(auto record, index::newestRecalls(*connection));
  if (!record) return nullptr;
  const Digest evidence = digestOf(digestOf(record->root).hex() + digestOf(record->document).hex() +
                                   std::to_string(record->version));
  if (auto known = source.cache.find(evidence)) return known;
  KILN_ASSIGN(signing::Recalls recalls, readRecalls(*record));
  auto read = std::make_shared<const signing::Recalls>(std::move(recalls));
  source.cache.insert(evidence, read);
  return read;
}

}  // namespace

Result<std::shared_ptr<const signing::Recalls>> recallsInForce(const RecallSource& source) {
  KILN_ASSIGN(auto recalls, recallsStored(source));
  if (source.logged) KILN_TRY(source.logged->check(recalls.get()));
  return recalls;
}

Result<std::shared_ptr<const signing::Recalls>> recallsToServe(const RecallSource& source,
                                                               const RecallSettings& settings) {
  KILN_ASSIGN(auto recalls, recallsStored(source));
  if (!recalls || recalls->logged || !settings.logger || settings.trustRoot.empty()) return recalls;
  auto forward = broughtForward(settings, *recalls);
  if (!forward)
    logWarning("recalls are served without a proof of the log", {{"error", forward.error().message}});
  if (!forward || !*forward) return recalls;
  return std::make_shared<const signing::Recalls>(std::move(**forward));
}

Result<signing::Recalls> publishRecalls(const RecallSource& source, const RecallSettings& settings,
                                        const std::string& document, const Clock& clock,
                                        const Observers& observers) {
  if (settings.trustRoot.empty())
    return fail(Code::kFailedPrecondition,
                "this farm takes no recalls: its coordinator was started without --trust-root");
  KILN_ASSIGN(const std::string text, rootText(settings));
  KILN_ASSIGN(const signing::RootFile file, readRoot(text));
  KILN_ASSIGN(signing::Recalls news,
              signing::Recalls::parse(document, file.root, signing::LogProofs::kIfAny));
  KILN_ASSIGN(auto session, source.database.acquire());
  // One at a time: with two versions at once, the log would hold what one of them brought and the other
  // leaves out.
  KILN_ASSIGN(
      const AdvisoryLock advisoryLock,
      AdvisoryLock::tryAcquire(*session, kLockKey, "recalls are being put in force already; try again"));
  KILN_ASSIGN(auto before, alreadyInForce(*session, news, file.root));
  if (before) return std::move(*before);
  if (source.logged)
    if (Status whole = source.logged->check(&news); !whole)
      return fail(
          Error{Code::kDataLoss, "this version leaves out what was recalled: " + whole.error().message, {}});
  if (!file.root.logs.empty()) {
    KILN_ASSIGN(news, proven(settings, news, file.root));
    observers.reached(kPointRecallLogged);
  }
  std::optional<signing::Recalls> same;
  KILN_TRY(source.database.transact([&](postgres::Connection& connection) -> Status {
    KILN_ASSIGN(same, alreadyInForce(connection, news, file.root));
    if (same) return {};
    return index::addRecalls(connection, {news.version, news.text, text, clock.now()});
  }));
  if (same) return std::move(*same);
  logInfo("recalls in force",
          {{"version", std::to_string(news.version)}, {"recalls", std::to_string(news.entries.size())}});
  return news;
}

Status checkNotRecalled(const RecallSource& source, std::span<const Digest> content) {
  KILN_ASSIGN(const auto recalls, recallsInForce(source));
  if (!recalls) return {};
  for (const Digest& digest : content)
    if (const auto* entry = recalls->condemns(digest)) return refused(*entry);
  return {};
}

std::string recallOfWorker(const signing::Recalls* recalls, TimePoint now, const std::string& worker,
                           const std::string& operatorName, const Digest& key) {
  if (!recalls) return "";
  const auto* entry = touchesMaker(*recalls, {{}, now, nullptr}, {worker, operatorName, toBase64(key.hash)});
  return entry ? describe(*entry) : "";
}

Result<Maker> makerOf(const index::ResultRecord& result) {
  KILN_ASSIGN(const signing::Certificate certificate, signing::Certificate::fromPem(result.certificate));
  return Maker{result.worker, result.operatorName, certificate.publicKey().id()};
}

const signing::RecallEntry* touchesMaker(const signing::Recalls& recalls,
                                         const signing::StatementPlace& place, const Maker& maker) {
  const auto* entry = recalls.touchesWorker(place, maker.worker, maker.operatorName);
  if (entry || maker.keyId.empty()) return entry;
  return recalls.touches(place, maker.keyId, {}, {});
}

Status checkCounts(const RecallSource& source, const NewStatement& statement, std::size_t wanted) {
  KILN_ASSIGN(const auto recalls, recallsInForce(source));
  if (!recalls) return {};
  if (const auto* entry =
          recalls->touches(statement.place, statement.keyId, statement.sources, statement.devices))
    return refused(*entry);
  const signing::RecallEntry* last = nullptr;
  std::size_t counted = 0;
  for (const Maker& maker : statement.makers) {
    const auto* entry = touchesMaker(*recalls, statement.place, maker);
    if (entry) last = entry;
    counted += entry == nullptr;
  }
  return last && counted < wanted ? refused(*last) : Status();
}

}  // namespace kiln::service

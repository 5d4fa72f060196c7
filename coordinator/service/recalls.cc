#include "coordinator/service/recalls.h"

#include "coordinator/service/log.h"
#include "manifest/base/exit_code.h"
#include "signing/keys/files.h"
#include "signing/trust/signed_root.h"
#include "storage/index/recall_repository.h"

namespace kiln::service {
namespace {

Result<signing::RootFile> readRoot(const std::string& text) {
  KILN_ASSIGN(signing::RootFile root, signing::RootFile::parse(text));
  KILN_TRY(signing::checkSigned(root));
  return root;
}

Result<signing::Recalls> readRecalls(const index::RecallsRecord& record) {
  KILN_ASSIGN(const signing::RootFile root, readRoot(record.root));
  return signing::Recalls::parse(record.document, root.root);
}

Status checkFollows(const signing::Recalls& news, const index::RecallsRecord& before,
                    const signing::TrustRoot& root) {
  if (news.version <= before.version)
    return fail(Code::kFailedPrecondition, "version " + std::to_string(before.version) +
                                               " is in force; this is version " +
                                               std::to_string(news.version));
  // Under other recall keys, what the old ones said is gone.
  const auto old = signing::Recalls::parse(before.document, root);
  if (old && !news.extends(*old))
    return fail(Code::kDataLoss,
                "it leaves out recalls of version " + std::to_string(before.version) + ", which is in force");
  return {};
}

}  // namespace

Result<std::shared_ptr<const signing::Recalls>> recallsInForce(const Farm& farm) {
  KILN_ASSIGN(auto connection, farm.database.acquire());
  KILN_ASSIGN(auto record, index::newestRecalls(*connection));
  if (!record) return nullptr;
  const Digest evidence = digestOf(digestOf(record->root).hex() + digestOf(record->document).hex());
  if (auto known = farm.recalls->find(evidence)) return known;
  auto recalls = readRecalls(*record);
  if (!recalls)
    return fail(Code::kDataLoss, "recalls version " + std::to_string(record->version) +
                                     " in the database: " + recalls.error().message);
  auto read = std::make_shared<const signing::Recalls>(std::move(*recalls));
  farm.recalls->remember(evidence, read);
  return read;
}

Result<signing::Recalls> publishRecalls(const Farm& farm, const std::string& trustRoot,
                                        const std::string& document) {
  if (trustRoot.empty())
    return fail(Code::kFailedPrecondition,
                "this farm takes no recalls: its coordinator was started without --trust-root");
  KILN_ASSIGN(const std::string text, signing::readTextFile(trustRoot, 2 * signing::kMaxRootBytes));
  KILN_ASSIGN(const signing::RootFile root, readRoot(text));
  KILN_ASSIGN(signing::Recalls news, signing::Recalls::parse(document, root.root));
  KILN_TRY(farm.database.transact([&](postgres::Connection& connection) -> Status {
    KILN_ASSIGN(const auto before, index::newestRecalls(connection));
    if (before && before->document == document) return {};
    if (before) KILN_TRY(checkFollows(news, *before, root.root));
    return index::addRecalls(connection, {news.version, document, text, farm.clock.now()});
  }));
  logInfo("recalls in force",
          {{"version", std::to_string(news.version)}, {"recalls", std::to_string(news.entries.size())}});
  return news;
}

Status checkNotRecalled(const Farm& farm, std::span<const Digest> content) {
  KILN_ASSIGN(const auto recalls, recallsInForce(farm));
  if (!recalls) return {};
  for (const Digest& digest : content)
    if (const auto* entry = recalls->condemns(digest))
      return fail(Error{Code::kPermissionDenied, describe(*entry),
                        "{\"exitCode\":" + std::to_string(kExitVerification) + "}"});
  return {};
}

}  // namespace kiln::service

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "api/cli/base/exit_code.h"
#include "api/cli/base/print.h"
#include "api/cli/farm/backup_check.h"
#include "api/cli/farm/commands.h"
#include "api/cli/farm/postgres_tools.h"
#include "manifest/base/counted.h"
#include "manifest/base/presence.h"
#include "manifest/base/printable.h"
#include "storage/backup/make_backup.h"
#include "storage/backup/restore_backup.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string farm, database, out, from, digest;
  bool hardLinks = false, withKeys = false;
};

Json summary(const storage::BackupDocument& document) {
  return {{"createdOn", rfc3339(document.createdOn)},
          {"blobs", document.blobs},
          {"bytes", document.blobBytes},
          {"files", document.files.size()},
          {"damaged", document.damaged},
          {"digest", document.digest().text()}};
}

std::string inWords(const storage::BackupDocument& document) {
  return fmt::format("{}, {}, {}, the database of {}", counted(document.blobs, "blob"),
                     humanBytes(document.blobBytes), counted(document.files.size(), "other file"),
                     rfc3339(document.createdOn));
}

// What of a farm's blobs no backup holds.
void noteBucket(const std::string& farm) {
  std::string url;
  if (std::ifstream file(farm + "/" + storage::kStoreUrl); file && std::getline(file, url))
    note("the blobs stay in the bucket " + printable(url.substr(0, url.find('?'))) +
         ": its versions or a replica must keep what this database names, and only one farm may use it");
}

Status backup(Context& context, const Options& options) {
  const SystemClock clock;
  storage::BackupRequest request;
  request.farm = options.farm;
  request.destination = options.out;
  request.blobs = options.hardLinks ? storage::Transfer::kHardLink : storage::Transfer::kCopy;
  request.withKeys = options.withKeys;
  request.program = std::string("kiln ") + KILN_VERSION;
  request.now = clock.now();
  request.dumpDatabase = [&](const std::string& path) { return dumpDatabase(options.database, path); };
  request.check = checkBackup;
  if (const Status present = checkPresent(options.farm); !present) {
    if (present.error().code != Code::kNotFound) return present;
    return fail(Code::kNotFound, options.farm + ": no such folder; name the farm's, as infra/up --dir");
  }
  KILN_TRY(checkFarmDatabase(options.database, options.farm));
  KILN_ASSIGN(const auto document, storage::makeBackup(request));
  if (context.json) {
    printJson(summary(document));
  } else {
    printLine("backed up " + inWords(document) + " to " + options.out);
    printLine("its digest is " + document.digest().text());
  }
  noteBucket(options.farm);
  if (!options.withKeys) note("without keys/: keep the farm's private keys elsewhere, or give --with-keys");
  if (document.damaged.empty()) return {};
  for (const std::string& blob : document.damaged) note("damaged, and not in the backup: " + blob);
  context.reported = context.json;
  return fail(withExit(kExitVerification, Code::kDataLoss,
                       fmt::format("{} damaged; the backup holds the rest",
                                   counted(document.damaged.size(), "blob") + " of the farm" +
                                       (document.damaged.size() == 1 ? " is" : " are"))));
}

Status restore(Context& context, const Options& options) {
  storage::RestoreRequest request;
  request.source = options.from;
  request.farm = options.farm;
  if (!options.digest.empty()) {
    auto digest = Digest::parse(options.digest, 0);
    if (!digest) return fail(digest.error().in("--digest"));
    request.document = *digest;
  }
  request.check = [&](const std::string& backup) -> Status {
    KILN_TRY(checkEmptyDatabase(options.database));
    return checkBackup(backup);
  };
  request.loadDatabase = [&](const std::string& path) { return loadDatabase(options.database, path); };
  KILN_ASSIGN(const auto document, storage::restoreBackup(request));
  for (const storage::BackupFile& file : document.files)
    if (!storage::belongsInBackup(file.path))
      note("not brought back, since it is this machine's and no part of a backup: " + printable(file.path));
  if (context.json)
    printJson(summary(document));
  else
    printLine("restored " + inWords(document) + " to " + options.farm);
  noteBucket(options.farm);
  return {};
}

void addPlaces(CLI::App& command, Options& options) {
  command.add_option("--farm", options.farm, "The farm's directory, as infra/up --dir")->required();
  command.add_option("--database", options.database, "Its database, libpq connection string")->required();
}

}  // namespace

void addBackup(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  auto& command = addCommand(
      app, context, "backup", "Put a farm's database, blobs and state by, consistently, while it runs",
      "kiln backup --farm .kiln --database \"$(infra/postgres status .kiln/pg)\" --out /backups/2026-11-20",
      [&context, options] { return backup(context, *options); });
  addPlaces(command, *options);
  command.add_option("--out", options->out, "A directory to make, not in the farm's own")->required();
  command.add_flag("--hard-links", options->hardLinks, "Share the blobs' bytes instead of copying them");
  command.add_flag("--with-keys", options->withKeys,
                   "The private keys in keys/ as well: who has the backup can sign as the farm");
}

void addRestore(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  auto& command = addCommand(app, context, "restore",
                             "Bring a farm back from a backup, into a new directory and an empty database",
                             "kiln restore --from /backups/2026-11-20 --farm new --database "
                             "\"$(infra/postgres start new/pg | tail -n 1)\"",
                             [&context, options] { return restore(context, *options); });
  addPlaces(command, *options);
  command
      .add_option("--from", options->from,
                  "The backup. Without --digest, whoever could write to it decides what the database runs")
      ->required();
  command.add_option("--digest", options->digest,
                     "What kiln backup called its digest; another one is refused");
}

}  // namespace kiln::cli

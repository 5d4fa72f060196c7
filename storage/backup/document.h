// backup.json: what a backup holds, and by which digests. Form: manifest/schemas/backup.schema.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/json/json.h"

namespace kiln::storage {

inline constexpr std::size_t kMaxBackupDocumentBytes = 64u << 20;
inline constexpr char kBackupDocument[] = "backup.json";
inline constexpr char kBackupDump[] = "database.dump";  // of pg_dump, in its custom format
inline constexpr char kBackupState[] = "state";         // the farm's files that belong in a backup

// Whether a backup holds what lies at this path below the farm's directory. It does not hold what a start
// makes anew, what is backed up otherwise, what names a program of the machine, and what was in the making.
// Whoever brings a backup back places nothing else either: some of these are run.
bool belongsInBackup(std::string_view path);

// In a farm's directory: the URL of the bucket that its blobs lie in. Without it they lie in store/.
inline constexpr char kStoreUrl[] = "store.url";

// In a farm's directory while a restore into it is not whole: its database may be loaded already.
inline constexpr char kRestoreUnfinished[] = "restore.unfinished";

// One file of the farm's directory beside store and database.
struct BackupFile {
  std::string path;  // relative, safe
  Digest digest;
  unsigned mode = 0600;  // permission bits
  bool operator==(const BackupFile&) const = default;
};

struct BackupDocument {
  TimePoint createdOn;
  std::string program;  // the release that made it: "kiln 0.1.0"
  Digest database;      // of database.dump
  std::uint64_t blobs = 0, blobBytes = 0;
  std::vector<std::string>
      damaged;  // digests of blobs whose bytes no longer had them; they are not in the backup
  std::vector<BackupFile> files;  // sorted by path

  Json toJson() const;
  // Of backup.json's bytes. It covers everything in the backup but for the blobs, whose names are their
  // digests.
  Digest digest() const;
  // kInvalidArgument naming the member; unknown members and paths that leave the directory are refused.
  static Result<BackupDocument> parse(std::string_view text);
  bool operator==(const BackupDocument&) const = default;
};

}  // namespace kiln::storage

// A farm brought back from a backup (make_backup.h).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "storage/backup/document.h"

namespace kiln::storage {

struct RestoreRequest {
  std::string source;  // the backup
  // Of its backup.json, as it was told when the backup was made; nothing: whatever lies there is believed.
  std::optional<Digest> document = {};
  std::string farm;  // the farm's directory, made if need be; it must hold nothing that the backup brings
  // Whether the database and the state in the backup are of one farm; called before anything is made.
  std::function<Status(const std::string& backup)> check;
  // Loads PostgreSQL's dump into an empty database, all of it or nothing; called once all files are right.
  std::function<Status(const std::string& path)> loadDatabase;
};

// Whoever could write to a backup decides what the database is told to do, unless `document` is given.
//
// Everything is hashed on its way. Of the backup's files those are placed that belong in one. kDataLoss if
// backup.json is another one than `document`, a file, a blob or the dump is not what the backup says, or a
// blob that an instance has a reference to is missing without having been damaged before; kInvalidArgument
// for what is no regular file there; kAlreadyExists naming what is in the way. All or nothing: a failure
// leaves no files, and whatever ends the process neither; but once the database may be loaded, a farm's
// directory that was there before holds kRestoreUnfinished until the files have their names, and infra/up
// starts no farm there.
Result<BackupDocument> restoreBackup(const RestoreRequest& request);

}  // namespace kiln::storage

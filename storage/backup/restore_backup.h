// A farm brought back from a backup (make_backup.h).
#pragma once

#include <functional>
#include <string>

#include "storage/backup/document.h"

namespace kiln::storage {

struct RestoreRequest {
  std::string source;  // the backup
  std::string farm;    // the farm's directory, made if need be; it must hold nothing that the backup brings
  // Loads PostgreSQL's dump into an empty database; called once all files are in place and right.
  std::function<Status(const std::string& path)> loadDatabase;
};

// Everything is hashed on its way. kDataLoss if a file, a blob or the dump is not what the backup says, or a
// blob that an instance has a reference to is missing without having been damaged before; kInvalidArgument
// for what is no regular file there; kAlreadyExists naming what is in the way. All or nothing: a failure
// leaves neither files nor the farm's directory where that is new, so that the next try finds what the first
// found. Killed while it gives the files their names, the last act, it leaves some of them, and the next one
// names those.
Result<BackupDocument> restoreBackup(const RestoreRequest& request);

}  // namespace kiln::storage

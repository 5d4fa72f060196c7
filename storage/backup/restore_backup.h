// A farm brought back from a backup (make_backup.h).
#pragma once

#include <functional>
#include <string>

#include "storage/backup/document.h"

namespace kiln::storage {

struct RestoreRequest {
  std::string source;  // the backup
  std::string farm;    // the farm's directory, made if need be; it must hold no store
  // Loads PostgreSQL's dump into an empty database; called once all files are in place and right.
  std::function<Status(const std::string& path)> loadDatabase;
};

// Everything is hashed on its way. kDataLoss if a file, a blob or the dump is not what the backup says, or a
// blob that an instance has a reference to is missing without having been damaged before; kAlreadyExists if
// there is a store. The store gets its name last, so that a failure leaves nothing that would start.
Result<BackupDocument> restoreBackup(const RestoreRequest& request);

}  // namespace kiln::storage

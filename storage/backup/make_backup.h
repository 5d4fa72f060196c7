// A consistent set of a farm's database, blobs and state.
//
//   backup.json         what follows, written last
//   database.dump       PostgreSQL's, of one snapshot, taken first
//   store/              the blob store: blobs/, refs/, format; not there if the blobs lie in a bucket
//   state/              all else of the farm's directory but what a start makes anew
//
// Every blob that the dump names is there: blobs are durable before rows name them, and none is removed while
// the backup holds the store's lock against sweeps. What came later than the dump is there too, and does no
// harm. A bucket is not copied: state/store.url names it, and keeping what the dump names is up to the
// bucket's own versions or replication.
#pragma once

#include <functional>
#include <string>

#include "storage/backup/copy.h"
#include "storage/backup/document.h"

namespace kiln::storage {

struct BackupRequest {
  std::string farm;         // the farm's directory
  std::string destination;  // a directory that does not exist, or an empty one
  Transfer blobs = Transfer::kCopy;
  bool withKeys = false;  // the directory keys/ as well: whoever has the backup can then sign as the farm
  std::string program;    // "kiln 0.1.0"
  TimePoint now;
  // Writes PostgreSQL's dump to a new file at the path; called once the store's lock is held.
  std::function<Status(const std::string& path)> dumpDatabase;
  // Whether the database and the state in this backup, which is whole by now, are of one farm.
  std::function<Status(const std::string& backup)> check;
};

// kAlreadyExists if there is something at the destination, kNotFound if what it is to lie in is not there or
// the farm has no store. Damaged blobs are left out and listed in the document: their absence is the caller's
// to report. The destination gets its name once all of it is durable: a failure leaves nothing, and what a
// kill left beside it goes with the next backup to the same place.
Result<BackupDocument> makeBackup(const BackupRequest& request);

}  // namespace kiln::storage

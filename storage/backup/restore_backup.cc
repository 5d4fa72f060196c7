#include "storage/backup/restore_backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>

#include "manifest/base/file.h"
#include "manifest/base/new_directory.h"
#include "storage/backup/copy.h"
#include "storage/blob/store_directory.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

Status makeDirectories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return fail(errnoError(error.value(), path.string()));
  return {};
}

class Restore {
 public:
  Restore(const RestoreRequest& request, BackupDocument document)
      : request_(request), document_(std::move(document)) {
    std::ranges::copy_if(document_.files, std::back_inserter(files_),
                         [](const BackupFile& file) { return belongsInBackup(file.path); });
    hasStore_ = std::ranges::find(files_, kStoreUrl, &BackupFile::path) == files_.end();
  }

  Status run() {
    KILN_TRY(checkFree());
    KILN_ASSIGN(const Digest dump, digestOfFile(from(kBackupDump)));
    if (dump != document_.database)
      return fail(Code::kDataLoss, from(kBackupDump) + ": is not what was backed up");
    KILN_TRY(request_.check(request_.source));
    std::error_code error;
    return fs::exists(request_.farm, error) ? intoFolder() : intoNewFolder();
  }

 private:
  std::string from(const std::string& path) const { return request_.source + "/" + path; }
  std::string stateFile(const BackupFile& file) const {
    return from(std::string(kBackupState) + "/" + file.path);
  }

  // The whole of it gets its name at once.
  Status intoNewFolder() {
    std::error_code error;
    fs::path farm = fs::absolute(request_.farm, error);
    if (!farm.has_filename()) farm = farm.parent_path();
    KILN_TRY(makeDirectories(farm.parent_path()));
    KILN_ASSIGN(auto made, NewDirectory::make(request_.farm));
    KILN_TRY(stage(made.path()));
    KILN_TRY(request_.loadDatabase(from(kBackupDump)));
    return made.keep(0711).map_error(thoughLoaded);
  }

  // As infra/postgres makes one for the database. What comes between the database and the last of the names
  // is seen by whoever starts a farm.
  Status intoFolder() {
    KILN_ASSIGN(const auto staged, ScratchDirectory::make(request_.farm + "/.restore-"));
    KILN_TRY(stage(staged.path()));
    std::error_code error;
    const bool cutOff = fs::exists(marker(), error);
    KILN_TRY(mark());
    if (const Status loaded = request_.loadDatabase(from(kBackupDump)); !loaded) {
      // What was loaded by one that was cut off may still be there.
      if (!cutOff) static_cast<void>(unmark());
      return loaded;
    }
    KILN_TRY(staged.moveOut(names(), request_.farm).map_error(thoughLoaded));
    KILN_TRY(syncDirectory(request_.farm));
    return unmark();
  }

  static Error thoughLoaded(Error why) {
    why.message += "; the database is loaded already: start again with an empty one";
    return why;
  }

  std::string marker() const { return request_.farm + "/" + kRestoreUnfinished; }
  Status mark() const {
    KILN_ASSIGN(UniqueFd file, openFile(marker(), O_WRONLY | O_CREAT | O_NOFOLLOW, 0600, marker()));
    KILN_TRY(file.close(marker()));
    return syncDirectory(request_.farm);
  }
  Status unmark() const {
    if (::unlink(marker().c_str()) != 0) return fail(errnoError(errno, marker()));
    return syncDirectory(request_.farm);
  }

  // What the farm's directory will hold, the store last: without one nothing starts.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const BackupFile& file : files_)
      if (std::string top = file.path.substr(0, file.path.find('/')); out.empty() || out.back() != top)
        out.push_back(std::move(top));
    if (hasStore_) out.emplace_back("store");
    return out;
  }

  Status checkFree() const {
    std::error_code error;
    for (const std::string& name : names()) {
      const std::string taken = request_.farm + "/" + name;
      if (fs::symlink_status(taken, error).type() == fs::file_type::not_found) continue;
      return fail(Code::kAlreadyExists,
                  taken +
                      (fs::exists(marker(), error) ? " is left of a restore that was cut off" : " is there") +
                      "; restore into an empty directory and an empty database");
    }
    return {};
  }

  // All of it, in the folder `place`, right and durable.
  Status stage(const std::string& place) {
    staged_ = place;
    store_ = place + "/store";
    KILN_TRY(placeState());
    if (hasStore_) KILN_TRY(placeBlobs());
    if (hasStore_) KILN_TRY(placeReferences());
    return syncFileSystem(staged_);
  }

  Status placeState() {
    for (const BackupFile& file : files_) {
      const std::string to = staged_ + "/" + file.path;
      const fs::path parent = fs::path(to).parent_path();
      if (parent != fs::path(staged_) && !fs::exists(parent)) {
        KILN_TRY(makeDirectories(parent));
        if (::chmod(parent.c_str(), 0700) != 0) return fail(errnoError(errno, parent.string()));
      }
      KILN_ASSIGN(const Digest got, transferFile(stateFile(file), to, file.mode, Transfer::kCopy));
      if (got != file.digest) return fail(Code::kDataLoss, stateFile(file) + ": is not what was backed up");
    }
    return {};
  }

  Status placeBlobs() {
    KILN_TRY(StoreDirectory::open(from("store"), true));  // one of a newer format is refused
    KILN_TRY(StoreDirectory::open(store_, false));
    std::uint64_t count = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator at(from("store/blobs"), error), end; !error && at != end;
         at.increment(error)) {
      if (!at->is_regular_file(error)) continue;
      const std::string hex = at->path().filename().string();
      // Named here and not by where the file lies: a backup is foreign bytes.
      if (!Digest::parse(hex, 0) || at->path().parent_path().filename() != hex.substr(0, 2))
        return fail(Code::kDataLoss, at->path().string() + ": is not where a blob would be");
      const std::string to = store_ + "/blobs/" + hex.substr(0, 2) + "/" + hex;
      KILN_TRY(makeDirectories(fs::path(to).parent_path()));
      KILN_ASSIGN(const Digest got, transferFile(at->path().string(), to, 0444, Transfer::kCopy));
      if (got.hex() != hex)
        return fail(Code::kDataLoss, at->path().string() + ": its bytes are not its name's");
      ++count;
    }
    if (error) return fail(errnoError(error.value(), from("store/blobs")));
    if (count != document_.blobs)
      return fail(Code::kDataLoss, from("store/blobs") + ": holds " + std::to_string(count) +
                                       " blobs where there were " + std::to_string(document_.blobs));
    return {};
  }

  Status placeReferences() {
    std::error_code error;
    for (fs::directory_iterator instance(from("store/refs"), error), end; !error && instance != end;
         instance.increment(error)) {
      const std::string directory = store_ + "/refs/" + instance->path().filename().string();
      KILN_TRY(makeDirectories(directory));
      for (fs::directory_iterator at(instance->path(), error); !error && at != end; at.increment(error)) {
        const std::string hex = at->path().filename().string();
        if (!hasBytes(hex))
          return fail(Code::kDataLoss,
                      "the blob sha256:" + hex + " is missing, and an instance refers to it");
        KILN_TRY(transferFile(at->path().string(), directory + "/" + hex, 0600, Transfer::kCopy));
      }
    }
    if (error) return fail(errnoError(error.value(), from("store/refs")));
    return {};
  }

  bool hasBytes(const std::string& hex) const {
    return hex == digestOf("").hex() || fs::exists(store_ + "/blobs/" + hex.substr(0, 2) + "/" + hex) ||
           std::ranges::binary_search(document_.damaged, "sha256:" + hex);
  }

  const RestoreRequest& request_;
  const BackupDocument document_;
  std::vector<BackupFile> files_;  // of the document, those to place
  bool hasStore_ = true;           // not if the blobs lie in a bucket
  std::string staged_, store_;     // where they come together
};

Result<BackupDocument> restore(const RestoreRequest& request) {
  const std::string path = request.source + "/" + kBackupDocument;
  KILN_ASSIGN(const std::string text, readRegular(path, kMaxBackupDocumentBytes));
  if (request.document && digestOf(text).hash != request.document->hash)
    return fail(Code::kDataLoss,
                path + ": has the digest " + digestOf(text).text() + ", not " + request.document->text());
  auto document = BackupDocument::parse(text);
  if (!document) return fail(document.error().in(path));
  KILN_TRY(Restore(request, *document).run());
  return document;
}

}  // namespace

Result<BackupDocument> restoreBackup(const RestoreRequest& request) {
  auto restored = restore(request);
  if (!restored) return fail(restored.error().in("restore"));
  return restored;
}

}  // namespace kiln::storage

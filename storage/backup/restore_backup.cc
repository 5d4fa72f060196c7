#include "storage/backup/restore_backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "manifest/base/file.h"
#include "manifest/base/scratch_directory.h"
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
  // All of it is made in `staged`, a directory within the farm's, and moved to its place once it is right.
  Restore(const RestoreRequest& request, BackupDocument document, const std::string& staged)
      : request_(request), document_(std::move(document)), staged_(staged) {}

  Status run() {
    KILN_TRY(checkFree());
    KILN_ASSIGN(const Digest dump, digestOfFile(from(kBackupDump)));
    if (dump != document_.database)
      return fail(Code::kDataLoss, from(kBackupDump) + ": is not what was backed up");
    KILN_TRY(placeState());
    KILN_TRY(placeBlobs());
    KILN_TRY(placeReferences());
    KILN_TRY(syncFileSystem(staged_));
    KILN_TRY(request_.loadDatabase(from(kBackupDump)));
    KILN_TRY(move());
    return syncDirectory(request_.farm);
  }

 private:
  std::string from(const std::string& path) const { return request_.source + "/" + path; }

  // What the farm's directory will hold, the store last: without one nothing starts.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const BackupFile& file : document_.files)
      if (std::string top = file.path.substr(0, file.path.find('/')); out.empty() || out.back() != top)
        out.push_back(std::move(top));
    out.emplace_back("store");
    return out;
  }

  Status checkFree() const {
    for (const std::string& name : names()) {
      const std::string taken = request_.farm + "/" + name;
      std::error_code error;
      if (fs::symlink_status(taken, error).type() != fs::file_type::not_found)
        return fail(Code::kAlreadyExists, taken + " is there; restore into an empty directory");
    }
    return {};
  }

  // All of them, or after a failure none.
  Status move() const {
    std::vector<std::string> moved;
    for (const std::string& name : names()) {
      const std::string to = request_.farm + "/" + name;
      if (::renameat2(AT_FDCWD, (staged_ + "/" + name).c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) ==
          0) {
        moved.push_back(name);
        continue;
      }
      Error why = errnoError(errno, to);
      why.message += "; the database is loaded already: start again with an empty one";
      for (const std::string& back : moved)
        ::rename((request_.farm + "/" + back).c_str(), (staged_ + "/" + back).c_str());
      return fail(std::move(why));
    }
    return {};
  }

  Status placeState() {
    for (const BackupFile& file : document_.files) {
      const std::string to = staged_ + "/" + file.path;
      const fs::path parent = fs::path(to).parent_path();
      if (parent != fs::path(staged_) && !fs::exists(parent)) {
        KILN_TRY(makeDirectories(parent));
        if (::chmod(parent.c_str(), 0700) != 0) return fail(errnoError(errno, parent.string()));
      }
      KILN_ASSIGN(const Digest got, transferFile(from("state/" + file.path), to, file.mode, Transfer::kCopy));
      if (got != file.digest)
        return fail(Code::kDataLoss, from("state/" + file.path) + ": is not what was backed up");
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
  const std::string staged_, store_ = staged_ + "/store";
};

Result<BackupDocument> restore(const RestoreRequest& request) {
  const std::string path = request.source + "/" + kBackupDocument;
  KILN_ASSIGN(const std::string text, readRegular(path, kMaxBackupDocumentBytes));
  auto document = BackupDocument::parse(text);
  if (!document) return fail(document.error().in(path));
  std::error_code error;
  const bool fresh = fs::create_directories(request.farm, error);
  if (error) return fail(errnoError(error.value(), request.farm));
  if (fresh && ::chmod(request.farm.c_str(), 0711) != 0) return fail(errnoError(errno, request.farm));
  const auto place = [&]() -> Status {
    KILN_ASSIGN(const auto staged, ScratchDirectory::make(request.farm + "/.restore-"));
    return Restore(request, *document, staged.path()).run();
  };
  const Status done = place();
  if (!done && fresh) fs::remove(request.farm, error);
  if (!done) return fail(done.error());
  return document;
}

}  // namespace

Result<BackupDocument> restoreBackup(const RestoreRequest& request) {
  auto restored = restore(request);
  if (!restored) return fail(restored.error().in("restore"));
  return restored;
}

}  // namespace kiln::storage

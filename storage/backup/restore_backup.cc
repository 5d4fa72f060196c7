#include "storage/backup/restore_backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "manifest/base/file.h"
#include "storage/backup/copy.h"
#include "storage/blob/store_directory.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

Result<std::string> readDocument(const std::string& path) {
  KILN_ASSIGN(const UniqueFd file, openFile(path, O_RDONLY, 0, path));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return fail(errnoError(errno, path));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > kMaxBackupDocumentBytes) return fail(Code::kInvalidArgument, path + ": is too large");
  std::string text(size, '\0');
  KILN_TRY(readExactly(file.get(), {reinterpret_cast<std::uint8_t*>(text.data()), size}, 0, path));
  return text;
}

Status makeDirectories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return fail(errnoError(error.value(), path.string()));
  return {};
}

class Restore {
 public:
  explicit Restore(const RestoreRequest& request)
      : request_(request), staged_(request.farm + "/store.restoring") {}

  Result<BackupDocument> run() {
    KILN_ASSIGN(const std::string text, readDocument(from(kBackupDocument)));
    KILN_ASSIGN(document_, BackupDocument::parse(text));
    for (const std::string& taken : {request_.farm + "/store", staged_})
      if (fs::exists(taken))
        return fail(Code::kAlreadyExists, taken + " is there; restore into an empty directory");
    KILN_ASSIGN(const Digest dump, digestOfFile(from(kBackupDump)));
    if (dump != document_.database)
      return fail(Code::kDataLoss, from(kBackupDump) + ": is not what was backed up");
    std::error_code error;
    const bool fresh = fs::create_directories(request_.farm, error);
    if (error) return fail(errnoError(error.value(), request_.farm));
    if (fresh && ::chmod(request_.farm.c_str(), 0711) != 0) return fail(errnoError(errno, request_.farm));
    KILN_TRY(placeState());
    KILN_TRY(placeBlobs());
    KILN_TRY(placeReferences());
    KILN_TRY(syncFileSystem(request_.farm));
    KILN_TRY(request_.loadDatabase(from(kBackupDump)));
    const std::string store = request_.farm + "/store";
    if (::rename(staged_.c_str(), store.c_str()) != 0) return fail(errnoError(errno, store));
    KILN_TRY(syncDirectory(request_.farm));
    return std::move(document_);
  }

 private:
  std::string from(const std::string& path) const { return request_.source + "/" + path; }

  Status placeState() {
    for (const BackupFile& file : document_.files) {
      const std::string to = request_.farm + "/" + file.path;
      const fs::path parent = fs::path(to).parent_path();
      if (parent != fs::path(request_.farm) && !fs::exists(parent)) {
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
    KILN_TRY(StoreDirectory::open(staged_, false));
    std::uint64_t count = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator at(from("store/blobs"), error), end; !error && at != end;
         at.increment(error)) {
      if (!at->is_regular_file(error)) continue;
      const std::string hex = at->path().filename().string();
      // Named here and not by where the file lies: a backup is foreign bytes.
      if (!Digest::parse(hex, 0) || at->path().parent_path().filename() != hex.substr(0, 2))
        return fail(Code::kDataLoss, at->path().string() + ": is not where a blob would be");
      const std::string to = staged_ + "/blobs/" + hex.substr(0, 2) + "/" + hex;
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
      const std::string directory = staged_ + "/refs/" + instance->path().filename().string();
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
    return hex == digestOf("").hex() || fs::exists(staged_ + "/blobs/" + hex.substr(0, 2) + "/" + hex) ||
           std::ranges::binary_search(document_.damaged, "sha256:" + hex);
  }

  const RestoreRequest& request_;
  const std::string staged_;
  BackupDocument document_;
};

}  // namespace

Result<BackupDocument> restoreBackup(const RestoreRequest& request) {
  auto restored = Restore(request).run();
  if (!restored) return fail(restored.error().in("restore"));
  return restored;
}

}  // namespace kiln::storage

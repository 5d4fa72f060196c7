#include "storage/backup/make_backup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "manifest/base/durable_file.h"
#include "manifest/base/file.h"
#include "manifest/base/new_directory.h"
#include "manifest/spec/path.h"
#include "storage/blob/store_directory.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

constexpr char kKeys[] = "keys";

Status makeParents(const std::string& path) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return fail(errnoError(error.value(), path));
  return {};
}

// Calls `visit` with each regular file below `root` and its relative path. Sockets and links are passed over.
template <class F>
Status eachFile(const std::string& root, F visit) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(root, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_regular_file(error) || at->is_symlink(error)) continue;
    KILN_TRY(visit(at->path().string(), fs::path(at->path()).lexically_relative(root).generic_string()));
  }
  if (error) return fail(errnoError(error.value(), root));
  return {};
}

class Backup {
 public:
  // All of it is made in `directory`, which gets its name once it is whole and durable.
  Backup(const BackupRequest& request, NewDirectory directory)
      : request_(request), directory_(std::move(directory)) {}

  Result<BackupDocument> make() {
    std::error_code error;
    if (fs::exists(request_.farm + "/" + kStoreUrl, error))
      KILN_TRY(addDump());
    else
      KILN_TRY(addDumpAndStore(request_.farm + "/store"));
    KILN_TRY(addState());
    out_.createdOn = request_.now;
    out_.program = request_.program;
    KILN_TRY(syncFileSystem(directory_.path()));
    KILN_TRY(writeDocument());
    KILN_TRY(request_.check(directory_.path()));
    KILN_TRY(directory_.keep(0700));
    return std::move(out_);
  }

 private:
  std::string at(const std::string& path) const { return directory_.path() + "/" + path; }

  Status addDump() {
    const std::string dump = at(kBackupDump);
    KILN_TRY(request_.dumpDatabase(dump));
    KILN_ASSIGN(out_.database, digestOfFile(dump));
    return {};
  }

  Status addDumpAndStore(const std::string& store) {
    KILN_ASSIGN(const auto directory, StoreDirectory::open(store, true));
    KILN_ASSIGN(const UniqueFd noSweep, directory->lockNames(StoreDirectory::Sharing::kShared));
    KILN_TRY(addDump());
    KILN_TRY(addReferences(store));
    return addBlobs(store);
  }

  // Before the blobs: a reference is made after its blob, so each one read here finds its bytes there.
  Status addReferences(const std::string& store) {
    const std::string target = at("store/refs");
    KILN_TRY(makeParents(target + "/x"));
    KILN_TRY(eachFile(store + "/refs", [&](const std::string& from, const std::string& name) -> Status {
      KILN_TRY(makeParents(target + "/" + name));
      KILN_TRY(transferFile(from, target + "/" + name, 0600, Transfer::kCopy));
      return {};
    }));
    KILN_TRY(transferFile(store + "/format", at("store/format"), 0600, Transfer::kCopy));
    return {};
  }

  Status addBlobs(const std::string& store) {
    const std::string target = at("store/blobs");
    KILN_TRY(makeParents(target + "/x"));
    return eachFile(store + "/blobs", [&](const std::string& from, const std::string& name) -> Status {
      const std::string to = target + "/" + name;
      KILN_TRY(makeParents(to));
      auto digest = transferFile(from, to, 0444, request_.blobs);
      // A corrupt blob may have moved to quarantine meanwhile.
      if (!digest && digest.error().code == Code::kNotFound) return {};
      if (!digest) return fail(digest.error());
      if (digest->hex() == fs::path(name).filename().string()) {
        ++out_.blobs;
        out_.blobBytes += digest->size;
        return {};
      }
      out_.damaged.push_back("sha256:" + fs::path(name).filename().string());
      if (::unlink(to.c_str()) != 0) return fail(errnoError(errno, to));
      return {};
    });
  }

  Status addState() {
    std::error_code error;
    for (fs::directory_iterator at(request_.farm, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (!belongsInBackup(name) || (name == kKeys && !request_.withKeys)) continue;
      if (at->is_symlink(error)) continue;
      if (at->is_regular_file(error)) KILN_TRY(addFile(name));
      if (at->is_directory(error)) KILN_TRY(addDirectory(name));
    }
    if (error) return fail(errnoError(error.value(), request_.farm));
    std::ranges::sort(out_.files, {}, &BackupFile::path);
    std::ranges::sort(out_.damaged);
    return {};
  }

  // A log writes its tiles, then the checkpoint that covers them: read the other way round, none of them is
  // missing.
  Status addDirectory(const std::string& name) {
    const std::string checkpoint = name + "/checkpoint";
    KILN_TRY(addFile(checkpoint));
    return eachFile(request_.farm + "/" + name, [&](const std::string&, const std::string& below) -> Status {
      const std::string path = name + "/" + below;
      return path == checkpoint || !belongsInBackup(path) ? Status() : addFile(path);
    });
  }

  // One that is not there, or not any more, was of passing use to a running program.
  Status addFile(const std::string& name) {
    const std::string from = request_.farm + "/" + name, to = at(std::string(kBackupState) + "/" + name);
    struct stat status{};
    if (::stat(from.c_str(), &status) != 0) return errno == ENOENT ? Status() : fail(errnoError(errno, from));
    if (const Status safe = checkRelativePath(name); !safe)
      return fail(Code::kInvalidArgument, from + ": " + safe.error().message + "; rename it or move it away");
    KILN_TRY(makeParents(to));
    const auto mode = static_cast<unsigned>(status.st_mode) & 0777;
    const auto digest = transferFile(from, to, mode, Transfer::kCopy);
    if (!digest) return digest.error().code == Code::kNotFound ? Status() : fail(digest.error());
    out_.files.push_back({name, *digest, mode});
    return {};
  }

  Status writeDocument() {
    KILN_ASSIGN(const std::string text, toCanonicalJson(out_.toJson()));
    KILN_TRY(BackupDocument::parse(text));  // what could not be read again is no backup
    return writeNewFile(at(kBackupDocument), text, 0600);
  }

  const BackupRequest& request_;
  NewDirectory directory_;
  BackupDocument out_;
};

Status checkOutside(const std::string& place, const BackupRequest& request) {
  std::error_code error;
  const fs::path farm = fs::canonical(request.farm, error);
  if (error) return fail(errnoError(error.value(), request.farm));
  const fs::path inside = fs::path(place).lexically_relative(farm);
  if (!inside.empty() && *inside.begin() == "..") return {};
  return fail(
      Code::kInvalidArgument,
      request.destination + " lies in the farm's own directory; what destroys the farm takes it along");
}

Result<BackupDocument> make(const BackupRequest& request) {
  KILN_ASSIGN(const std::string place, NewDirectory::placeOf(request.destination));
  KILN_TRY(checkOutside(place, request));
  KILN_ASSIGN(auto directory, NewDirectory::make(place));
  return Backup(request, std::move(directory)).make();
}

}  // namespace

Result<BackupDocument> makeBackup(const BackupRequest& request) {
  auto made = make(request);
  if (!made) return fail(made.error().in("backup"));
  return made;
}

}  // namespace kiln::storage

#include "storage/blob/store_directory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <vector>

#include "manifest/base/durable_file.h"
#include "storage/blob/instance_name.h"

namespace kiln::storage {
namespace {

constexpr std::string_view kFormat = "kiln-blob-store 1\n";

std::string randomName() {
  std::uint8_t bytes[12];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return fmt::format("{}", ::getpid());
  return toHex(bytes);
}

}  // namespace

Result<std::unique_ptr<StoreDirectory>> StoreDirectory::open(const std::string& root, bool readOnly) {
  std::unique_ptr<StoreDirectory> store(new StoreDirectory(root));
  if (!readOnly) KILN_TRY(store->create());
  KILN_TRY(store->checkFormat());
  return store;
}

StoreDirectory::~StoreDirectory() {
  if (tempDirectory_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(tempDirectory_, ignored);
}

Status StoreDirectory::create() {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(root_).parent_path(), error);
  KILN_TRY(makeDirectory(root_, 0700));
  KILN_ASSIGN(UniqueFd lock, openFile(root_ + "/lock", O_RDWR | O_CREAT, 0600, root_ + "/lock"));
  while (::flock(lock.get(), LOCK_EX) != 0)
    if (errno != EINTR) return fail(errnoError(errno, root_ + "/lock"));
  // The format file comes last: with it, everything else is there.
  if (::access((root_ + "/format").c_str(), F_OK) != 0) {
    for (const char* name : {"/blobs", "/refs", "/tmp", "/quarantine"})
      KILN_TRY(makeDirectory(root_ + name, 0700));
    KILN_TRY(replaceFile(root_ + "/format", kFormat, 0600));
    KILN_TRY(syncDirectory(std::filesystem::absolute(root_).parent_path()));
  }
  return startTemp();
}

// Called with the start-up lock held, so that nobody sees a directory of tmp/ before its owner has locked it.
Status StoreDirectory::startTemp() {
  removeAbandonedTemp();
  tempDirectory_ = root_ + "/tmp/" + randomName();
  KILN_TRY(makeDirectory(tempDirectory_, 0700));
  KILN_ASSIGN(tempLock_, openFile(tempDirectory_, O_RDONLY | O_DIRECTORY, 0, tempDirectory_));
  if (::flock(tempLock_.get(), LOCK_EX | LOCK_NB) != 0) return fail(errnoError(errno, tempDirectory_));
  return {};
}

// What lies in tmp/ itself and is no directory has no owner who could lock it: it goes too. The entries are
// listed first, since a directory that changes may be read twice or not at all.
void StoreDirectory::removeAbandonedTemp() const {
  std::error_code error;
  std::vector<std::filesystem::directory_entry> entries;
  for (auto entry = std::filesystem::directory_iterator(root_ + "/tmp", error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    entries.push_back(*entry);
  for (const auto& entry : entries) {
    const bool directory = entry.symlink_status(error).type() == std::filesystem::file_type::directory;
    if (error) continue;  // gone meanwhile
    UniqueFd owner;
    if (directory) {
      auto opened = openFile(entry.path(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, "tmp");
      if (!opened || ::flock(opened->get(), LOCK_EX | LOCK_NB) != 0) continue;
      owner = std::move(*opened);
    }
    std::filesystem::remove_all(entry.path(), error);
  }
}

Status StoreDirectory::checkFormat() const {
  auto fd = openFile(root_ + "/format", O_RDONLY | O_NONBLOCK, 0, root_);
  if (!fd && fd.error().code == Code::kNotFound)
    return fail(Code::kNotFound, "no blob store at " + root_ + "; the coordinator makes one when it starts");
  if (!fd) return fail(fd.error());
  char text[64];
  ssize_t got = ::read(fd->get(), text, sizeof text);
  if (got < 0 || std::string_view(text, static_cast<std::size_t>(got)) != kFormat)
    return fail(Code::kFailedPrecondition,
                root_ + ": a blob store of another format; a newer release of Kiln made it");
  return {};
}

std::string StoreDirectory::blobShard(const Digest& digest) const {
  return fmt::format("{}/blobs/{:02x}", root_, digest.hash[0]);
}

std::string StoreDirectory::blobPath(const Digest& digest) const {
  return blobShard(digest) + "/" + digest.hex();
}

std::string StoreDirectory::quarantinePath(const Digest& digest) {
  return root_ + "/quarantine/" + digest.hex() + "." + randomName();
}

void StoreDirectory::clear(const std::string& path) {
  struct stat file{};
  if (::lstat(path.c_str(), &file) != 0 || S_ISREG(file.st_mode)) return;
  const std::string name = std::filesystem::path(path).filename();
  static_cast<void>(::rename(path.c_str(), (root_ + "/quarantine/" + name + "." + randomName()).c_str()));
}

std::string StoreDirectory::tempPath() {
  const MutexLock lock(mutex_);
  return fmt::format("{}/{}", tempDirectory_, nextName_++);
}

Result<std::string> StoreDirectory::referenceDirectory(const std::string& instance) const {
  KILN_ASSIGN(std::string name, instanceDirectoryName(instance));
  return root_ + "/refs/" + name;
}

Result<std::string> StoreDirectory::referencePath(const std::string& instance, const Digest& digest) const {
  KILN_ASSIGN(std::string directory, referenceDirectory(instance));
  return directory + "/" + digest.hex();
}

// Each process syncs the parent once by itself: another may have made the directory without having come so
// far.
Status StoreDirectory::prepareDirectory(const std::string& path) {
  if (prepared_.contains(path)) return {};
  KILN_TRY(makeDirectory(path, 0700));
  KILN_TRY(syncDirectory(std::filesystem::path(path).parent_path()));
  prepared_.insert(path);
  return {};
}

Status StoreDirectory::prepare(const std::string& instance) {
  KILN_ASSIGN(std::string references, referenceDirectory(instance));
  const MutexLock lock(mutex_);
  KILN_TRY(prepareDirectory(references));
  return shardsPrepared_ ? Status() : prepareShards();
}

// All of them at the first write, for one sync of the directory that they are in.
Status StoreDirectory::prepareShards() {
  const std::string blobs = root_ + "/blobs";
  for (int shard = 0; shard < 256; ++shard)
    KILN_TRY(makeDirectory(fmt::format("{}/{:02x}", blobs, shard), 0700));
  KILN_TRY(syncDirectory(blobs));
  shardsPrepared_ = true;
  return {};
}

// A descriptor of its own each time: flock() belongs to the open file, not to the thread.
Result<UniqueFd> StoreDirectory::lockNames(Sharing sharing) const {
  KILN_ASSIGN(UniqueFd lock, openFile(root_ + "/names.lock", O_RDWR | O_CREAT, 0600, root_ + "/names.lock"));
  while (::flock(lock.get(), sharing == Sharing::kShared ? LOCK_SH : LOCK_EX) != 0)
    if (errno != EINTR) return fail(errnoError(errno, root_ + "/names.lock"));
  return lock;
}

Result<std::uint64_t> StoreDirectory::usedBytes() const {
  std::uint64_t total = 0;
  std::error_code error;
  for (auto entry = std::filesystem::recursive_directory_iterator(root_ + "/blobs", error);
       !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    struct stat file{};
    if (::stat(entry->path().c_str(), &file) == 0 && S_ISREG(file.st_mode))
      total += static_cast<std::uint64_t>(file.st_size);
  }
  if (error) return fail(errnoError(error.value(), root_ + "/blobs"));
  return total;
}

}  // namespace kiln::storage

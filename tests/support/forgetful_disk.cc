#include "tests/support/forgetful_disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>

namespace kiln::testing_support {
namespace {

namespace fs = std::filesystem;

using Inode = std::pair<dev_t, ino_t>;

struct Name {
  Inode inode;
  bool isDirectory;
};
struct Disk {
  std::string root;
  std::map<Inode, std::map<std::string, Name>> names;  // of directories, as they were synced
  std::map<Inode, std::string> bytes;                  // of files, as they were synced
  std::function<int()> beforeNames;
};

std::mutex mutex;               // of what follows
std::unique_ptr<Disk> watched;  // global: fsync has no other way to it

Inode inodeOf(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

void syncFile(Disk& disk, const std::string& path, const Inode& inode) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  disk.bytes[inode] = text.str();
}

void syncNames(Disk& disk, const std::string& path, const Inode& inode) {
  auto& names = disk.names[inode];
  names.clear();
  for (const auto& entry : fs::directory_iterator(path)) {
    struct stat status{};
    if (::lstat(entry.path().c_str(), &status) == 0)
      names[entry.path().filename().string()] = {inodeOf(status), S_ISDIR(status.st_mode)};
  }
}

void sync(Disk& disk, const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (S_ISDIR(status.st_mode)) syncNames(disk, path, inodeOf(status));
  if (S_ISREG(status.st_mode)) syncFile(disk, path, inodeOf(status));
}

void syncAll(Disk& disk) {
  sync(disk, disk.root);
  for (const auto& entry : fs::recursive_directory_iterator(disk.root)) sync(disk, entry.path().string());
}

void bringBack(const Disk& disk, const Inode& inode, const std::string& to) {
  const auto names = disk.names.find(inode);
  if (names == disk.names.end()) return;
  for (const auto& [name, child] : names->second) {
    const std::string path = to + "/" + name;
    if (child.isDirectory) {
      fs::create_directory(path);
      bringBack(disk, child.inode, path);
    } else {
      const auto bytes = disk.bytes.find(child.inode);
      std::ofstream(path, std::ios::binary) << (bytes == disk.bytes.end() ? "" : bytes->second);
    }
  }
}

// The path that an open descriptor has now.
std::string pathOf(int fd) {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/fd/" + std::to_string(fd), ignored).string();
}

// What the test that watches wants of a sync of names; it may sync and copy itself.
int askHook(int fd, bool all) {
  thread_local bool within = false;
  std::function<int()> hook;
  {
    std::lock_guard lock(mutex);
    struct stat status{};
    if (within || !watched || ::fstat(fd, &status) != 0 || !(all || S_ISDIR(status.st_mode))) return 0;
    hook = watched->beforeNames;
  }
  if (!hook) return 0;
  within = true;
  const int error = hook();
  within = false;
  return error;
}

// 0, or the error number that this sync fails with.
int synced(int fd, bool all) {
  if (const int error = askHook(fd, all)) return error;
  std::lock_guard lock(mutex);
  struct stat status{};
  if (!watched || ::fstat(fd, &status) != 0) return 0;
  const std::string path = pathOf(fd);
  if (path != watched->root && !path.starts_with(watched->root + "/")) return 0;
  if (all)
    syncAll(*watched);
  else if (S_ISDIR(status.st_mode))
    syncNames(*watched, path, inodeOf(status));
  else
    syncFile(*watched, "/proc/self/fd/" + std::to_string(fd), inodeOf(status));
  return 0;
}

template <class Sync>
int syncAs(int fd, bool all, Sync sync) {
  if (const int error = synced(fd, all)) {
    errno = error;
    return -1;
  }
  return static_cast<int>(sync());
}

}  // namespace

ForgetfulDisk::ForgetfulDisk(std::string directory) {
  std::lock_guard lock(mutex);
  watched = std::make_unique<Disk>();
  watched->root = fs::canonical(directory).string();
  syncAll(*watched);
}

ForgetfulDisk::~ForgetfulDisk() {
  std::lock_guard lock(mutex);
  watched.reset();
}

void ForgetfulDisk::copyTo(const std::string& copy) const {
  std::lock_guard lock(mutex);
  struct stat status{};
  fs::create_directory(copy);
  if (::stat(watched->root.c_str(), &status) == 0) bringBack(*watched, inodeOf(status), copy);
}

void ForgetfulDisk::beforeNames(std::function<int()> hook) {
  std::lock_guard lock(mutex);
  watched->beforeNames = std::move(hook);
}

}  // namespace kiln::testing_support

extern "C" {

int fsync(int fd) {
  return kiln::testing_support::syncAs(fd, false, [fd] { return ::syscall(SYS_fsync, fd); });
}
int fdatasync(int fd) {
  return kiln::testing_support::syncAs(fd, false, [fd] { return ::syscall(SYS_fdatasync, fd); });
}
int syncfs(int fd) noexcept {
  return kiln::testing_support::syncAs(fd, true, [fd] { return ::syscall(SYS_syncfs, fd); });
}

}  // extern "C"

#include "manifest/base/scratch_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "manifest/base/mutex.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLetters = "XXXXXX";  // what mkdtemp replaces
// Those of this process. The mutex is held while one gets another name, so that removing finds all or nothing
// of it, and is never given back once all of them are removed.
struct Own {
  Mutex mutex;
  std::set<std::string> paths KILN_GUARDED_BY(mutex);
};
Own& own() {
  static auto* const all = new Own;  // outlives whoever runs as the process ends
  return *all;
}

constexpr int kOpen = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;

bool isAt(const UniqueFd& directory, const std::string& path) {
  struct stat opened{}, named{};
  return ::fstat(directory.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// What a read-only folder holds can be removed by root alone, so that they are made writable where need be.
void removeTree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  ::chmod(path.c_str(), 0700);
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    if (at->is_directory(error) && !at->is_symlink(error)) ::chmod(at->path().c_str(), 0700);
  fs::remove_all(path, error);
}

// Its owner holds the lock until it ends. Another user's is none of ours.
void removeIfAbandoned(const std::string& path) {
  const auto directory = openFile(path, kOpen, 0, path);
  struct stat facts{};
  if (!directory || ::fstat(directory->get(), &facts) != 0 || facts.st_uid != ::geteuid()) return;
  if (::flock(directory->get(), LOCK_EX | LOCK_NB) != 0 || !isAt(*directory, path)) return;
  removeTree(path);
}

// Listed first, since a directory that changes may be read twice or not at all.
void removeAbandoned(const fs::path& prefix) {
  const std::string name = prefix.filename().string();
  std::vector<std::string> left;
  std::error_code error;
  for (fs::directory_iterator at(prefix.parent_path(), error), end; !error && at != end;
       at.increment(error)) {
    const std::string each = at->path().filename().string();
    if (each.size() == name.size() + kLetters.size() && each.starts_with(name))
      left.push_back(at->path().string());
  }
  for (const std::string& path : left) removeIfAbandoned(path);
}

}  // namespace

Result<ScratchDirectory> ScratchDirectory::make(const std::string& prefix) {
  removeAbandoned(prefix);
  for (;;) {
    const MutexLock guard(own().mutex);
    std::string path = prefix + std::string(kLetters);
    if (::mkdtemp(path.data()) == nullptr)
      return fail(errnoError(errno, fs::path(prefix).parent_path().string()));
    auto lock = openFile(path, kOpen, 0, path);
    // A file system without locks has nothing removed by others either.
    if (lock) ::flock(lock->get(), LOCK_EX);
    if (lock && isAt(*lock, path)) {
      own().paths.insert(path);
      return ScratchDirectory(std::move(path), std::move(*lock));
    }
    // Before it was locked somebody may have taken it for an abandoned one.
    if (!lock && lock.error().code != Code::kNotFound) {
      ::rmdir(path.c_str());
      return fail(lock.error());
    }
  }
}

std::string ScratchDirectory::temporaryFolder() {
  const char* named = std::getenv("TMPDIR");
  std::error_code error;
  const fs::path folder = fs::absolute(named == nullptr || *named == '\0' ? "/tmp" : named, error);
  return (error ? fs::path("/tmp") : folder).string();
}

Result<ScratchDirectory> ScratchDirectory::makeTemporary(const std::string& name) {
  const std::string folder = temporaryFolder();
  auto made = make(folder + "/" + name);
  if (made) return made;
  Error error = made.error().in("folder for temporary files");
  if (error.code == Code::kNotFound) error.code = Code::kInvalidArgument;  // nothing that was asked for
  error.message += "; set TMPDIR to a folder that you may write and that has room";
  return fail(std::move(error));
}

ScratchDirectory::ScratchDirectory(ScratchDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

ScratchDirectory::~ScratchDirectory() {
  if (path_.empty()) return;
  const MutexLock guard(own().mutex);
  removeTree(path_);
  own().paths.erase(path_);
}

Status ScratchDirectory::moveTo(const std::string& destination) {
  const MutexLock guard(own().mutex);
  if (::rename(path_.c_str(), destination.c_str()) != 0) return fail(errnoError(errno, destination));
  own().paths.erase(std::exchange(path_, {}));
  return {};
}

Status ScratchDirectory::moveOut(const std::vector<std::string>& names, const std::string& folder) const {
  const MutexLock guard(own().mutex);
  const auto move = [](const std::string& from, const std::string& to) {
    return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string to = folder + "/" + names[i];
    if (move(path_ + "/" + names[i], to) == 0) continue;
    const int why = errno;
    while (i-- > 0) move(folder + "/" + names[i], path_ + "/" + names[i]);
    return fail(errnoError(why, to));
  }
  return {};
}

// No analysis: it is meant to end with the mutex held.
KILN_NO_ANALYSIS void ScratchDirectory::removeAllAndStop() {
  own().mutex.lock();
  // Another thread may still be filling one: what it makes meanwhile is found by the next round, and none
  // can be made in a directory that is gone.
  constexpr int kRounds = 100;
  for (const std::string& path : own().paths)
    for (int round = 0; round < kRounds && ::access(path.c_str(), F_OK) == 0; ++round) removeTree(path);
}

}  // namespace kiln

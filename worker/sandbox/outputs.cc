#include "worker/sandbox/outputs.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "manifest/base/file.h"
#include "manifest/base/printable.h"

namespace kiln::sandbox {
namespace {

constexpr mode_t kMayLook = S_IRUSR | S_IXUSR;  // of a directory's owner

UniqueFd openDir(int at, const char* name) {
  return UniqueFd(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
}

// At most `limit` names of the directory, without "." and "..", in no order.
Result<std::vector<std::string>> listNames(int dir, std::size_t limit) {
  const auto failed = [] { return fail(errnoError(errno, "cannot list a directory")); };
  std::vector<std::string> names;
  UniqueFd copy = openDir(dir, ".");
  if (!copy) return failed();
  std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(copy.get()), closedir);
  if (!stream) return failed();
  copy.release();
  while (names.size() < limit) {
    errno = 0;
    const dirent* entry = readdir(stream.get());
    if (entry == nullptr && errno != 0) return failed();
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

bool plainAscii(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

const char* kindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFLNK:
      return "a symbolic link";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    case S_IFBLK:
    case S_IFCHR:
      return "a device";
  }
  return "no regular file";
}

tl::unexpected<Error> over(const char* what, std::uint64_t limit) {
  return fail(Code::kOutOfRange, fmt::format("output: more than {} {}", limit, what));
}

class Walk {
 public:
  Walk(const Limits& limits, const std::function<Status(const OutputFile&)>& visit)
      : limits_(limits), visit_(visit) {}

  Status directory(int dir, const std::string& prefix, std::uint64_t depth) {
    if (depth > limits_.outputDepth) return over("levels of directories", limits_.outputDepth);
    KILN_ASSIGN(std::vector<std::string> names, listNames(dir, limits_.outputFiles - count_ + 1));
    std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) { return a < b; });
    for (const std::string& name : names) KILN_TRY(entry(dir, name, prefix + name, depth));
    return {};
  }

 private:
  Status entry(int dir, const std::string& name, const std::string& path, std::uint64_t depth) {
    if (++count_ > limits_.outputFiles) return over("files and directories", limits_.outputFiles);
    if (!plainAscii(name)) {
      return fail(Code::kInvalidArgument,
                  "output " + printable(path, 80) + ": the name is not printable ASCII");
    }
    if (path.size() > limits_.outputPathBytes)
      return over("bytes in the path of a file", limits_.outputPathBytes);
    struct stat info{};
    if (fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return fail(errnoError(errno, "output " + printable(path, 80)));
    }
    // Root could read it all the same, an ordinary user could not: the outcome must not depend on who the
    // worker is.
    const mode_t needed = S_ISDIR(info.st_mode) ? kMayLook : S_ISREG(info.st_mode) ? S_IRUSR : 0;
    if ((info.st_mode & needed) != needed) {
      return fail(Code::kInvalidArgument,
                  "output " + printable(path, 80) + ": its mode keeps its own user out; refused");
    }
    if (S_ISDIR(info.st_mode)) {
      const UniqueFd below = openDir(dir, name.c_str());
      if (!below) return fail(errnoError(errno, "output " + printable(path, 80)));
      return directory(below.get(), path + "/", depth + 1);
    }
    if (!S_ISREG(info.st_mode)) {
      return fail(Code::kInvalidArgument, "output " + printable(path, 80) + " is " + kindOf(info.st_mode) +
                                              "; only regular files and directories are collected");
    }
    return file(dir, name, path);
  }

  Status file(int dir, const std::string& name, const std::string& path) {
    const UniqueFd fd(openat(dir, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat info{};
    if (!fd || fstat(fd.get(), &info) != 0) return fail(errnoError(errno, "output " + printable(path, 80)));
    if (!S_ISREG(info.st_mode) || info.st_nlink != 1) {
      return fail(Code::kInvalidArgument,
                  "output " + printable(path, 80) + " is a hard link or was replaced; refused");
    }
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (size > limits_.fileBytes) return over("bytes in one file", limits_.fileBytes);
    if (size > limits_.outputBytes - bytes_) return over("bytes in all", limits_.outputBytes);
    bytes_ += size;
    return visit_({path, fd.get(), size, (info.st_mode & S_IXUSR) != 0});
  }

  const Limits& limits_;
  const std::function<Status(const OutputFile&)>& visit_;
  std::uint64_t count_ = 0, bytes_ = 0;
};

class UseCheck {
 public:
  UseCheck(const Limits& limits, std::uint64_t unseen) : limits_(limits), bytes_(unseen) {}

  Status directory(int dir, std::uint64_t depth) {
    if (depth > limits_.outputDepth) return over("levels of directories", limits_.outputDepth);
    const auto names = listNames(dir, limits_.outputFiles - count_ + 1);
    if (!names) return {};
    for (const std::string& name : *names) {
      if (++count_ > limits_.outputFiles) return over("files and directories", limits_.outputFiles);
      struct stat info{};
      if (fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (S_ISDIR(info.st_mode)) {
        if ((info.st_mode & kMayLook) != kMayLook)
          return fail(Code::kInvalidArgument,
                      "output " + printable(name, 80) + ": its mode keeps its own user out; refused");
        if (const UniqueFd below = openDir(dir, name.c_str())) KILN_TRY(directory(below.get(), depth + 1));
        continue;
      }
      const auto size = static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0));
      if (size > limits_.outputBytes - bytes_) return over("bytes in all", limits_.outputBytes);
      bytes_ += size;
    }
    return {};
  }

 private:
  const Limits& limits_;
  std::uint64_t bytes_, count_ = 0;
};

// Unlinks a file or an empty directory.
bool unlinkOne(int dir, const char* name) {
  return unlinkat(dir, name, 0) == 0 || unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

constexpr std::size_t kBatch = 4096;

// Empties root/name by moving the directories found in it up into root, where their turn comes later: no
// recursion, so neither the depth of the tree nor the length of its paths matters.
Status flatten(int root, const std::string& name, std::uint64_t& serial) {
  fchmodat(root, name.c_str(), 0700, 0);
  const UniqueFd dir = openDir(root, name.c_str());
  if (!dir) return fail(errnoError(errno, "cannot open a directory to remove it"));
  while (true) {
    KILN_ASSIGN(const std::vector<std::string> names, listNames(dir.get(), kBatch));
    if (names.empty()) break;
    for (const std::string& child : names) {
      if (unlinkOne(dir.get(), child.c_str())) continue;
      fchmodat(dir.get(), child.c_str(), 0700, 0);
      int tries = 0;
      while (renameat(dir.get(), child.c_str(), root, fmt::format("kiln.trash.{}", ++serial).c_str()) != 0) {
        if (++tries > 1000) return fail(errnoError(errno, "cannot remove " + printable(child, 80)));
      }
    }
  }
  return {};
}

}  // namespace

Status visitOutputs(const std::string& dir, const Limits& limits,
                    const std::function<Status(const OutputFile&)>& visit) {
  const UniqueFd root = openDir(AT_FDCWD, dir.c_str());
  if (!root) return fail(errnoError(errno, "output directory"));
  return Walk(limits, visit).directory(root.get(), "", 1);
}

Status checkOutputUse(const std::string& dir, const Limits& limits, std::uint64_t unseen) {
  const UniqueFd root = openDir(AT_FDCWD, dir.c_str());
  if (!root) return fail(errnoError(errno, "output directory"));
  if (unseen > limits.outputBytes) return over("bytes in all", limits.outputBytes);
  return UseCheck(limits, unseen).directory(root.get(), 1);
}

Status removeTree(const std::string& path) {
  chmod(path.c_str(), 0700);
  const UniqueFd root = openDir(AT_FDCWD, path.c_str());
  if (!root) {
    if (errno == ENOENT) return {};
    return fail(errnoError(errno, "cannot remove " + path));
  }
  std::uint64_t serial = 0;
  while (true) {
    KILN_ASSIGN(const std::vector<std::string> names, listNames(root.get(), kBatch));
    if (names.empty()) break;
    for (const std::string& name : names) {
      if (unlinkOne(root.get(), name.c_str())) continue;
      KILN_TRY(flatten(root.get(), name, serial));
      if (!unlinkOne(root.get(), name.c_str()))
        return fail(errnoError(errno, "cannot remove " + printable(name, 80)));
    }
  }
  if (rmdir(path.c_str()) != 0) return fail(errnoError(errno, "cannot remove " + path));
  return {};
}

}  // namespace kiln::sandbox

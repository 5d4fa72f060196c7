#include "worker/sandbox/output_walk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"
#include "worker/sandbox/open_directory.h"

namespace kiln::sandbox {
namespace {

constexpr std::size_t kMaxTarget = 4095;  // what Linux itself allows

std::string shown(const std::string& path) {
  return "output " + printable(path, 80);
}

tl::unexpected<Error> refused(const std::string& path, const std::string& why) {
  return fail(Code::kInvalidArgument, shown(path) + why);
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

}  // namespace

tl::unexpected<Error> overLimit(const char* what, std::uint64_t limit) {
  return fail(Code::kOutOfRange, fmt::format("output: more than {} {}", limit, what));
}

bool letsOwnerLook(mode_t directory) {
  constexpr mode_t kLook = S_IRUSR | S_IXUSR;
  return (directory & kLook) == kLook;
}

Result<OutputWalk> OutputWalk::open(const std::string& directory, const Limits& limits, OutputForm form) {
  UniqueFd root = openDirectory(AT_FDCWD, directory.c_str());
  if (!root) return fail(errnoError(errno, "output directory"));
  return OutputWalk(std::move(root), limits, form);
}

Status OutputWalk::everything(const Visit& visit) {
  return directory(root_.get(), "", 1, visit);
}

Result<bool> OutputWalk::at(const std::string& path, const Visit& visit) {
  if (path.empty()) {
    KILN_TRY(visit({.path = "", .kind = OutputKind::kDirectory}));
    KILN_TRY(everything(visit));
    return true;
  }
  UniqueFd parent = openDirectory(root_.get(), ".");
  if (!parent) return fail(errnoError(errno, shown(path)));
  std::uint64_t depth = 1;
  std::size_t begin = 0;
  for (std::size_t slash; (slash = path.find('/', begin)) != std::string::npos; begin = slash + 1, ++depth) {
    const std::string name = path.substr(begin, slash - begin);
    struct stat info{};
    if (fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return false;
      return fail(errnoError(errno, shown(path)));
    }
    if (S_ISLNK(info.st_mode))
      return refused(path, ": " + printable(path.substr(0, slash), 80) +
                               " above it is a symbolic link, which is not followed");
    if (!S_ISDIR(info.st_mode)) return false;
    if (!letsOwnerLook(info.st_mode)) return refused(path, ": a directory above it keeps its own user out");
    parent = openDirectory(parent.get(), name.c_str());
    if (!parent) return fail(errnoError(errno, shown(path)));
  }
  const std::string name = path.substr(begin);
  struct stat info{};
  if (fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    return fail(errnoError(errno, shown(path)));
  }
  KILN_TRY(entry(parent.get(), name, path, depth, visit));
  return true;
}

Status OutputWalk::directory(int dir, const std::string& prefix, std::uint64_t depth, const Visit& visit) {
  if (depth > limits_.outputDepth) return overLimit("levels of directories", limits_.outputDepth);
  KILN_ASSIGN(std::vector<std::string> names, listNames(dir, limits_.outputFiles - count_ + 1));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) KILN_TRY(entry(dir, name, prefix + name, depth, visit));
  return {};
}

Status OutputWalk::checkName(const std::string& name, const std::string& path) const {
  if (form_ == OutputForm::kForeign) {
    if (!isPlainText(name)) return refused(path, ": the name is not UTF-8 without control characters");
  } else if (!std::ranges::all_of(name, [](char c) { return c >= 0x20 && c <= 0x7e; })) {
    return refused(path, ": the name is not printable ASCII");
  }
  if (path.size() > limits_.outputPathBytes)
    return overLimit("bytes in the path of a file", limits_.outputPathBytes);
  return {};
}

Status OutputWalk::entry(int dir, const std::string& name, const std::string& path, std::uint64_t depth,
                         const Visit& visit) {
  if (++count_ > limits_.outputFiles) return overLimit("files and directories", limits_.outputFiles);
  KILN_TRY(checkName(name, path));
  struct stat info{};
  if (fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail(errnoError(errno, shown(path)));
  }
  const bool closed = S_ISDIR(info.st_mode)   ? !letsOwnerLook(info.st_mode)
                      : S_ISREG(info.st_mode) ? (info.st_mode & S_IRUSR) == 0
                                              : false;
  if (closed) return refused(path, ": its mode keeps its own user out; refused");
  if (S_ISDIR(info.st_mode)) {
    const UniqueFd below = openDirectory(dir, name.c_str());
    if (!below) return fail(errnoError(errno, shown(path)));
    KILN_TRY(visit({.path = path, .kind = OutputKind::kDirectory}));
    return directory(below.get(), path + "/", depth + 1, visit);
  }
  const bool foreign = form_ == OutputForm::kForeign;
  if (foreign && S_ISLNK(info.st_mode)) return symlink(dir, name, path, visit);
  if (!S_ISREG(info.st_mode)) {
    return refused(path, std::string(" is ") + kindOf(info.st_mode) +
                             (foreign ? "; only regular files, directories and symbolic links are collected"
                                      : "; only regular files and directories are collected"));
  }
  return file(dir, name, path, visit);
}

Status OutputWalk::file(int dir, const std::string& name, const std::string& path, const Visit& visit) {
  const UniqueFd fd(openat(dir, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info{};
  if (!fd || fstat(fd.get(), &info) != 0) return fail(errnoError(errno, shown(path)));
  // A foreign action's files are all its own: its input root is a private copy, and no link leads out of a
  // mount.
  if (!S_ISREG(info.st_mode) || (info.st_nlink != 1 && form_ == OutputForm::kPlain))
    return refused(path, " is a hard link or was replaced; refused");
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > limits_.fileBytes) return overLimit("bytes in one file", limits_.fileBytes);
  if (size > limits_.outputBytes - bytes_) return overLimit("bytes in all", limits_.outputBytes);
  bytes_ += size;
  return visit({.path = path, .fd = fd.get(), .size = size, .executable = (info.st_mode & S_IXUSR) != 0});
}

Status OutputWalk::symlink(int dir, const std::string& name, const std::string& path, const Visit& visit) {
  std::string target(kMaxTarget + 1, '\0');
  const ssize_t got = readlinkat(dir, name.c_str(), target.data(), target.size());
  if (got < 0) return fail(errnoError(errno, shown(path)));
  target.resize(static_cast<std::size_t>(got));
  if (target.empty() || target.size() > kMaxTarget || !isPlainText(target))
    return refused(path, " is a symbolic link whose target is not UTF-8 without control characters");
  return visit({.path = path, .kind = OutputKind::kSymlink, .target = std::move(target)});
}

}  // namespace kiln::sandbox

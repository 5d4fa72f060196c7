#include "worker/sandbox/outputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "manifest/base/file.h"
#include "manifest/base/printable.h"
#include "worker/sandbox/open_directory.h"
#include "worker/sandbox/output_walk.h"

namespace kiln::sandbox {
namespace {

class UseCheck {
 public:
  UseCheck(const Limits& limits, std::uint64_t unseen, const Use& before)
      : limits_(limits), before_(before), bytes_(unseen) {}

  Status directory(int dir, std::uint64_t depth) {
    if (depth > limits_.outputDepth) return overLimit("levels of directories", limits_.outputDepth);
    const auto names = listNames(dir, limits_.outputFiles + before_.entries - count_ + 1);
    if (!names) return {};
    for (const std::string& name : *names) {
      if (++count_ > limits_.outputFiles + before_.entries)
        return overLimit("files and directories", limits_.outputFiles);
      struct stat info{};
      if (fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (S_ISDIR(info.st_mode)) {
        if (!letsOwnerLook(info.st_mode))
          return fail(Code::kInvalidArgument,
                      "output " + printable(name, 80) + ": its mode keeps its own user out; refused");
        if (const UniqueFd below = openDirectory(dir, name.c_str()))
          KILN_TRY(directory(below.get(), depth + 1));
        continue;
      }
      const auto size = static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0));
      if (size > limits_.outputBytes + before_.bytes - bytes_)
        return overLimit("bytes in all", limits_.outputBytes);
      bytes_ += size;
    }
    return {};
  }

 private:
  const Limits& limits_;
  const Use& before_;
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
  const UniqueFd dir = openDirectory(root, name.c_str());
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
  KILN_ASSIGN(OutputWalk walk, OutputWalk::open(dir, limits, OutputForm::kPlain));
  return walk.everything([&](const OutputEntry& entry) -> Status {
    if (entry.kind != OutputKind::kFile) return {};
    return visit({entry.path, entry.fd, entry.size, entry.executable});
  });
}

Status checkOutputUse(const std::string& dir, const Limits& limits, std::uint64_t unseen, const Use& before) {
  const UniqueFd root = openDirectory(AT_FDCWD, dir.c_str());
  if (!root) return fail(errnoError(errno, "output directory"));
  if (unseen > limits.outputBytes + before.bytes) return overLimit("bytes in all", limits.outputBytes);
  return UseCheck(limits, unseen, before).directory(root.get(), 1);
}

Status removeTree(const std::string& path) {
  chmod(path.c_str(), 0700);
  const UniqueFd root = openDirectory(AT_FDCWD, path.c_str());
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

#include "worker/executor/foreign_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "manifest/base/printable.h"
#include "worker/executor/input_root.h"

namespace kiln::executor {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kReserved = {"dev", "proc", "tmp", "work"};
constexpr std::size_t kMaxRootEntries = 24;  // the sandbox has 32 binds, for devices and the input root too

// mkdir -p below `root`, with nothing followed: whoever made the tree chose its links.
Status makeDirectories(const std::string& root, const std::string& path) {
  for (std::size_t end = 0; end != std::string::npos && !path.empty();) {
    end = path.find('/', end == 0 ? 0 : end + 1);
    const std::string below = path.substr(0, end);
    const std::string full = root + "/" + below;
    struct stat info{};
    if (lstat(full.c_str(), &info) != 0) {
      if (errno != ENOENT) return fail(errnoError(errno, "input tree: " + printable(below)));
      KILN_TRY(makeDirectory(full, 0755));
    } else if (!S_ISDIR(info.st_mode)) {
      return fail(Code::kInvalidArgument,
                  "input tree: " + printable(below) +
                      " is no directory, and the action works in it or writes below it");
    }
  }
  return {};
}

std::string parentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

Status give(const std::string& path, uid_t uid) {
  if (geteuid() == 0 && lchown(path.c_str(), uid, static_cast<gid_t>(uid)) != 0)
    return fail(errnoError(errno, "input tree"));
  return {};
}

}  // namespace

Result<sandbox::Use> makeOwn(const std::string& root, const ActionPlan& plan, uid_t uid) {
  KILN_TRY(makeDirectories(root, plan.workingDirectory));
  for (const PlannedOutput& output : plan.outputs) KILN_TRY(makeDirectories(root, parentOf(output.inRoot)));
  sandbox::Use use;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(root, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    KILN_TRY(give(entry->path(), uid));
    const fs::file_status status = entry->symlink_status(error);
    if (fs::is_directory(status)) KILN_TRY(setOldTime(entry->path()));
    if (fs::is_regular_file(status)) use.bytes += entry->file_size(error);
    ++use.entries;
  }
  if (error) return fail(errnoError(error.value(), "input tree"));
  KILN_TRY(give(root, uid));
  KILN_TRY(setOldTime(root));
  return use;
}

Status addRootEntries(const std::string& tree, std::vector<sandbox::Bind>& binds,
                      std::vector<sandbox::Link>& links) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(tree, error)) entries.push_back(entry.path());
  if (error) return fail(errnoError(error.value(), "root tree"));
  std::ranges::sort(entries);
  std::size_t count = 0;
  for (const fs::path& entry : entries) {
    const std::string name = entry.filename();
    const fs::file_status status = fs::symlink_status(entry, error);
    if (std::ranges::find(kReserved, name) != kReserved.end()) {
      if (fs::is_directory(status) && fs::is_empty(entry, error)) continue;
      return fail(Code::kInvalidArgument, "root tree: " + name +
                                              " is more than an empty directory; the "
                                              "sandbox has a /" +
                                              name + " of its own");
    }
    if (++count > kMaxRootEntries)
      return fail(Code::kInvalidArgument, "root tree: more than 24 entries at its top");
    if (fs::is_symlink(status))
      links.push_back({"/" + name, fs::read_symlink(entry, error).string()});
    else
      binds.push_back({entry, "/" + name, false});
  }
  if (error) return fail(errnoError(error.value(), "root tree"));
  return {};
}

}  // namespace kiln::executor

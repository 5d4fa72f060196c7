#include "storage/source/git_files.h"

#include <fmt/core.h>

#include <filesystem>

#include "manifest/base/file.h"
#include "manifest/base/glob.h"

namespace kiln::source {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNames = 1'000'000;
constexpr std::size_t kMaxPointer = 8192;  // the path in a file .git or commondir
constexpr std::size_t kMaxConfig = 1 << 20;
constexpr int kRefDepth = 64;

tl::unexpected<Error> malformed(const std::string& path, std::string_view why) {
  return fail(Code::kDataLoss, fmt::format("{} {}: no well-formed git repository", path, why));
}

// A directory's entries and those of the directories below it, down to a depth.
class KindCheck {
 public:
  Status look(const fs::path& directory, int depth) {
    std::error_code error;
    for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
      if (++names_ > kMaxNames)
        return fail(Code::kResourceExhausted,
                    fmt::format("{}: the repository has more than {} files; pack it: git gc",
                                directory.string(), kMaxNames));
      std::error_code unknown;  // a link that leads nowhere is opened in vain
      const fs::file_type type = at->status(unknown).type();
      if (type == fs::file_type::fifo || type == fs::file_type::character || type == fs::file_type::block)
        return malformed(at->path().string(), "is a FIFO or a device and no file");
      if (type == fs::file_type::directory && depth > 0) KILN_TRY(look(at->path(), depth - 1));
    }
    if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
      return fail(errnoError(error.value(), directory.string()));
    return {};
  }

 private:
  std::size_t names_ = 0;
};

// The path that a small file holds, after `prefix`; relative to the file's directory.
Result<std::string> followPointer(const fs::path& file, std::string_view prefix) {
  const auto text = readRegular(file.string(), kMaxPointer);
  if (!text && text.error().code != Code::kInvalidArgument) return fail(text.error());
  if (!text || !text->starts_with(prefix)) return malformed(file.string(), "holds no path");
  std::string path = text->substr(prefix.size());
  while (path.ends_with('\n') || path.ends_with('\r')) path.pop_back();
  std::error_code error;
  const fs::path target = fs::canonical(file.parent_path() / path, error);
  if (error) return malformed(file.string(), "leads nowhere");
  return target.string();
}

// Other files would be read with the rights of whoever builds.
Status checkConfig(const fs::path& file) {
  auto text = readRegular(file.string(), kMaxConfig);
  if (!text && text.error().code == Code::kNotFound) return {};
  if (!text && text.error().code == Code::kInvalidArgument)
    return malformed(file.string(), "is no file of at most 1 MiB");
  if (!text) return fail(text.error());
  if (lower(*text).find("[include") == text->npos) return {};
  return fail(Code::kDataLoss,
              fmt::format("{} includes other files, which is not followed; clone the repository "
                          "and name the clone",
                          file.string()));
}

Status checkAlternates(const fs::path& objects) {
  const fs::path file = objects / "info" / "alternates";
  std::error_code error;
  const auto status = fs::status(file, error);
  if (!fs::exists(status) || (fs::is_regular_file(status) && fs::file_size(file, error) == 0)) return {};
  return fail(
      Code::kUnimplemented,
      fmt::format("{}: the repository keeps objects in another one, which is not followed; run git repack "
                  "-a -d there and remove the file",
                  file.string()));
}

}  // namespace

Result<RepositoryFiles> checkRepositoryFiles(const std::string& directory) {
  std::error_code error;
  const fs::path root = fs::canonical(directory, error);
  if (error) return fail(errnoError(error.value(), "no git repository can be opened at " + directory));
  RepositoryFiles out{.git = root.string(), .common = {}, .objects = {}};
  const auto dotGit = fs::status(root / ".git", error);
  if (fs::is_directory(dotGit)) {
    out.git = fs::canonical(root / ".git", error).string();
  } else if (fs::exists(dotGit)) {
    KILN_ASSIGN(out.git, followPointer(root / ".git", "gitdir: "));
  }
  out.common = out.git;
  if (fs::exists(fs::path(out.git) / "commondir", error)) {
    KILN_ASSIGN(out.common, followPointer(fs::path(out.git) / "commondir", ""));
  }
  const fs::path git = out.git, common = out.common;
  out.objects = fs::weakly_canonical(common / "objects", error).string();

  KindCheck kinds;
  KILN_TRY(kinds.look(git, 0));
  KILN_TRY(kinds.look(git / "refs", kRefDepth));
  if (common != git) {
    KILN_TRY(kinds.look(common, 0));
    KILN_TRY(kinds.look(common / "refs", kRefDepth));
  }
  KILN_TRY(kinds.look(common / "info", 0));
  KILN_TRY(kinds.look(out.objects, 1));
  KILN_TRY(checkConfig(common / "config"));
  KILN_TRY(checkConfig(git / "config.worktree"));
  KILN_TRY(checkAlternates(out.objects));
  return out;
}

}  // namespace kiln::source

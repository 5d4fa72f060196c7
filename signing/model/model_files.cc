#include "signing/model/model_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <memory>

#include "manifest/base/printable.h"
#include "signing/model/model_manifest.h"

namespace kiln::signing {
namespace fs = std::filesystem;
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxEntries = 4 * kMaxModelFiles;

struct DirectoryClose {
  void operator()(DIR* listing) const { ::closedir(listing); }
};

// Opens one entry of a folder. `followLinks` as ModelRules has it.
Result<UniqueFd> openIn(int folder, const std::string& entry, const std::string& name, bool followLinks) {
  const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | (followLinks ? 0 : O_NOFOLLOW);
  UniqueFd opened(::openat(folder, entry.c_str(), flags));
  if (opened) return opened;
  if (errno == ELOOP)
    return fail(Code::kDataLoss,
                inQuotes(name) + (followLinks ? " is a link in a circle" : " is a symbolic link"));
  return fail(errnoError(errno, inQuotes(name)));
}

// Nothing for what is not below the folder.
std::vector<std::string> normalised(const std::vector<std::string>& paths) {
  std::vector<std::string> out = alwaysIgnored();
  for (const std::string& path : paths) {
    std::string normal = fs::path(path).lexically_normal().generic_string();
    if (normal.ends_with('/')) normal.pop_back();
    if (isResourceName(normal)) out.push_back(std::move(normal));
  }
  std::ranges::sort(out);
  const auto repeated = std::ranges::unique(out);
  out.erase(repeated.begin(), repeated.end());
  return out;
}

class Lister {
 public:
  Lister(bool followLinks, const std::vector<std::string>& ignored)
      : followLinks_(followLinks), ignored_(ignored) {}

  // `prefix` is "" or ends with a slash.
  Status visit(UniqueFd folder, const std::string& prefix, int depth) {
    if (depth > kMaxDepth)
      return fail(Code::kDataLoss, inQuotes(prefix) + " lies in more than " + std::to_string(kMaxDepth) +
                                       " folders" + (followLinks_ ? ", or in a circle of links" : ""));
    const std::unique_ptr<DIR, DirectoryClose> listing(::fdopendir(folder.get()));
    if (!listing) return fail(errnoError(errno, inQuotes(prefix)));
    folder.release();  // `listing` closes it
    while (const dirent* entry = ::readdir(listing.get())) {
      const std::string own = entry->d_name;
      if (own != "." && own != "..") KILN_TRY(take(::dirfd(listing.get()), own, prefix, depth));
    }
    return {};
  }

  std::vector<std::string> take() && {
    std::ranges::sort(names_);
    return std::move(names_);
  }

 private:
  Status take(int folder, const std::string& own, const std::string& prefix, int depth) {
    const std::string name = prefix + own;
    if (++entries_ > kMaxEntries || names_.size() >= kMaxModelFiles)
      return fail(Code::kDataLoss, "more than " + std::to_string(kMaxModelFiles) + " files");
    if (std::ranges::binary_search(ignored_, name)) return {};
    if (!isResourceName(name)) return fail(Code::kDataLoss, inQuotes(name) + " is not called in UTF-8");
    struct stat status{};
    if (::fstatat(folder, own.c_str(), &status, followLinks_ ? 0 : AT_SYMLINK_NOFOLLOW) != 0)
      return fail(errno == ENOENT && followLinks_
                      ? Error{Code::kDataLoss, inQuotes(name) + " is a link to nothing", {}}
                      : errnoError(errno, inQuotes(name)));
    if (S_ISLNK(status.st_mode))
      return fail(Code::kDataLoss, inQuotes(name) + " is a symbolic link, and the signature allows none");
    if (S_ISREG(status.st_mode)) {
      names_.push_back(name);
      return {};
    }
    if (!S_ISDIR(status.st_mode))
      return fail(Code::kDataLoss, inQuotes(name) + " is neither a file nor a folder");
    KILN_ASSIGN(UniqueFd opened, openIn(folder, own, name, followLinks_));
    return visit(std::move(opened), name + "/", depth + 1);
  }

  const bool followLinks_;
  const std::vector<std::string>& ignored_;
  std::vector<std::string> names_;
  std::size_t entries_ = 0;
};

}  // namespace

const std::vector<std::string>& alwaysIgnored() {
  static const std::vector<std::string> names{".git", ".gitattributes", ".github", ".gitignore"};
  return names;
}

Result<ModelFiles> ModelFiles::open(const std::string& path, const ModelRules& rules) {
  ModelFiles out;
  out.followLinks_ = rules.followLinks;
  out.ignored_ = normalised(rules.ignored);
  KILN_ASSIGN(UniqueFd opened, openFile(path, O_RDONLY | O_NONBLOCK, 0, path));
  struct stat status{};
  if (::fstat(opened.get(), &status) != 0) return fail(errnoError(errno, path));
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return fail(errnoError(error.value(), path));
  if (S_ISREG(status.st_mode)) {  // its name is the one that the user gave
    out.name_ = fs::path(path).filename().string();
    if (!isResourceName(out.name_)) return fail(Code::kDataLoss, path + ": is not called in UTF-8");
    KILN_ASSIGN(out.root_, openFile(fs::path(path).parent_path() / ".", O_RDONLY | O_DIRECTORY, 0, path));
    out.isFile_ = true;
    out.names_ = {out.name_};
    return out;
  }
  if (!S_ISDIR(status.st_mode)) return fail(Code::kInvalidArgument, path + ": neither a file nor a folder");
  out.name_ = printable(real.filename().string());
  KILN_ASSIGN(out.root_, openFile(path, O_RDONLY | O_DIRECTORY, 0, path));
  Lister lister(rules.followLinks, out.ignored_);
  KILN_TRY(lister.visit(std::move(opened), "", 1).map_error([&](const Error& e) { return e.in(path); }));
  out.names_ = std::move(lister).take();
  return out;
}

Result<std::pair<UniqueFd, std::uint64_t>> ModelFiles::openFileAt(const std::string& name) const {
  const int root = root_.get();
  UniqueFd at;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    KILN_ASSIGN(at, openIn(at ? at.get() : root, name.substr(begin, end - begin), name, followLinks_));
    begin = end + 1;
  }
  struct stat status{};
  if (::fstat(at.get(), &status) != 0) return fail(errnoError(errno, inQuotes(name)));
  if (!S_ISREG(status.st_mode)) return fail(Code::kDataLoss, inQuotes(name) + " is no regular file");
  return std::pair(std::move(at), static_cast<std::uint64_t>(status.st_size));
}

Result<std::uint64_t> ModelFiles::size(const std::string& name) const {
  KILN_ASSIGN(const auto opened, openFileAt(name));
  return opened.second;
}

Result<Digest> ModelFiles::digest(const std::string& name) const {
  return digests(name, std::numeric_limits<std::uint64_t>::max()).map([](const FileDigests& both) {
    return both.whole;
  });
}

Result<FileDigests> ModelFiles::digests(const std::string& name, std::uint64_t shardBytes) const {
  KILN_ASSIGN(const auto opened, openFileAt(name));
  std::uint64_t left = opened.second;
  if (left / shardBytes > kMaxModelFiles)
    return fail(Code::kDataLoss,
                inQuotes(name) + " has more than " + std::to_string(kMaxModelFiles) + " shards");
  // One shard is the file.
  const bool several = left > shardBytes;
  FileDigests out;
  Hasher whole, shard;
  std::vector<std::uint8_t> buffer(kChunkBytes);
  std::uint64_t wanted = shardBytes;  // bytes that the shard still takes
  while (true) {
    const std::size_t most =
        several ? static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), wanted)) : buffer.size();
    const ssize_t got = ::read(opened.first.get(), buffer.data(), most);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errnoError(errno, inQuotes(name)));
    if (got == 0) break;
    const auto bytes = static_cast<std::size_t>(got);
    if (bytes > left) return fail(Code::kDataLoss, inQuotes(name) + " grew while it was read");
    left -= bytes;
    whole.update({buffer.data(), bytes});
    if (!several) continue;
    shard.update({buffer.data(), bytes});
    wanted -= bytes;
    if (wanted > 0) continue;
    out.shards.push_back(shard.finish());
    shard = Hasher();
    wanted = shardBytes;
  }
  out.whole = whole.finish();
  if (several && wanted < shardBytes) out.shards.push_back(shard.finish());
  if (!several && out.whole.size > 0) out.shards.push_back(out.whole);
  return out;
}

}  // namespace kiln::signing

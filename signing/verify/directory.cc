// An artifact directory as the source of a verification. Whoever wrote it may have planted links and special
// files.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "manifest/artifact/bundle_limit.h"
#include "manifest/artifact/fixture_list.h"
#include "manifest/base/file.h"
#include "manifest/base/printable.h"
#include "signing/verify/verify.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxEntries = 4096;
constexpr int kMaxDepth = 16;
constexpr char kFixtures[] = "fixtures";

// Opens `path` below `root`, following no symbolic link at any component. `path` has been checked to be
// relative and safe.
Result<UniqueFd> openBelow(int root, const std::string& path, int flags) {
  UniqueFd at(::dup(root));
  std::size_t begin = 0;
  while (true) {
    std::size_t slash = path.find('/', begin);
    std::string part = path.substr(begin, slash == std::string::npos ? slash : slash - begin);
    int how = slash == std::string::npos ? flags : O_DIRECTORY;
    UniqueFd next(::openat(at.get(), part.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | how));
    if (next.get() < 0) {
      if (errno == ELOOP) return fail(Code::kDataLoss, path + ": is a symbolic link");
      return fail(errnoError(errno, path));
    }
    at = std::move(next);
    if (slash == std::string::npos) return at;
    begin = slash + 1;
  }
}

Status readBelow(int root, const std::string& path, std::uint64_t limit,
                 const std::function<Status(Bytes)>& sink) {
  KILN_ASSIGN(UniqueFd file, openBelow(root, path, 0));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return fail(errnoError(errno, path));
  if (!S_ISREG(status.st_mode)) return fail(Code::kDataLoss, path + ": not a regular file");
  if (static_cast<std::uint64_t>(status.st_size) > limit)
    return fail(Code::kDataLoss, "is longer than " + std::to_string(limit) + " bytes");
  std::vector<std::uint8_t> buffer(1 << 20);
  while (true) {
    ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errnoError(errno, path));
    if (got == 0) return {};
    KILN_TRY(sink({buffer.data(), static_cast<std::size_t>(got)}));
  }
}

Result<std::string> textBelow(int root, const std::string& path, std::uint64_t limit) {
  std::string out;
  KILN_TRY(readBelow(root, path, limit, [&](Bytes bytes) -> Status {
    if (out.size() + bytes.size() > limit) return fail(Code::kDataLoss, path + ": grew while it was read");
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }));
  return out;
}

Result<std::vector<std::string>> readBundles(int root) {
  std::vector<std::string> names, out;
  auto opened = openBelow(root, "bundles", O_DIRECTORY);
  if (!opened) {
    if (opened.error().code == Code::kNotFound) return out;
    return fail(opened.error());
  }
  DIR* listing = ::fdopendir(opened->release());
  if (!listing) return fail(errnoError(errno, "bundles"));
  while (const dirent* entry = ::readdir(listing)) {
    std::string name = entry->d_name;
    if (name.ends_with(".sigstore.json")) names.push_back("bundles/" + name);
    if (names.size() > kMaxEntries) break;
  }
  ::closedir(listing);
  std::sort(names.begin(), names.end());
  BundleCount count;
  for (const std::string& name : names) {
    KILN_ASSIGN(std::string text, textBelow(root, name, kMaxBundleBytes));
    KILN_TRY(count.add(text.size()));
    out.push_back(std::move(text));
  }
  return out;
}

// The regular files below `folder`, which is below `root`, sorted; anything else than files and folders is
// refused.
class FileLister {
 public:
  explicit FileLister(int root) : root_(root) {}

  Result<std::vector<std::string>> list(const std::string& folder) {
    KILN_TRY(visit(folder, 0));
    std::sort(files_.begin(), files_.end());
    return std::move(files_);
  }

 private:
  Status visit(const std::string& folder, int depth) {
    if (depth > kMaxDepth) return fail(Code::kDataLoss, inQuotes(folder) + " is too deep");
    KILN_ASSIGN(UniqueFd opened, openBelow(root_, folder, O_DIRECTORY));
    DIR* listing = ::fdopendir(opened.get());
    if (!listing) return fail(errnoError(errno, folder));
    opened.release();
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(listing)) {
      std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(std::move(name));
      if (names.size() > kMaxEntries) break;
    }
    Status visited;
    for (std::size_t i = 0; visited && i < names.size(); ++i)
      visited = visitEntry(::dirfd(listing), names[i], folder, depth);
    ::closedir(listing);
    return visited;
  }

  Status visitEntry(int folderFd, const std::string& name, const std::string& folder, int depth) {
    const std::string path = folder + "/" + name;
    if (++entries_ > 2 * kMaxEntries)
      return fail(Code::kDataLoss, "more than " + std::to_string(2 * kMaxEntries) + " files and folders");
    struct stat status{};
    if (::fstatat(folderFd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return fail(errnoError(errno, path));
    if (S_ISDIR(status.st_mode)) return visit(path, depth + 1);
    if (S_ISLNK(status.st_mode)) return fail(Code::kDataLoss, inQuotes(path) + " is a symbolic link");
    if (!S_ISREG(status.st_mode)) return fail(Code::kDataLoss, inQuotes(path) + " is not a regular file");
    files_.push_back(path);
    return {};
  }

  const int root_;
  std::size_t entries_ = 0;
  std::vector<std::string> files_;
};

// Nothing if there is no fixtures/.
Result<std::optional<OfferedFixtures>> readFixtures(int root) {
  struct stat status{};
  if (::fstatat(root, kFixtures, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::optional<OfferedFixtures>();
    return fail(errnoError(errno, kFixtures));
  }
  if (!S_ISDIR(status.st_mode)) return fail(Code::kDataLoss, "fixtures is not a directory itself");
  KILN_ASSIGN(std::vector<std::string> files, FileLister(root).list(kFixtures));
  const std::string prefix = std::string(kFixtures) + "/", list = prefix + kFixtureList;
  OfferedFixtures out;
  KILN_ASSIGN(out.list, textBelow(root, list, kMaxFixtureListBytes));
  for (const std::string& path : files)
    if (path != list) out.files.push_back(path.substr(prefix.size()));
  return out;
}

Verdict refused(std::string check, const Error& error) {
  Verdict verdict;
  verdict.lines.push_back({false, std::move(check), error.message});
  return verdict;
}

}  // namespace

Verdict verifyDirectory(const DirectoryRequest& wanted, const TrustRoot& root, const Policy& policy,
                        const Clock& clock, const Known& known) {
  const auto& [directory, artifact, statementsOnly] = wanted;
  UniqueFd base(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (base.get() < 0) return refused("directory", errnoError(errno, directory));
  auto artifactJson = textBelow(base.get(), "artifact.json", kMaxOciManifestBytes);
  if (!artifactJson) return refused("artifact", artifactJson.error());
  auto bundles = readBundles(base.get());
  if (!bundles) return refused("bundles", bundles.error());
  VerifyRequest request{*artifactJson,
                        artifact,
                        [&](const ArtifactFile& file, const std::function<Status(Bytes)>& sink) {
                          return readBelow(base.get(), file.path, file.digest.size, sink);
                        },
                        std::move(*bundles),
                        {},
                        statementsOnly};
  if (!statementsOnly) {
    auto fixtures = readFixtures(base.get());
    if (!fixtures) return refused("fixtures", fixtures.error());
    request.fixtures = std::move(*fixtures);
  }
  return verifyArtifact(request, root, policy, clock, known);
}

Result<std::string> recallsIn(const std::string& directory) {
  KILN_ASSIGN(const UniqueFd base, openFile(directory, O_RDONLY | O_DIRECTORY, 0, directory));
  auto text = textBelow(base.get(), kRecallsFile, kMaxRecallsBytes);
  if (!text && text.error().code == Code::kNotFound) return std::string();
  return text;
}

}  // namespace kiln::signing

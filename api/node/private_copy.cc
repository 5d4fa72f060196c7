#include "api/node/private_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "manifest/artifact/bundle_limit.h"
#include "manifest/artifact/fixture_list.h"
#include "manifest/artifact/oci.h"
#include "manifest/base/file.h"
#include "signing/verify/verify.h"

namespace kiln::node {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxFiles = 100'000;

// A regular file below a directory that others may write, and how large it is.
struct Source {
  UniqueFd file;
  std::uint64_t size = 0;
  std::pair<dev_t, ino_t> id;
};

Result<Source> openSource(const fs::path& path, std::uint64_t limit) {
  Source source;
  KILN_ASSIGN(source.file, openFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, path.string()));
  struct stat facts{};
  if (::fstat(source.file.get(), &facts) != 0) return fail(errnoError(errno, path.string()));
  if (!S_ISREG(facts.st_mode)) return fail(Code::kDataLoss, path.string() + ": not a regular file");
  source.size = static_cast<std::uint64_t>(facts.st_size);
  source.id = {facts.st_dev, facts.st_ino};
  if (source.size > limit)
    return fail(Code::kDataLoss, path.string() + ": is longer than " + std::to_string(limit) + " bytes");
  return source;
}

Result<std::string> readText(const fs::path& path, std::uint64_t limit) {
  KILN_ASSIGN(const Source source, openSource(path, limit));
  std::string text(source.size, '\0');
  KILN_TRY(readExactly(source.file.get(), {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}, 0,
                       path.string()));
  return text;
}

// The first copy of each file that has been copied.
using Copies = std::map<std::pair<dev_t, ino_t>, fs::path>;

// Holes stay holes, and hard links links: a file takes no more room here than it does there, whatever size it
// claims.
Status copyFile(const Source& source, const fs::path& from, const fs::path& to, Copies& copies) {
  const auto [first, isNew] = copies.try_emplace(source.id, to);
  if (!isNew)
    return ::link(first->second.c_str(), to.c_str()) == 0 ? Status() : fail(errnoError(errno, to.string()));
  KILN_ASSIGN(const UniqueFd out, openFile(to, O_WRONLY | O_CREAT | O_EXCL, 0400, to.string()));
  std::vector<std::uint8_t> buffer(kChunkBytes);
  const auto size = static_cast<off_t>(source.size);
  for (off_t at = 0; at < size;) {
    const off_t data = ::lseek(source.file.get(), at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // nothing but a hole is left
    if (data < 0) return fail(errnoError(errno, from.string()));
    const off_t hole = std::min(::lseek(source.file.get(), data, SEEK_HOLE), size);
    if (hole < 0) return fail(errnoError(errno, from.string()));
    if (::lseek(out.get(), data, SEEK_SET) < 0) return fail(errnoError(errno, to.string()));
    for (at = data; at < hole;) {
      const std::span<std::uint8_t> part(buffer.data(), static_cast<std::size_t>(std::min<off_t>(
                                                            hole - at, static_cast<off_t>(kChunkBytes))));
      KILN_TRY(readExactly(source.file.get(), part, static_cast<std::uint64_t>(at), from.string()));
      KILN_TRY(writeAll(out.get(), part, to.string()));
      at += static_cast<off_t>(part.size());
    }
  }
  if (::ftruncate(out.get(), size) != 0) return fail(errnoError(errno, to.string()));
  return {};
}

// What an artifact's own documents say that its files are. Nobody has signed for them yet: a file that is
// longer than they say would be refused after the copy, so it is refused before.
class Sizes {
 public:
  static Result<Sizes> of(const fs::path& directory) {
    Sizes sizes;
    KILN_ASSIGN(const std::string artifact, readText(directory / "artifact.json", kMaxOciManifestBytes));
    KILN_ASSIGN(const OciManifest oci, parseOciManifest(artifact));
    sizes.files_["artifact.json"] = artifact.size();
    sizes.files_["manifest.json"] = oci.config.size;
    for (const ArtifactFile& layer : oci.layers) sizes.files_[layer.path] = layer.digest.size;
    const fs::path list = fs::path("fixtures") / kFixtureList;
    std::error_code error;
    if (!fs::exists(fs::symlink_status(directory / list, error))) return sizes;
    KILN_ASSIGN(const std::string fixtures, readText(directory / list, kMaxFixtureListBytes));
    KILN_ASSIGN(const FixtureList parsed, parseFixtureList(fixtures));
    sizes.files_[list.string()] = fixtures.size();
    for (const FixtureFile& file : parsed.files) sizes.files_["fixtures/" + file.path] = file.digest.size;
    return sizes;
  }

  // Nothing for a file that is no part of an artifact.
  std::optional<std::uint64_t> limit(const std::string& path) const {
    if (auto found = files_.find(path); found != files_.end()) return found->second;
    if (path.starts_with("bundles/")) return kMaxBundleBytes;
    if (path == signing::kRecallsFile) return signing::kMaxRecallsBytes;
    return std::nullopt;
  }

 private:
  std::map<std::string, std::uint64_t> files_;
};

}  // namespace

Result<std::shared_ptr<PrivateCopy>> PrivateCopy::create() {
  KILN_ASSIGN(auto directory, ScratchDirectory::makeTemporary("kiln-artifact-"));
  return std::shared_ptr<PrivateCopy>(new PrivateCopy(std::move(directory)));
}

Result<std::shared_ptr<PrivateCopy>> PrivateCopy::of(const std::string& directory) {
  KILN_ASSIGN(const Sizes sizes, Sizes::of(directory));
  KILN_ASSIGN(auto copy, create());
  std::error_code error;
  std::size_t files = 0;
  BundleCount bundles;
  Copies copies;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const fs::path name = it->path().lexically_relative(directory), to = fs::path(copy->path()) / name;
    if (++files > kMaxFiles) return fail(Code::kDataLoss, directory + ": more than 100000 files");
    if (it->is_symlink(error)) return fail(Code::kDataLoss, it->path().string() + ": a symbolic link");
    if (it->is_directory(error)) {
      if (::mkdir(to.c_str(), 0700) != 0) return fail(errnoError(errno, to.string()));
    } else if (const auto limit = sizes.limit(name.string())) {
      KILN_ASSIGN(const Source source, openSource(it->path(), *limit));
      if (*name.begin() == "bundles")
        if (const Status fits = bundles.add(source.size); !fits) return fail(fits.error().in(directory));
      KILN_TRY(copyFile(source, it->path(), to, copies));
    } else if (*name.begin() == "fixtures") {
      return fail(Code::kDataLoss, it->path().string() + ": is not in the list of fixtures");
    }
  }
  if (error) return fail(errnoError(error.value(), directory));
  return copy;
}

}  // namespace kiln::node

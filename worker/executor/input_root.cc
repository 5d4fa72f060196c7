#include "worker/executor/input_root.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "storage/tree/directory.h"
#include "storage/tree/materialise.h"
#include "worker/sandbox/outputs.h"

namespace kiln::executor {
namespace {

constexpr std::uint64_t kMaxDirectory = 4 << 20;

Status addFile(storage::BlobStore& store, const std::string& instance, const reapi::FileNode& node,
               const std::string& path) {
  KILN_ASSIGN(const Digest digest, fromProto(node.digest()));
  KILN_TRY(storage::getFile(store, instance, digest, path, 0600));
  if (chmod(path.c_str(), node.is_executable() ? 0555 : 0444) != 0) return fail(errnoError(errno, "chmod"));
  return setOldTime(path);
}

Result<std::optional<Digest>> fill(storage::BlobStore& store, const std::string& instance,
                                   const reapi::Directory& root, const std::string& keepApart,
                                   const std::string& path) {
  for (const auto& node : root.files()) {
    const Status added = addFile(store, instance, node, path + "/" + node.name());
    if (!added) return fail(added.error().in("input tree, " + node.name()));
  }
  std::optional<Digest> apart;
  for (const auto& node : root.directories()) {
    const std::string below = path + "/" + node.name();
    KILN_ASSIGN(const Digest digest, fromProto(node.digest()));
    if (node.name() == keepApart) {
      apart = digest;
      KILN_TRY(makeDirectory(below, 0555));
      KILN_TRY(setOldTime(below));
      continue;
    }
    const Status written = storage::materialiseTree(store, instance, digest, below);
    if (!written) return fail(written.error().in("input tree, " + node.name()));
  }
  return apart;
}

}  // namespace

Status makeDirectory(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) != 0 || chmod(path.c_str(), mode) != 0)
    return fail(errnoError(errno, "input tree: " + path));
  return {};
}

Status setOldTime(const std::string& path) {
  const timespec times[2] = {{1, 0}, {1, 0}};
  if (utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail(errnoError(errno, "utimensat"));
  }
  return {};
}

Result<std::optional<Digest>> writeInputRoot(storage::BlobStore& store, const std::string& instance,
                                             const Digest& root, const std::string& keepApart,
                                             const std::string& path) {
  const auto bytes = storage::getBlob(store, instance, root, kMaxDirectory);
  if (!bytes) return fail(bytes.error().in("input tree"));
  const auto directory = storage::parseDirectory(*bytes, 0);
  if (!directory) return fail(directory.error().in("input tree"));
  if (directory->symlinks_size() > 0) {
    return fail(Code::kInvalidArgument, "input tree: symbolic links in the root are not served");
  }
  KILN_TRY(makeDirectory(path, 0755));
  auto apart = fill(store, instance, *directory, keepApart, path);
  if (!apart) (void)sandbox::removeTree(path);
  return apart;
}

}  // namespace kiln::executor

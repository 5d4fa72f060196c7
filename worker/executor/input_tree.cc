#include "worker/executor/input_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "worker/executor/reapi.h"
#include "worker/sandbox/outputs.h"

namespace kiln::executor {
namespace {

Status checkName(const std::string& name, std::string& previous, const std::string& where) {
  if (name.empty() || name.size() > 255 || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\0", 2)) != std::string::npos) {
    return fail(Code::kInvalidArgument,
                "input tree: a name in " + where + " is empty, too long or holds / or ..");
  }
  if (!previous.empty() && previous >= name) {
    return fail(Code::kInvalidArgument, "input tree: names in " + where + " are out of order or twice there");
  }
  previous = name;
  return {};
}

class Writer {
 public:
  Writer(storage::BlobStore& store, const TreeRequest& request, const TreeLimits& limits)
      : store_(store), request_(request), limits_(limits) {}

  // `shown` is the path within the tree, for messages; "" is the root.
  Status directory(const Digest& digest, const std::string& path, const std::string& shown,
                   std::uint64_t depth) {
    if (depth > limits_.depth) return over("levels", limits_.depth);
    const std::string where = shown.empty() ? "the root" : shown;
    const auto bytes = storage::getBlob(store_, request_.instance, digest, limits_.directoryBytes);
    if (!bytes) return fail(bytes.error().in("input tree, directory " + where));
    reapi::Directory message;
    if (!message.ParseFromString(*bytes) || message.SerializeAsString() != *bytes) {
      return fail(Code::kInvalidArgument, "input tree: " + where + " is no canonical Directory");
    }
    if (message.symlinks_size() > 0) {
      return fail(Code::kInvalidArgument,
                  "input tree: " + where + " has symbolic links; they are not served");
    }
    KILN_TRY(children(message, path, shown.empty() ? "" : shown + "/", depth));
    if (chmod(path.c_str(), 0555) != 0) return fail(errnoError(errno, "input tree: chmod"));
    return setOldTime(path);
  }

  TreeFacts facts;

 private:
  tl::unexpected<Error> over(const char* what, std::uint64_t limit) const {
    return fail(Code::kResourceExhausted, fmt::format("input tree: more than {} {}", limit, what));
  }

  Status children(const reapi::Directory& message, const std::string& path, const std::string& prefix,
                  std::uint64_t depth) {
    entries_ += static_cast<std::uint64_t>(message.files_size() + message.directories_size());
    if (entries_ > limits_.entries) return over("entries", limits_.entries);
    std::vector<std::string> names;
    std::string previous;
    for (const auto& node : message.files()) {
      KILN_TRY(checkName(node.name(), previous, prefix));
      names.push_back(node.name());
      KILN_TRY(file(node, path + "/" + node.name(), prefix + node.name()));
    }
    previous.clear();
    for (const auto& node : message.directories()) {
      KILN_TRY(checkName(node.name(), previous, prefix));
      if (std::binary_search(names.begin(), names.end(), node.name())) {
        return fail(Code::kInvalidArgument,
                    "input tree: " + prefix + node.name() + " is a file and a directory");
      }
      KILN_TRY(subdirectory(node, path + "/" + node.name(), prefix + node.name(), depth));
    }
    return {};
  }

  Status file(const reapi::FileNode& node, const std::string& path, const std::string& shown) {
    KILN_ASSIGN(const Digest digest, fromProto(node.digest()));
    if (digest.size > limits_.bytes - facts.bytes) return over("bytes", limits_.bytes);
    facts.bytes += digest.size;
    ++facts.files;
    const auto got = storage::getFile(store_, request_.instance, digest, path, 0644);
    if (!got) return fail(got.error().in("input tree, " + shown));
    if (chmod(path.c_str(), node.is_executable() ? 0555 : 0444) != 0) {
      return fail(errnoError(errno, "input tree: chmod"));
    }
    return setOldTime(path);
  }

  Status subdirectory(const reapi::DirectoryNode& node, const std::string& path, const std::string& shown,
                      std::uint64_t depth) {
    KILN_ASSIGN(const Digest digest, fromProto(node.digest()));
    if (mkdir(path.c_str(), 0755) != 0) return fail(errnoError(errno, "input tree: " + shown));
    if (depth == 1 && shown == request_.keepApart) {
      facts.foundApart = true;
      facts.apart = digest;
      return setOldTime(path);
    }
    return directory(digest, path, shown, depth + 1);
  }

  storage::BlobStore& store_;
  const TreeRequest& request_;
  const TreeLimits& limits_;
  std::uint64_t entries_ = 0;
};

}  // namespace

Status setOldTime(const std::string& path) {
  const timespec times[2] = {{1, 0}, {1, 0}};
  if (utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail(errnoError(errno, "input tree: utimensat"));
  }
  return {};
}

Result<TreeFacts> writeTree(storage::BlobStore& store, const TreeRequest& request, const std::string& path,
                            const TreeLimits& limits) {
  if (mkdir(path.c_str(), 0755) != 0) return fail(errnoError(errno, "input tree: " + path));
  Writer writer(store, request, limits);
  if (auto status = writer.directory(request.root, path, "", 1); !status) {
    (void)sandbox::removeTree(path);
    return fail(status.error());
  }
  return writer.facts;
}

}  // namespace kiln::executor

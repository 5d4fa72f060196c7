#include "coordinator/reapi/result_blobs.h"

#include <fmt/format.h>

#include <set>

#include "manifest/base/printable.h"
#include "storage/tree/tree_walk.h"

namespace kiln::reapi_cache {
namespace {

constexpr std::size_t kMostNamed = 100;
constexpr std::size_t kAskedAtOnce = 10'000;

class Named {
 public:
  Named(storage::BlobStore& blobs, const std::string& instance, const ResultLimits& limits)
      : blobs_(blobs),
        instance_(instance),
        limits_(limits),
        walker_(blobs, instance, {.entries = limits.directoryEntries}) {}

  Status blob(const reapi::Digest& wire) {
    KILN_ASSIGN(const Digest digest, fromProto(wire));
    if (!named_.insert(digest).second) return {};
    if (named_.size() > limits_.blobs)
      return fail(Code::kInvalidArgument, fmt::format("more than {} blobs are named", limits_.blobs));
    return {};
  }

  Status directory(const reapi::OutputDirectory& output) {
    if (!output.has_tree_digest() && !output.has_root_directory_digest())
      return fail(Code::kInvalidArgument, "neither a Tree nor a root Directory is named");
    if (output.has_root_directory_digest()) KILN_TRY(root(output.root_directory_digest()));
    return output.has_tree_digest() ? tree(output.tree_digest()) : Status();
  }

  // The missing ones of all that was named.
  Result<std::vector<Digest>> missing() {
    const std::vector<Digest> all(named_.begin(), named_.end());
    for (std::size_t at = 0; at < all.size(); at += kAskedAtOnce) {
      const std::size_t count = std::min(kAskedAtOnce, all.size() - at);
      KILN_ASSIGN(const auto lacking, blobs_.findMissing(instance_, std::span(all).subspan(at, count)));
      missing_.insert(lacking.begin(), lacking.end());
    }
    std::vector<Digest> out(missing_.begin(), missing_.end());
    if (out.size() > kMostNamed) out.resize(kMostNamed);
    return out;
  }

 private:
  // All walks together are bounded as that of one tree.
  Status root(const reapi::Digest& wire) {
    KILN_ASSIGN(const Digest digest, fromProto(wire));
    if (!trees_.insert(digest).second) return {};
    const auto entries = walker_.walk(digest);
    if (!entries && (entries.error().code == Code::kNotFound || entries.error().code == Code::kDataLoss)) {
      missing_.insert(digest);
      return {};
    }
    if (!entries) return fail(entries.error());
    KILN_TRY(blob(wire));
    for (const storage::TreeEntry& entry : *entries)
      if (entry.kind != storage::EntryKind::kSymlink) KILN_TRY(blob(toProto(entry.digest)));
    return {};
  }

  Status tree(const reapi::Digest& wire) {
    KILN_TRY(blob(wire));
    KILN_ASSIGN(const Digest digest, fromProto(wire));
    if (!trees_.insert(digest).second) return {};
    if (digest.size > limits_.treeBytes || digest.size > limits_.allTrees - treeBytes_)
      return fail(Code::kInvalidArgument, fmt::format("its Tree, or all Trees together, are too large: at "
                                                      "most {} and {} bytes",
                                                      limits_.treeBytes, limits_.allTrees));
    treeBytes_ += digest.size;
    const auto text = storage::getBlob(blobs_, instance_, digest, limits_.treeBytes);
    // A damaged one was put aside, and is missing from now on.
    if (!text && (text.error().code == Code::kNotFound || text.error().code == Code::kDataLoss)) {
      missing_.insert(digest);
      return {};
    }
    if (!text) return fail(text.error());
    reapi::Tree message;
    if (!message.ParseFromString(*text))
      return fail(Code::kInvalidArgument, digest.text() + " is no Tree message");
    KILN_TRY(files(message.root()));
    for (const auto& child : message.children()) KILN_TRY(files(child));
    return {};
  }

  Status files(const reapi::Directory& directory) {
    for (const auto& file : directory.files()) KILN_TRY(blob(file.digest()));
    return {};
  }

  storage::BlobStore& blobs_;
  const std::string& instance_;
  const ResultLimits& limits_;
  std::set<Digest> named_, trees_, missing_;
  std::uint64_t treeBytes_ = 0;
  storage::TreeWalker walker_;
};

// An error of what the result says names the output.
Status in(std::string_view path, Status status) {
  if (status || status.error().code == Code::kUnavailable) return status;
  Error error = status.error().in("output " + inQuotes(path));
  // What a tree is beyond, the result is wrong about.
  if (error.code == Code::kOutOfRange) error.code = Code::kInvalidArgument;
  return fail(std::move(error));
}

}  // namespace

Result<std::vector<Digest>> missingBlobs(storage::BlobStore& blobs, const std::string& instance,
                                         const reapi::ActionResult& result, const ResultLimits& limits) {
  Named named(blobs, instance, limits);
  for (const auto& file : result.output_files()) KILN_TRY(in(file.path(), named.blob(file.digest())));
  for (const auto& output : result.output_directories()) KILN_TRY(in(output.path(), named.directory(output)));
  if (result.has_stdout_digest()) KILN_TRY(in("stdout", named.blob(result.stdout_digest())));
  if (result.has_stderr_digest()) KILN_TRY(in("stderr", named.blob(result.stderr_digest())));
  return named.missing();
}

}  // namespace kiln::reapi_cache

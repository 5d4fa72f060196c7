#include "worker/cluster/outputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "manifest/base/printable.h"
#include "storage/blob/download.h"
#include "storage/tree/tree_walk.h"
#include "worker/cluster/connection.h"
#include "worker/cluster/execution.h"

namespace kiln::cluster {
namespace {

constexpr std::uint64_t kMaxTreeBytes = 16 << 20;  // of a Tree message: 8192 entries with long names

tl::unexpected<Error> lie(const std::string& what) {
  return fail(Code::kDataLoss, "the cluster's result: " + what);
}

// The Directories of a Tree message as blobs, so that one walk reads both forms.
class TreeBlobs final : public storage::BlobStore {
 public:
  explicit TreeBlobs(const reapi::Tree& tree) : root_(add(tree.root())) {
    for (const reapi::Directory& child : tree.children()) add(child);
  }
  const Digest& root() const { return root_; }

  Status read(const std::string&, const Digest& digest, std::uint64_t, std::uint64_t,
              const storage::ByteSink& sink) override {
    const auto found = blobs_.find(digest);
    if (found == blobs_.end()) return fail(Code::kNotFound, "a directory of the Tree is not in it");
    return sink(asBytes(found->second));
  }
  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string&, const Digest&) override {
    return fail(Code::kUnimplemented, "a Tree is read only");
  }
  Result<std::vector<Digest>> findMissing(const std::string&, std::span<const Digest>) override {
    return fail(Code::kUnimplemented, "a Tree is read only");
  }

 private:
  Digest add(const reapi::Directory& directory) {
    std::string bytes = directory.SerializeAsString();
    const Digest digest = digestOf(bytes);
    blobs_.emplace(digest, std::move(bytes));
    return digest;
  }

  std::map<Digest, std::string> blobs_;
  Digest root_;
};

// Outputs that travel together: hashed one by one, and stored where the farm lacks them.
Status fetchSmall(const std::vector<Digest>& digests, const std::set<Digest>& missing, const Transfer& way) {
  SmallBlobs batch(way.to);
  KILN_TRY(storage::readSmallBlobs(way.from.blobs, way.from.instance, digests,
                                   [&](const Digest& digest, Result<std::string> bytes) -> Status {
                                     if (isCancelled(way.cancel)) return fail(Code::kCancelled, "cancelled");
                                     if (!bytes)
                                       return fail(ofCluster(bytes.error(), "download from the cluster"));
                                     return missing.contains(digest) ? batch.add(digest, std::move(*bytes))
                                                                     : Status();
                                   }));
  return batch.flush();
}

class Collector {
 public:
  Collector(const std::string& output, const sandbox::Limits& limits, const Store& cluster)
      : output_(output), limits_(limits), cluster_(cluster) {}

  Status addFile(const std::string& path, const reapi::Digest& wire, bool executable) {
    const auto digest = fromProto(wire);
    if (!digest) return lie(printable(path) + " has no digest");
    return add(path, {*digest, executable});
  }

  Status addDirectory(const reapi::OutputDirectory& directory) {
    const std::string& path = directory.path();
    if (path != output_ && !path.starts_with(output_ + "/"))
      return lie("the directory " + printable(path, 256) + " is not " + output_ + " or below it");
    KILN_ASSIGN(const auto entries, walk(directory));
    for (const storage::TreeEntry& entry : entries) {
      if (++entries_ > limits_.outputFiles) return tooMany();
      if (entry.kind == storage::EntryKind::kSymlink)
        return lie(printable(path + "/" + entry.path, 256) + " is a link");
      if (entry.kind == storage::EntryKind::kFile)
        KILN_TRY(add(path + "/" + entry.path, {entry.digest, entry.executable}));
    }
    return {};
  }

  Result<std::map<std::string, ResultFile>> finish() && {
    if (files_.empty()) return lie("it is a success without any output");
    return std::move(files_);
  }

 private:
  tl::unexpected<Error> tooMany() const {
    return lie(fmt::format("more than {} output files and directories", limits_.outputFiles));
  }

  Result<std::vector<storage::TreeEntry>> walk(const reapi::OutputDirectory& directory) const {
    const storage::TreeLimits bounds{.depth = limits_.outputDepth,
                                     .entries = limits_.outputFiles,
                                     .directoryBytes = 4 << 20,
                                     .totalBytes = limits_.outputBytes};
    using Entries = Result<std::vector<storage::TreeEntry>>;
    const auto read = [&](storage::BlobStore& store, const Digest& root) -> Entries {
      auto entries = storage::walkTree(store, cluster_.instance, root, bounds);
      if (entries) return entries;
      const Code code = entries.error().code;
      const bool isTheirs =
          code == Code::kInvalidArgument || code == Code::kOutOfRange || code == Code::kNotFound;
      if (isTheirs) return lie(entries.error().message);
      return fail(ofCluster(entries.error(), "reading the output directory"));
    };
    if (!directory.has_tree_digest()) {
      const auto root = fromProto(directory.root_directory_digest());
      if (!root) return lie("an output directory without a digest");
      return read(cluster_.blobs, *root);
    }
    const auto digest = fromProto(directory.tree_digest());
    if (!digest) return lie("an output directory without a digest");
    const auto bytes = storage::getBlob(cluster_.blobs, cluster_.instance, *digest, kMaxTreeBytes);
    if (!bytes && bytes.error().code == Code::kOutOfRange) return lie("a Tree of more than 16 MiB");
    if (!bytes) return fail(ofCluster(bytes.error(), "reading the output directory"));
    reapi::Tree tree;
    if (!tree.ParseFromString(*bytes)) return lie("the output directory is no Tree message");
    TreeBlobs blobs(tree);
    return read(blobs, blobs.root());
  }

  Status add(const std::string& path, const ResultFile& file) {
    KILN_TRY(checkPath(path));
    if (file.digest.size > limits_.fileBytes || file.digest.size > limits_.outputBytes - bytes_)
      return lie(fmt::format("{} is beyond the limit of output bytes", path));
    bytes_ += file.digest.size;
    if (!files_.emplace(path, file).second) return lie(path + " is there twice");
    if (files_.size() > limits_.outputFiles) return tooMany();
    return {};
  }

  // As sandbox::visitOutputs lets paths through; those of OutputFiles are not made of checked names.
  Status checkPath(const std::string& path) const {
    const std::string shown = printable(path, 256);
    if (!path.starts_with(output_ + "/")) return lie("the file " + shown + " is not below " + output_);
    const std::string_view below = std::string_view(path).substr(output_.size() + 1);
    if (below.size() > limits_.outputPathBytes) return lie("the path " + shown + " is too long");
    if (!std::ranges::all_of(below, [](char c) { return c >= 0x20 && c < 0x7f; }))
      return lie("the path " + shown + " is not printable ASCII");
    std::size_t depth = 0;
    for (std::size_t from = 0; from <= below.size(); ++depth) {
      const std::size_t slash = std::min(below.find('/', from), below.size());
      const std::string_view name = below.substr(from, slash - from);
      if (name.empty() || name == "." || name == "..") return lie("the path " + shown + " is not plain");
      from = slash + 1;
    }
    if (depth > limits_.outputDepth + 1) return lie("the path " + shown + " is too deep");
    return {};
  }

  const std::string& output_;
  const sandbox::Limits& limits_;
  const Store& cluster_;
  std::map<std::string, ResultFile> files_;
  std::uint64_t bytes_ = 0, entries_ = 0;
};

}  // namespace

Result<std::map<std::string, ResultFile>> filesOf(const reapi::ActionResult& result,
                                                  const std::string& output, const sandbox::Limits& limits,
                                                  const Store& cluster) {
  if (result.output_symlinks_size() + result.output_file_symlinks_size() +
          result.output_directory_symlinks_size() >
      0)
    return lie("it holds links");
  if (result.output_directories_size() > static_cast<int>(limits.outputFiles))
    return lie("too many output directories");
  Collector files(output, limits, cluster);
  for (const auto& file : result.output_files())
    KILN_TRY(files.addFile(file.path(), file.digest(), file.is_executable()));
  for (const auto& directory : result.output_directories()) KILN_TRY(files.addDirectory(directory));
  return std::move(files).finish();
}

Status fetchOutputs(const std::map<std::string, ResultFile>& files, const Store& cluster, const Store& farm,
                    const sandbox::Cancel* cancel) {
  std::set<Digest> all;
  for (const auto& [path, file] : files) all.insert(file.digest);
  const std::vector<Digest> asked(all.begin(), all.end());
  KILN_ASSIGN(const std::vector<Digest> lacking, farm.blobs.findMissing(farm.instance, asked));
  const std::set<Digest> missing(lacking.begin(), lacking.end());
  std::vector<Digest> small;
  for (const Digest& digest : all)
    if (digest.size <= kSmallBytes) small.push_back(digest);
  KILN_TRY(fetchSmall(small, missing, {cluster, farm, false, cancel}));
  for (const Digest& digest : all) {
    if (digest.size <= kSmallBytes) continue;
    if (isCancelled(cancel)) return fail(Code::kCancelled, "cancelled");
    if (missing.contains(digest)) {
      KILN_TRY(copyBlob({cluster, farm, false, cancel}, digest));
      continue;
    }
    const Status read = cluster.blobs.read(cluster.instance, digest, 0, 0, [&](Bytes) -> Status {
      if (isCancelled(cancel)) return fail(Code::kCancelled, "cancelled");
      return {};
    });
    if (!read) return fail(ofCluster(read.error(), "download from the cluster"));
  }
  return {};
}

Result<std::string> logOf(const std::string& raw, const reapi::Digest* stored, std::uint64_t most,
                          const Store& cluster) {
  // As the sandbox shortens logs.
  const auto shortened = [&](std::string_view first, std::string_view last, std::uint64_t whole) {
    return fmt::format("{}\n[{} bytes left out]\n{}", first, whole - first.size() - last.size(), last);
  };
  const std::uint64_t half = most / 2;
  if (!stored) {
    if (raw.size() <= most) return raw;
    const std::string_view all = raw;
    return shortened(all.substr(0, half), all.substr(all.size() - half), all.size());
  }
  KILN_ASSIGN(const Digest digest, fromProto(*stored));
  const auto part = [&](std::uint64_t offset, std::uint64_t length) -> Result<std::string> {
    std::string text;
    const Status read =
        cluster.blobs.read(cluster.instance, digest, offset, length, [&](Bytes bytes) -> Status {
          text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
          return {};
        });
    if (!read) return fail(ofCluster(read.error(), "reading the log"));
    return text;
  };
  if (digest.size <= most) return part(0, 0);
  KILN_ASSIGN(const std::string first, part(0, half));
  KILN_ASSIGN(const std::string last, part(digest.size - half, half));
  return shortened(first, last, digest.size);
}

}  // namespace kiln::cluster

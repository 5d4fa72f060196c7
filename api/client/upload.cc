#include "api/client/upload.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <unordered_map>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"

namespace kiln::client {
namespace fs = std::filesystem;
namespace reapi = ::build::bazel::remote::execution::v2;
namespace {

constexpr std::size_t kChunk = 1 << 20;
constexpr std::size_t kQueryBatch = 1000;
constexpr int kMaxTreeDepth = 64;
constexpr std::size_t kMaxTreeFiles = 100'000;

Status sendFile(storage::BlobStore& store, const std::string& instance, const std::string& path,
                const Digest& digest) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail(errnoError(errno, path));
  struct Closer {
    int file;
    ~Closer() { ::close(file); }
  } closer{file};
  KILN_ASSIGN(auto writer, store.beginWrite(instance, digest));
  std::vector<std::uint8_t> buffer(kChunk);
  for (std::uint64_t sent = 0;;) {
    const auto count = ::read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errnoError(errno, path));
    if (count == 0 && sent == digest.size) break;
    sent += static_cast<std::uint64_t>(count);
    if (count == 0 || sent > digest.size) {
      return fail(Code::kFailedPrecondition, path + ": changed while it was uploaded; run the command again");
    }
    if (auto status = writer->write({buffer.data(), static_cast<std::size_t>(count)}); !status) {
      return fail(status.error().in(path));
    }
  }
  auto committed = writer->commit();
  if (committed) return {};
  if (committed.error().code == Code::kInvalidArgument) {
    return fail(Code::kFailedPrecondition, path + ": changed while it was uploaded; run the command again");
  }
  return fail(committed.error().in(path));
}

Result<std::vector<Digest>> missingOf(storage::BlobStore& store, const std::string& instance,
                                      const std::vector<Digest>& digests) {
  std::vector<Digest> missing;
  for (std::size_t i = 0; i < digests.size(); i += kQueryBatch) {
    const std::span all(digests);
    KILN_ASSIGN(const auto part,
                store.findMissing(instance, all.subspan(i, std::min(kQueryBatch, digests.size() - i))));
    missing.insert(missing.end(), part.begin(), part.end());
  }
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  return missing;
}

// The files and Directory messages of a tree, gathered before anything is sent.
class TreeBuilder {
 public:
  Result<Digest> add(const fs::path& directory, const fs::path& root, int depth) {
    if (depth > kMaxTreeDepth) return fail(Code::kInvalidArgument, directory.string() + ": nested too deep");
    std::error_code error;
    std::vector<fs::directory_entry> entries;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
      entries.push_back(*it);
    }
    if (error) return fail(Code::kInvalidArgument, directory.string() + ": " + error.message());
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      return a.path().filename().string() < b.path().filename().string();
    });
    reapi::Directory message;
    for (const auto& entry : entries) {
      const auto name = entry.path().filename().string();
      const auto kind = entry.symlink_status(error).type();
      if (kind == fs::file_type::directory) {
        KILN_ASSIGN(const Digest child, add(entry.path(), root, depth + 1));
        auto& node = *message.add_directories();
        node.set_name(name);
        set(*node.mutable_digest(), child);
      } else if (kind == fs::file_type::regular) {
        if (files.size() >= kMaxTreeFiles)
          return fail(Code::kResourceExhausted, root.string() + ": too many files");
        KILN_ASSIGN(const Digest digest, digestOfFile(entry.path().string()));
        files.emplace_back(entry.path().string(), digest);
        auto& node = *message.add_files();
        node.set_name(name);
        set(*node.mutable_digest(), digest);
        node.set_is_executable((entry.status(error).permissions() & fs::perms::owner_exec) !=
                               fs::perms::none);
      } else if (kind == fs::file_type::symlink) {
        const auto target = fs::read_symlink(entry.path(), error);
        const auto reached =
            (directory / target).lexically_normal().lexically_relative(root.lexically_normal());
        if (error || target.is_absolute() || reached.empty() || *reached.begin() == "..") {
          return fail(Code::kInvalidArgument,
                      entry.path().string() + ": links out of the tree; copy the file instead");
        }
        auto& node = *message.add_symlinks();
        node.set_name(name);
        node.set_target(target.string());
      } else {
        return fail(Code::kInvalidArgument, entry.path().string() + ": neither file, directory nor link");
      }
    }
    auto bytes = message.SerializeAsString();
    const auto digest = digestOf(bytes);
    directories.emplace(digest, std::move(bytes));
    return digest;
  }

  std::vector<std::pair<std::string, Digest>> files;
  std::map<Digest, std::string> directories;

 private:
  static void set(reapi::Digest& proto, const Digest& digest) {
    proto.set_hash(digest.hex());
    proto.set_size_bytes(static_cast<std::int64_t>(digest.size));
  }
};

Status sendMissing(storage::BlobStore& store, const std::string& instance,
                   const std::vector<std::pair<std::string, Digest>>& files, UploadReport& report) {
  std::vector<Digest> digests;
  std::map<Digest, std::string> paths;
  for (const auto& [path, digest] : files) {
    digests.push_back(digest);
    paths.emplace(digest, path);
  }
  report.files += static_cast<int>(files.size());
  KILN_ASSIGN(const auto missing, missingOf(store, instance, digests));
  for (const auto& digest : missing) {
    const auto at = paths.find(digest);
    if (at == paths.end()) return fail(Code::kInternal, "the store asks for a blob that was not offered");
    KILN_TRY(sendFile(store, instance, at->second, digest));
    ++report.sent;
    report.bytes += digest.size;
  }
  return {};
}

}  // namespace

Result<std::vector<Digest>> uploadFiles(storage::BlobStore& store, const std::string& instance,
                                        const std::vector<std::string>& paths, UploadReport& report) {
  std::vector<std::pair<std::string, Digest>> files;
  std::vector<Digest> digests;
  for (const auto& path : paths) {
    KILN_ASSIGN(const Digest digest, digestOfFile(path));
    files.emplace_back(path, digest);
    digests.push_back(digest);
  }
  KILN_TRY(sendMissing(store, instance, files, report));
  return digests;
}

Result<Digest> uploadTree(storage::BlobStore& store, const std::string& instance,
                          const std::string& directory, UploadReport& report) {
  TreeBuilder tree;
  KILN_ASSIGN(const Digest root, tree.add(directory, directory, 0));
  KILN_TRY(sendMissing(store, instance, tree.files, report));
  std::vector<Digest> digests;
  for (const auto& [digest, bytes] : tree.directories) digests.push_back(digest);
  KILN_ASSIGN(const auto missing, missingOf(store, instance, digests));
  for (const auto& digest : missing) {
    KILN_TRY(storage::putBlob(store, instance, digest, asBytes(tree.directories.at(digest))));
  }
  return root;
}

}  // namespace kiln::client

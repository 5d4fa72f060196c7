#include "signing/follow/log_source.h"

#include <algorithm>

#include "signing/follow/http.h"
#include "signing/follow/tile_directory.h"
#include "signing/log/leaf.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxTileBytes = (kMaxEntryBytes + 2) * kTileWidth;
constexpr std::size_t kMaxNoteBytes = 64 << 10;

class HttpLog final : public LogSource {
 public:
  explicit HttpLog(std::string url) : url_(std::move(url)) {
    while (url_.ends_with('/')) url_.pop_back();
  }
  Result<std::string> read(const TilePath& path) override { return get(path.text(), kMaxTileBytes); }
  Result<std::string> checkpoint() override { return get("checkpoint", kMaxNoteBytes); }

 private:
  Result<std::string> get(const std::string& name, std::size_t limit) {
    const std::string url = url_ + "/" + name;
    KILN_ASSIGN(HttpAnswer answer, httpGet(url, limit));
    if (answer.status == 200) return std::move(answer.body);
    return fail(answer.status == 404 ? Code::kNotFound : Code::kUnavailable,
                url + ": HTTP status " + std::to_string(answer.status));
  }

  std::string url_;
};

class DirectoryLog final : public LogSource {
 public:
  explicit DirectoryLog(std::string directory) : tiles_(std::move(directory)) {}
  Result<std::string> read(const TilePath& path) override { return tiles_.read(path); }
  Result<std::string> checkpoint() override { return tiles_.checkpoint(); }

 private:
  TileDirectory tiles_;
};

}  // namespace

std::unique_ptr<LogSource> openLogSource(const std::string& where) {
  if (where.starts_with("http://") || where.starts_with("https://")) return std::make_unique<HttpLog>(where);
  return std::make_unique<DirectoryLog>(where);
}

Result<OpenedCheckpoint> openCheckpointText(const std::string& text, std::span<const VerifierKey> logs) {
  KILN_ASSIGN(Note note, parseNote(text));
  KILN_ASSIGN(Checkpoint claimed, Checkpoint::parse(note.text));
  for (const VerifierKey& log : logs) {
    if (log.name != claimed.origin) continue;
    KILN_ASSIGN(Checkpoint checkpoint, openCheckpoint(note, log));
    return OpenedCheckpoint{std::move(note), std::move(checkpoint)};
  }
  return fail(Code::kPermissionDenied, "a checkpoint of a log that is not trusted here");
}

Result<OpenedCheckpoint> readCheckpoint(LogSource& source, std::span<const VerifierKey> logs) {
  KILN_ASSIGN(std::string text, source.checkpoint());
  return openCheckpointText(text, logs);
}

Status checkWholeLog(LogSource& source, const Checkpoint& checkpoint,
                     const std::function<void(std::uint64_t)>& seen) {
  TileTree tree(source, checkpoint.size);
  KILN_ASSIGN(TreeHash root, treeRoot(tree, checkpoint.size));
  if (root != checkpoint.root) return fail(Code::kDataLoss, "the tiles do not lead to the checkpoint's root");
  for (std::uint64_t at = 0; at < checkpoint.size;) {
    const std::uint64_t end = std::min(checkpoint.size, (at / kTileWidth + 1) * kTileWidth);
    KILN_ASSIGN(std::vector<std::string> entries, readEntries(source, checkpoint.size, at, end));
    for (const std::string& entry : entries) {
      const auto wrong = [&](const std::string& what) {
        return fail(Code::kDataLoss, "entry " + std::to_string(at) + ": " + what);
      };
      KILN_ASSIGN(TreeHash hash, tree.hash(0, at));
      if (leafHash(entry) != hash) return wrong("is not the leaf of its place");
      if (auto leaf = Leaf::parse(entry); !leaf) return wrong(leaf.error().message);
      // The upper levels, which lead to the root, must be those of the leaves.
      KILN_ASSIGN(auto proof, inclusionProof(tree, at, checkpoint.size));
      if (auto included = verifyInclusion(at, checkpoint.size, hash, proof, root); !included)
        return wrong(included.error().message);
      ++at;
    }
    seen(at);
  }
  return {};
}

}  // namespace kiln::signing

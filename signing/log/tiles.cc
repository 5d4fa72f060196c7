#include "signing/log/tiles.h"

#include <algorithm>

namespace kiln::signing {
namespace {

constexpr std::size_t kHashBytes = 32;

tl::unexpected<Error> damaged(const TilePath& path, const char* what) {
  return fail(Code::kDataLoss, path.text() + ": " + what);
}

TilePath pathAt(int level, std::uint64_t index, std::uint64_t total) {
  return {level, index, std::min(kTileWidth, total - index * kTileWidth)};
}

// The bytes of a tile, or of the full tile that has replaced it.
Result<std::pair<std::string, TilePath>> readOrFull(TileReader& reader, const TilePath& path) {
  auto bytes = reader.read(path);
  if (bytes) return std::pair(std::move(*bytes), path);
  if (path.isFull() || bytes.error().code != Code::kNotFound) return fail(bytes.error());
  KILN_ASSIGN(std::string full, reader.read(path.full()));
  return std::pair(std::move(full), path.full());
}

Result<std::vector<TreeHash>> readHashes(TileReader& reader, const TilePath& path) {
  KILN_ASSIGN(auto found, readOrFull(reader, path));
  const std::string& bytes = found.first;
  if (bytes.size() != found.second.width * kHashBytes) return damaged(found.second, "has the wrong length");
  std::vector<TreeHash> out(path.width);
  for (std::size_t i = 0; i < out.size(); ++i)
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(i * kHashBytes), kHashBytes, out[i].begin());
  return out;
}

Result<std::vector<std::string>> readBundle(TileReader& reader, const TilePath& path) {
  KILN_ASSIGN(auto found, readOrFull(reader, path));
  auto entries = decodeEntries(found.first, found.second.width);
  if (!entries) return fail(entries.error().in(found.second.text()));
  entries->resize(path.width);
  return entries;
}

std::string encodeHashes(std::span<const TreeHash> hashes) {
  std::string out;
  for (const TreeHash& hash : hashes) out.append(hash.begin(), hash.end());
  return out;
}

std::vector<TreeHash> parentsOf(std::span<const TreeHash> row) {
  std::vector<TreeHash> out;
  for (std::size_t i = 0; i + 1 < row.size(); i += 2) out.push_back(nodeHash(row[i], row[i + 1]));
  return out;
}

TreeHash rootOfFull(std::vector<TreeHash> row) {
  while (row.size() > 1) row = parentsOf(row);
  return row.front();
}

}  // namespace

Result<std::string> encodeEntries(std::span<const std::string> entries) {
  std::string out;
  for (const std::string& entry : entries) {
    if (entry.size() > kMaxEntryBytes) return fail(Code::kInvalidArgument, "a log entry of 64 KiB or more");
    out += static_cast<char>(entry.size() >> 8);
    out += static_cast<char>(entry.size() & 0xff);
    out += entry;
  }
  return out;
}

Result<std::vector<std::string>> decodeEntries(std::string_view bytes, std::uint64_t count) {
  std::vector<std::string> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (bytes.size() < 2) return fail(Code::kDataLoss, "entries are missing");
    const std::size_t size = static_cast<std::uint8_t>(bytes[0]) << 8 | static_cast<std::uint8_t>(bytes[1]);
    if (bytes.size() - 2 < size) return fail(Code::kDataLoss, "an entry is cut off");
    out.emplace_back(bytes.substr(2, size));
    bytes.remove_prefix(2 + size);
  }
  if (!bytes.empty()) return fail(Code::kDataLoss, "bytes after the last entry");
  return out;
}

Result<std::string> cutTile(std::string_view bytes, const TilePath& wider, std::uint64_t width) {
  if (wider.level == kEntryLevel) {
    auto entries = decodeEntries(bytes, wider.width);
    if (!entries) return fail(entries.error().in(wider.text()));
    return encodeEntries(std::span(*entries).first(width));
  }
  if (bytes.size() != wider.width * kHashBytes) return damaged(wider, "has the wrong length");
  return std::string(bytes.substr(0, width * kHashBytes));
}

Result<const TileTree::Nodes*> TileTree::load(int level, std::uint64_t index) {
  auto [at, isNew] = tiles_.try_emplace({level, index});
  if (!isNew) return &at->second;
  auto hashes = readHashes(reader_, pathAt(level, index, size_ >> (level * kTileHeight)));
  if (!hashes) {
    tiles_.erase(at);
    return fail(hashes.error());
  }
  Nodes& nodes = at->second;
  nodes.push_back(std::move(*hashes));
  while (nodes.back().size() > 1) nodes.push_back(parentsOf(nodes.back()));
  return &nodes;
}

Result<TreeHash> TileTree::hash(int level, std::uint64_t index) {
  const int tileLevel = level / kTileHeight, row = level % kTileHeight;
  const std::uint64_t perTile = kTileWidth >> row;
  KILN_ASSIGN(const Nodes* nodes, load(tileLevel, index / perTile));
  const std::uint64_t column = index % perTile;
  if (static_cast<std::size_t>(row) >= nodes->size() ||
      column >= (*nodes)[static_cast<std::size_t>(row)].size())
    return fail(Code::kNotFound, "the tree has no such node");
  return (*nodes)[static_cast<std::size_t>(row)][column];
}

Result<std::vector<std::string>> readEntries(TileReader& reader, std::uint64_t size, std::uint64_t begin,
                                             std::uint64_t end) {
  std::vector<std::string> out;
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t tile = at / kTileWidth, first = tile * kTileWidth;
    KILN_ASSIGN(std::vector<std::string> entries, readBundle(reader, pathAt(kEntryLevel, tile, size)));
    const std::uint64_t until = std::min(end, first + entries.size());
    if (until <= at) return fail(Code::kInvalidArgument, "entries behind the end of the tree");
    for (; at < until; ++at) out.push_back(std::move(entries[at - first]));
  }
  return out;
}

Result<TileMap> grow(TileReader& reader, std::uint64_t size, std::span<const std::string> leaves) {
  TileMap out;
  // Adds the tiles of one level, given the old count of what it holds and the items from its old edge on.
  const auto put = [&](int level, std::uint64_t oldCount, const auto& items, const auto& encode) -> Status {
    const std::uint64_t first = oldCount / kTileWidth * kTileWidth;
    for (std::uint64_t at = 0; at < items.size(); at += kTileWidth) {
      const auto part = std::span(items).subspan(at, std::min<std::uint64_t>(kTileWidth, items.size() - at));
      KILN_ASSIGN(std::string bytes, encode(part));
      out.emplace(TilePath{level, (first + at) / kTileWidth, part.size()}, std::move(bytes));
    }
    return {};
  };

  std::vector<std::string> entries;
  if (size % kTileWidth != 0) {
    KILN_ASSIGN(entries, readEntries(reader, size, size / kTileWidth * kTileWidth, size));
  }
  entries.insert(entries.end(), leaves.begin(), leaves.end());
  KILN_TRY(put(kEntryLevel, size, entries, [](auto part) { return encodeEntries(part); }));

  std::vector<TreeHash> fresh;
  for (const std::string& leaf : leaves) fresh.push_back(leafHash(leaf));
  for (int level = 0; !fresh.empty(); ++level) {
    const std::uint64_t oldCount = size >> (level * kTileHeight);
    std::vector<TreeHash> row;
    if (oldCount % kTileWidth != 0) {
      KILN_ASSIGN(row, readHashes(reader, pathAt(level, oldCount / kTileWidth, oldCount)));
    }
    row.insert(row.end(), fresh.begin(), fresh.end());
    KILN_TRY(put(level, oldCount, row, [](auto part) -> Result<std::string> { return encodeHashes(part); }));
    fresh.clear();
    for (std::size_t at = 0; at + kTileWidth <= row.size(); at += kTileWidth)
      fresh.push_back(rootOfFull({row.begin() + static_cast<std::ptrdiff_t>(at),
                                  row.begin() + static_cast<std::ptrdiff_t>(at + kTileWidth)}));
  }
  return out;
}

}  // namespace kiln::signing

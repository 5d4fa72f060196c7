// A log's public files in a directory, named as C2SP tlog-tiles names them: "checkpoint", "tile/…". Any web
// server may serve it as it is. Kept apart from the blob store and from the database on purpose: it is the
// second witness of what the log holds when one of them comes back from an old backup.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "manifest/base/file.h"
#include "signing/follow/tile_writer.h"

namespace kiln::signing {

// Reading. Thread safe.
class TileDirectory : public TileReader {
 public:
  explicit TileDirectory(std::string directory) : directory_(std::move(directory)) {}

  // Where a partial tile is not there, the answer is what the full one or a wider one begins with.
  Result<std::string> read(const TilePath& path) override;
  // The published checkpoint, a signed note. kNotFound before the first.
  Result<std::string> checkpoint() const;
  const std::string& directory() const { return directory_; }

 private:
  Result<std::string> readFile(const TilePath& path) const;
  // The narrowest tile in the directory that holds `path`, but for `path` itself.
  std::optional<TilePath> widerThan(const TilePath& path) const;

  const std::string directory_;
};

class WritableTiles final : public TileWriter {
 public:
  // Makes the directory if it is not there, and holds it until destruction. kUnavailable while another
  // process does.
  static Result<WritableTiles> open(const std::string& directory);

  Result<std::string> read(const TilePath& path) override { return tiles_.read(path); }
  Result<std::string> checkpoint() const override { return tiles_.checkpoint(); }
  Status takeOver() override { return {}; }
  TimePoint publishedAt() const override;
  Status write(const TileMap& tiles) override;
  Status stage(const std::string& note) override;
  std::optional<std::string> staged() const override;
  Status publish(const std::string& note) override;
  void prune(const TileMap& tiles) override;

 private:
  WritableTiles(std::string directory, UniqueFd lock)
      : tiles_(std::move(directory)), lock_(std::move(lock)) {}

  TileDirectory tiles_;
  UniqueFd lock_;
};

}  // namespace kiln::signing

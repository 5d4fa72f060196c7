// Where the sequencer of a log writes its public files: a directory (tile_directory.h) or a bucket
// (bucket_tiles.h).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "manifest/base/clock.h"
#include "signing/log/tiles.h"

namespace kiln::signing {

// One process at a time; a second one is refused, or its writes are. Not thread safe.
class TileWriter : public TileReader {
 public:
  // Called once nobody else sequences: this one goes on from what is there by now.
  virtual Status takeOver() = 0;

  // The published checkpoint, a signed note. kNotFound before the first.
  virtual Result<std::string> checkpoint() const = 0;
  // When it was published; the epoch if there is none.
  virtual TimePoint publishedAt() const = 0;

  // Durable on return.
  virtual Status write(const TileMap& tiles) = 0;
  // A signed checkpoint that is about to be committed, durable on return: from now on its tiles are the
  // log's, whatever becomes of the database.
  virtual Status stage(const std::string& note) = 0;
  virtual std::optional<std::string> staged() const = 0;
  // Makes a checkpoint visible, durably.
  virtual Status publish(const std::string& note) = 0;
  // Partial tiles that a full one in `tiles` has replaced are removed; what cannot be removed stays.
  virtual void prune(const TileMap& tiles) = 0;
};

}  // namespace kiln::signing

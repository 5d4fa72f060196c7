// A log's directory, kiln-log's or that of a copy, behind the gateway.
#pragma once

#include "api/gateway/gateway.h"
#include "signing/follow/tile_directory.h"

namespace kiln::gateway {

// Thread safe. Serves what the published checkpoint covers: a tile that is being written may yet be another.
class LogFilesOnDisk final : public LogFiles {
 public:
  explicit LogFilesOnDisk(std::string directory) : tiles_(std::move(directory)) {}
  Result<std::string> checkpoint() override;
  Result<std::string> tile(const std::string& path) override;

 private:
  signing::TileDirectory tiles_;
};

}  // namespace kiln::gateway

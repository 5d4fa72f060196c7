// The files of kiln-log's directory that the HTTP gateway serves.
#pragma once

#include "api/gateway/gateway.h"
#include "signing/follow/tile_directory.h"

namespace kiln::server {

// Thread safe. Serves what the published checkpoint covers: a tile that is being written may yet be another.
class LogFilesOnDisk final : public gateway::LogFiles {
 public:
  explicit LogFilesOnDisk(std::string directory) : tiles_(std::move(directory)) {}
  Result<std::string> checkpoint() override;
  Result<std::string> tile(const std::string& path) override;

 private:
  signing::TileDirectory tiles_;
};

}  // namespace kiln::server

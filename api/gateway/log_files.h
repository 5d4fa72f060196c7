// The files of a log behind the gateway: kiln-log's, or those of a copy.
#pragma once

#include <memory>

#include "api/gateway/gateway.h"
#include "signing/follow/log_source.h"

namespace kiln::gateway {

// Thread safe. Serves what the published checkpoint covers: a tile that is being written may yet be another.
class PublishedLogFiles final : public LogFiles {
 public:
  // `place`: a directory or a bucket, as openLogSource() takes it.
  explicit PublishedLogFiles(const std::string& place) : tiles_(signing::openLogSource(place)) {}
  Result<std::string> checkpoint() override;
  Result<std::string> tile(const std::string& path) override;

 private:
  const std::unique_ptr<signing::LogSource> tiles_;
};

}  // namespace kiln::gateway

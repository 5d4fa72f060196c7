// Whether the farm's store still has the bytes it promised, by sample.
#pragma once

#include <string>

#include "api/client/client.h"

namespace kiln::cli {

struct BlobFinding {
  bool isSound = false;
  std::string detail, next;  // what was found; what to do where it is not sound
};

// Reads back some of the newest artifacts of the client's instance, up to 64 MB, another sample each time.
BlobFinding checkStoredBlobs(client::Client& client);

}  // namespace kiln::cli

// What a statement about a worker's run rests on.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "signing/keys/certificate.h"
#include "storage/blob/blob_store.h"

namespace kiln::signing {

struct Evidence {
  storage::BlobStore& store;  // with actions, outputs and policies
  const std::string& instance;
  const std::vector<std::string>& receipts;  // the documents that came with the statement
  const Certificate& authority;              // of the workers
  TimePoint now;
};

}  // namespace kiln::signing

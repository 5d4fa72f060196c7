// The inputs of an action, read from the store.
#pragma once

#include <string>
#include <string_view>

#include "storage/blob/blob_store.h"

namespace kiln::service {

// The digest of the file at `path` in the action's input tree. kNotFound if it has none or a blob is gone.
Result<Digest> findInput(storage::BlobStore& blobs, const std::string& instance, const Digest& action,
                         std::string_view path);

}  // namespace kiln::service

// Blobs that a function of Python reads, for node::fetchArtifact().
#pragma once

#include <memory>

#include "api/python/native/python.h"
#include "storage/blob/blob_store.h"

namespace kiln::python {

// `reader`(hash, size) gives an iterator of bytes. Read-only, whole blobs; nothing is verified here. Made and
// destroyed with the GIL held, used without it.
std::unique_ptr<storage::BlobStore> readBlobsWith(PyObject* reader);

}  // namespace kiln::python

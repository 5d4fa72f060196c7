// What a view needs: the farm's rows and bytes.
#pragma once

#include "manifest/base/clock.h"
#include "storage/blob/blob_store.h"
#include "storage/postgres/pool.h"

namespace kiln::service {

// References to things that outlive every service; all of them thread safe.
struct Stores {
  const Clock& clock;  // what rows carry as time
  postgres::Pool& database;
  storage::BlobStore& blobs;
};

}  // namespace kiln::service

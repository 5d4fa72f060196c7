// What a job gets that wants the default schedules, whatever the toolchain's catalogue has.
#pragma once

#include "storage/blob/blob_store.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// Gives each target tuning entries that name no kernel, which a compile takes in the place of the catalogue,
// and keeps them in the store. Of a toolchain without a catalogue nothing is changed: its defaults are what
// it compiles with in any case.
Status takeDefaultSchedules(storage::BlobStore& blobs, const index::ToolchainRecord& toolchain,
                            index::JobSnapshot& snapshot);

}  // namespace kiln::service

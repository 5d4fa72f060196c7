// Whether a compile used the tuning entries that it was given.
#pragma once

#include "manifest/artifact/manifest.h"
#include "manifest/tuning/entries.h"

namespace kiln::jobs {

// kDataLoss unless the kernels of the Manifest's schedule name exactly the digests of these entries, each at
// least once, as "tuned"; none where `entries` is empty.
Status checkTuningUse(const Manifest& manifest, const TuningEntries& entries);

}  // namespace kiln::jobs

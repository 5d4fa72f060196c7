// Whether a compile used the tuning entries that it was given.
#pragma once

#include "manifest/artifact/manifest.h"
#include "manifest/tuning/entries.h"

namespace kiln::jobs {

// kDataLoss unless the kernels of the Manifest's schedule name exactly the digests of these entries, each at
// least once, as "tuned", and none of the toolchain's catalogue. Where no entries were given (nullptr), none
// as "tuned": the catalogue is the toolchain's, which the compile had.
Status checkTuningUse(const Manifest& manifest, const TuningEntries* entries);

}  // namespace kiln::jobs

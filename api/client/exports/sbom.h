// Bills of materials of a verified artifact: what it was made of, from its manifest and its signed
// provenance.
//
// Sources of the formats: CycloneDX 1.6 (JSON; its ML-BOM is the component type "machine-learning-model" with
// a modelCard), SPDX 2.3 (JSON).
#pragma once

#include <string_view>

#include "manifest/json/json.h"
#include "signing/verify/verify.h"

namespace kiln::client {

// The artifact with its files, the model, files of parameters and tuning entries that went in, and the
// toolchain that made it, each with its SHA-256, and with where it came from as the provenance says. Of
// several provenance statements the earliest counts, so that a later cache hit or rebuild changes nothing;
// the same statements give the same document. kFailedPrecondition where no provenance counted.
Result<Json> cycloneDx(const signing::Verdict& verdict);
Result<Json> spdx(const signing::Verdict& verdict);

}  // namespace kiln::client

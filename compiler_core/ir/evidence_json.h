// Evidence as JSON: integers and strings only, so that it has a canonical form. Never include this from an
// MLIR unit.
#pragma once

#include "compiler_core/ir/evidence.h"
#include "manifest/json/json.h"

namespace kiln::ir {

Json toJson(const UnsupportedNode& node);
Json toJson(const CaptureEvidence& evidence);
Json toJson(const AnalyseEvidence& evidence);
Json toJson(const PassEvidence& pass);
Json toJson(const RewriteEvidence& evidence);

}  // namespace kiln::ir

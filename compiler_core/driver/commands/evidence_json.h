// evidence.json: the shape that makeManifest (manifest/artifact) reads. Never include this from an MLIR unit.
#pragma once

#include "compiler_core/driver/compiler.h"
#include "manifest/json/json.h"

namespace kiln::driver {

// The whole document, for a compile that wrote its files.
Json evidenceJson(const CompileResult& result);

Json toJson(const partition::PartitionEvidence& evidence);
Json toJson(const ScheduleEvidence& evidence);
Json toJson(const PlanEvidence& evidence);

}  // namespace kiln::driver

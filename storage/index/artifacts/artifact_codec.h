// Rows of the table artifacts; internal to the repositories of this folder.
#pragma once

#include "storage/index/rows/records.h"
#include "storage/postgres/rows.h"

namespace kiln::index {

// Needs every column of artifacts. Without files, bundles, builders, jobs and models.
ArtifactRecord artifactAt(const postgres::Row& row);

}  // namespace kiln::index

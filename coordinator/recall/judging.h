// What judging an artifact needs: its rows and bytes, whose statements are the farm's own, and what was
// recalled.
#pragma once

#include "coordinator/farm/signatory.h"
#include "coordinator/farm/stores.h"
#include "coordinator/recall/recall_source.h"

namespace kiln::service {

// References to things that outlive every service.
struct Judging {
  const Stores& stores;
  const Signatory& signatory;
  const RecallSource& recalls;
};

}  // namespace kiln::service

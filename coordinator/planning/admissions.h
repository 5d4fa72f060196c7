// What the admissions of toolchains are signed and judged with.
#pragma once

#include <string>

#include "coordinator/farm/digest_cache.h"
#include "coordinator/farm/signatory.h"
#include "coordinator/farm/stores.h"
#include "manifest/statement/toolchain_admission.h"

namespace kiln::service {

// What is referred to must outlive it.
struct Admissions {
  const Stores& stores;
  const Signatory& signatory;
  DigestCache<ToolchainAdmission>& cache;  // of what would otherwise be verified each time
  std::string trustRoot = {};              // the farm's root, a path; "" if it was given none
};

}  // namespace kiln::service

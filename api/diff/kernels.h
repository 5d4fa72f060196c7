// Where two modules of SPIR-V differ: by kernel. Nothing is believed: each is bytes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "api/diff/compare.h"

namespace kiln::diff {

// Adds to `out.symbols` the functions whose text differs (runtime/spirv/spirv_text.h: however the modules
// number their ids), and those that one has alone. `nodes` are the model's, by kernel. Adds nothing where
// either is no module that the runtime would load.
void compareKernels(std::string_view first, std::string_view second,
                    const std::map<std::string, std::string>& nodes, FileDifference& out);

}  // namespace kiln::diff

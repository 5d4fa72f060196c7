// Which sandbox policies a receipt may name.
#pragma once

#include <string_view>
#include <vector>

#include "manifest/base/digest.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// Whether `text`, a policy's document with this digest, is one that an action of `kind` may have run under: a
// well-formed policy in which only a fetch has the network, only checks, tunes and foreign actions have a
// /proc, only checks a GPU, only foreign actions a /tmp; one that is called "execute/..." is theirs alone;
// and, where the farm's operator states which policies are allowed, one of them. kDataLoss saying what is not
// so.
Status checkSandboxPolicy(const Digest& digest, std::string_view text, index::ActionKind kind,
                          const std::vector<Digest>& allowed);

}  // namespace kiln::service

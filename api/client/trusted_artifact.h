// Whether what a farm hands back for a job counts under the caller's own trust root.
#pragma once

#include <string>

#include "api/client/client.h"
#include "api/node/trust.h"
#include "manifest/base/clock.h"

namespace kiln::client {

// Each of the job's artifacts must have a provenance that the root accepts, and nothing in it may be recalled
// by the recalls that `trust` knows or that the farm offers, which `trust` learns. The toolchain that it was
// built with must be what the signed admission of its label says, whatever the farm's index says of that
// label: of the one that the provenance states, and of `toolchain`, which was asked for (a label; "" or a
// digest: none was). Policies are for whoever fetches the artifact. Errors with exitCode 5 name what does not
// hold; others are of the farm being asked.
Status checkTrusted(Client& client, const std::string& toolchain, const v1::Job& job, node::Trust trust,
                    const Clock& clock);

}  // namespace kiln::client

// The system-call filter as a BPF program in the form bubblewrap's --seccomp wants: an array of struct
// sock_filter.
#pragma once

#include <string>

#include "worker/sandbox/policy.h"

namespace kiln::sandbox {

// Allows policy.calls for the native architecture; everything else, and every foreign ABI (32-bit, x32), is
// refused. Some allowed calls are narrowed by argument: no set-id bits in modes, no
// nodes but named pipes, no other user, no new namespaces by clone,
// few ioctls, prctls, fcntls and kinds of advice, sockets of the internet families only. kInternal if
// libseccomp refuses the rules.
Result<std::string> buildFilter(const Policy& policy);

}  // namespace kiln::sandbox

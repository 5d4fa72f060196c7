// What a tool has on the disk without a name: files that it unlinked and still holds open.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace kiln::sandbox {

// The apparent sizes of all files of `device` that have no name any more and that `top`, or a process below
// it, has open; each file once. Of processes that go or that may not be looked into meanwhile nothing counts,
// nor does what is only mapped. Bounded by what the processes' limits let them open.
std::uint64_t unlinkedBytes(pid_t top, dev_t device);

}  // namespace kiln::sandbox

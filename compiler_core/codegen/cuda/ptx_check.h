// Refuses PTX with what it must not have. That ptxas takes a text proves little: a shared buffer that became
// a call of the device's malloc assembles as well. So every kernel is checked before it is assembled.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::codegen {

// Accepts PTX whose only functions are the entries of `kernels`, each once, and that has
// - no external symbols and no calls of anything (malloc, free, vprintf, helpers that were not inlined);
// - no local memory: stack depots, ld.local, st.local; what ptxas spills is another matter and is measured;
// - shared memory only as <kernel>_shared of one of the kernels, static;
// - global and constant memory of its own only with its contents given;
// - no floating-point operation that ptxas may round or fuse as it likes (add.f32 without .rn), none that is
//   approximate or flushes subnormals;
// - no atomic operation, whose order would be seen in results.
// Otherwise kInternal: "kernel NAME, line N of the PTX: what is wrong: the line". Reads the text once.
Status checkPtx(std::string_view ptx, const std::set<std::string, std::less<>>& kernels);

}  // namespace kiln::codegen

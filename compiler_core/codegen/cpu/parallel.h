// Independent pieces of work on all processors.
#pragma once

#include <cstddef>
#include <functional>

namespace kiln::codegen {

// work(i) once for each i in [0, count), on the calling thread and on others, up to `threads` in all (0: one
// for each processor); returns when all are done. Where the system gives fewer threads, those do all of the
// work.
void forEach(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work);

}  // namespace kiln::codegen

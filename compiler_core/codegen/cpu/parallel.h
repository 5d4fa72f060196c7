// Independent pieces of work on all processors.
#pragma once

#include <cstddef>
#include <functional>

namespace kiln::codegen {

// work(i) once for each i in [0, count), on the calling thread and on as many others as the machine has and
// gives; returns when all are done.
void forEach(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace kiln::codegen

// The side that measures: runs programs that a search sends it. A process does nothing else meanwhile.
#pragma once

namespace kiln::tuner {

// Answers requests (messages.h) from `in` on `out` until the other side is gone.
void serveMeasurements(int in, int out);

}  // namespace kiln::tuner

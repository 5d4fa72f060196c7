// Times as HTTP writes them.
#pragma once

#include <string>

#include "manifest/base/clock.h"

namespace kiln::gateway {

// RFC 9110 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string httpDate(TimePoint time);

}  // namespace kiln::gateway

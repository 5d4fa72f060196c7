// The console as the build made it, for the gateway to serve.
#pragma once

#include "api/gateway/page.h"

namespace kiln::console {

// "/", "/console.js" or "/console.css"; null for any other path. Thread safe.
const gateway::PageFile* findFile(std::string_view path);

}  // namespace kiln::console

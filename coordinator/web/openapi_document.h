// What /openapi.json says: written by kiln-generate-openapi while Kiln is built.
#pragma once

#include <string>

namespace kiln::server {

std::string openApiDocument();

}  // namespace kiln::server

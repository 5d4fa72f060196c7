// A check plan and its files on the way to a farm.
#pragma once

#include <string>

#include "api/client/client.h"
#include "manifest/spec/delivery_spec.h"

namespace kiln::cli {

// Reads the plan, uploads it with the files it names (they lie beside it); "" stands for a plan without
// goldens, metrics and limits: the fixtures alone. kInvalidArgument for a malformed plan, kNotFound for a
// file that is not there.
Result<CheckRequest> uploadCheck(client::Client& client, const std::string& planPath);

}  // namespace kiln::cli

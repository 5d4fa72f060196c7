// libpq's connection strings, checked without any server.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::postgres {

// kInvalidArgument with libpq's reason unless `conninfo` says where a server could be: its syntax, its
// keywords and what they are set to. Whether one is there is another question. A name alone is that of a
// database.
Status checkConninfo(const std::string& conninfo);

// Whether it names several hosts, as of a primary and those that may take its place. False for one that
// checkConninfo() refuses.
bool namesSeveralHosts(const std::string& conninfo);

}  // namespace kiln::postgres

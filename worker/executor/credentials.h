// Credentials of private repositories, put where only one fetch sees them.
#pragma once

#include <sys/types.h>

#include <string>

#include "manifest/base/result.h"

namespace kiln::executor {

// Copies the regular files directly in `from` (at most 16, each at most 64 KiB) to the new directory `to`,
// owned by `uid` with modes 0500 and 0400: the fetcher's uid must be able to read them, and nobody else.
Status copyCredentials(const std::string& from, const std::string& to, uid_t uid);

}  // namespace kiln::executor

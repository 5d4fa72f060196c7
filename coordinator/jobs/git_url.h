// The one spelling of a repository's URL.
#pragma once

#include <string_view>

#include "manifest/base/result.h"

namespace kiln::jobs {

// Checks a `url` that begins with "https://" or "ssh://". Recalls and queries compare URLs as texts, so a job
// may name a repository in one spelling only: the host in small letters without a dot at its end, no port
// that goes without saying, no query or fragment, no empty or dotted part, no escape that RFC 3986 (6.2.2)
// calls equivalent to something shorter, no escaped slash. What servers alone know to be the same ("repo" and
// "repo.git") stays apart. kInvalidArgument says what to leave out.
Status checkGitUrl(std::string_view url);

}  // namespace kiln::jobs

// Exchanges with servers that redirect.
#pragma once

#include "storage/lfs/exchange.h"

namespace kiln::lfs {

inline constexpr int kMaxRedirects = 5;

// exchange(), and again wherever an answer redirects to, which the allow-list holds for as well. Another
// server than the one that redirects gets neither the fetcher's token nor headers that came with the address.
// kUnimplemented beyond kMaxRedirects; kPermissionDenied where https leads to plain http; kDataLoss where it
// leads to no address, or to one with a user; errors as of exchange().
Status exchangeFollowed(Request request, const source::GitFetchOptions& options,
                        std::chrono::steady_clock::time_point deadline, const Sink& sink);

}  // namespace kiln::lfs

// One exchange with a Git LFS server, or with the store that it sends to, over libcurl: no cookies, no
// configuration of the user.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "manifest/base/digest.h"
#include "storage/source/git_fetch.h"
#include "storage/source/git_url.h"

namespace kiln::lfs {

struct Request {
  source::GitUrl place;  // of `url`; checked against the allow-list here
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::optional<std::string> post;   // a GET without it
  bool withCredentials = false;      // basic authentication by the fetcher's token, if it has one
};

// Takes the body of an answer with status 200; an error of it ends the exchange.
using Sink = std::function<Status(Bytes)>;

// "" for an answer with status 200 that is whole, or the address that another one redirects to. Messages name
// the host, and of the address nothing else, since it may hold secrets. kPermissionDenied for a host that is
// not allowed (host_policy.h; with "*" the address is looked at that the connection goes to), a certificate
// that is not trusted, plain http and status 403; kUnauthenticated, kNotFound; kUnimplemented for a redirect
// that makes another request of a POST; kUnavailable where another try may help; kDeadlineExceeded; kDataLoss
// for other answers; the sink's own.
Result<std::string> exchange(const Request& request, const source::GitFetchOptions& options,
                             std::chrono::steady_clock::time_point deadline, const Sink& sink);

}  // namespace kiln::lfs

#include "storage/lfs/redirects.h"

#include <fmt/core.h>

#include "storage/lfs/server_url.h"

namespace kiln::lfs {

Status exchangeFollowed(Request request, const source::GitFetchOptions& options,
                        std::chrono::steady_clock::time_point deadline, const Sink& sink) {
  for (int followed = 0;; ++followed) {
    KILN_ASSIGN(const std::string next, exchange(request, options, deadline, sink));
    if (next.empty()) return {};
    const std::string& host = request.place.host;
    if (followed == kMaxRedirects)
      return fail(
          Code::kUnimplemented,
          fmt::format("{} redirects once more than the {} times that are followed", host, kMaxRedirects));
    const auto place = placeOf(next);
    if (!place) return fail(place.error().in(host + " redirects elsewhere"));
    if (request.place.scheme == "https" && place->scheme != "https")
      return fail(Code::kPermissionDenied,
                  host + " redirects from https to plain http, which is not followed");
    if (!isSameServer(*place, request.place)) {
      request.withCredentials = false;
      if (!request.post) request.headers.clear();  // those of a question say nothing but its form
    }
    request.place = *place;
    request.url = next;
  }
}

}  // namespace kiln::lfs

// Errors in the form that OCI clients read: {"errors":[{"code":"BLOB_UNKNOWN","message":"..."}]}.
#pragma once

#include <string>

#include "api/gateway/route.h"
#include "manifest/base/clock.h"
#include "manifest/base/result.h"

namespace kiln::gateway {

struct HttpError {
  unsigned status = 500;
  std::string body;
};

// What the client is told. Messages of internal faults stay in the farm's log.
HttpError httpError(const Error& error, RouteKind route);
HttpError httpError(unsigned status, std::string_view ociCode, std::string_view message);

// An HTTP/1.1 answer at this time; of its body the length alone if not `withBody`. Unless `keep`, it says
// that the connection closes.
std::string wholeAnswer(TimePoint now, unsigned status, std::string_view type, std::string_view body,
                        bool withBody, bool keep);

}  // namespace kiln::gateway

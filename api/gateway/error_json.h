// Errors in the form that OCI clients read: {"errors":[{"code":"BLOB_UNKNOWN","message":"..."}]}.
#pragma once

#include <string>

#include "api/gateway/route.h"
#include "manifest/base/result.h"

namespace kiln::gateway {

struct HttpError {
  unsigned status = 500;
  std::string body;
};

// What the client is told. Messages of internal faults stay in the farm's log.
HttpError httpError(const Error& error, RouteKind route);
HttpError httpError(unsigned status, std::string_view ociCode, std::string_view message);

}  // namespace kiln::gateway

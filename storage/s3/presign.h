// URLs that carry their signature: whoever has one may make that request, until it expires.
//
// Amazon S3 API Reference, "Authenticating Requests: Using Query Parameters (AWS Signature Version 4)".
// libcurl signs headers only.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "manifest/base/clock.h"
#include "storage/s3/credentials.h"

namespace kiln::s3 {

struct Presigned {
  std::string method;  // GET or PUT
  std::string url;     // of the object, without a query; nothing in it wants quoting
  std::string region;
  // By name, in lower case: what the request has to carry beside "host".
  std::map<std::string, std::string> headers;
  TimePoint now;
  std::chrono::seconds lifetime{900};
};

// The URL with its query.
std::string presign(const Presigned& request, const Credentials& credentials);

}  // namespace kiln::s3

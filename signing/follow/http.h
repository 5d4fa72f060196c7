// The little HTTP that following a log needs, over libcurl: plain http and https, no redirects, no proxy.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::signing {

struct HttpAnswer {
  long status = 0;
  std::string body;
};

// kUnavailable if nobody answers within 10 s; kResourceExhausted if the body is longer than `limit`. Any
// status is an answer. Thread safe.
Result<HttpAnswer> httpGet(const std::string& url, std::size_t limit);
Result<HttpAnswer> httpPost(const std::string& url, const std::string& body, std::size_t limit);

}  // namespace kiln::signing

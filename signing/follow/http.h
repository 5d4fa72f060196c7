// The little HTTP that following a log and pulling from a mirror need, over libcurl: plain http and https, no
// redirects, no proxy.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::signing {

struct HttpAnswer {
  long status = 0;
  std::string body;
};

// Files, "" for none; all PEM but the token, which is one line. Of https alone, and read for each request.
// With `ca` the server's certificate must be of its authorities, without it of the system's; and only then
// does anybody get to see the others.
struct HttpCredentials {
  std::string ca;
  std::string certificate;  // of this client, with its chain
  std::string key;          // its private key, as readSecretFile wants it
  std::string token;        // the same
};

// kUnavailable if nobody answers within 10 s or with another certificate; kResourceExhausted if the body is
// longer than `limit`; of the credentials kInvalidArgument for what is no PEM, and errors of reading, which
// name the file. Any status is an answer. Thread safe. Once `stop` is asked for, kUnavailable within a second
// or so.
Result<HttpAnswer> httpGet(const std::string& url, std::size_t limit, const HttpCredentials& credentials = {},
                           const std::stop_token& stop = {});
Result<HttpAnswer> httpPost(const std::string& url, const std::string& body, std::size_t limit);
// As httpGet, but the body of an answer with status 200 goes to `sink` as it comes, however long: an error of
// the sink ends the transfer and is returned. Of any other answer the body is kept, 64 KiB of it at most.
// kUnavailable also for an answer that is cut, or brings less than 1 KiB/s for 30 s; for the whole there is
// no limit of time.
Result<HttpAnswer> httpStream(const std::string& url, const std::function<Status(Bytes)>& sink,
                              const HttpCredentials& credentials = {});

}  // namespace kiln::signing

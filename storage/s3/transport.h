// One HTTP exchange with an S3 server, over libcurl, which does Signature Version 4 itself
// (CURLOPT_AWS_SIGV4). Plain http and https, no redirects, no proxy.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/base/mutex.h"
#include "storage/s3/credentials.h"
#include "storage/s3/location.h"

namespace kiln::s3 {

// Bytes to send: some in memory, or a file's first `size`. Whoever owns them keeps them until the answer.
struct Body {
  Bytes bytes;
  int file = -1;  // read with pread(2) unless negative
  std::uint64_t size = 0;

  static Body of(Bytes bytes) { return {bytes, -1, bytes.size()}; }
};

struct Request {
  std::string method;  // GET, HEAD, PUT, POST or DELETE
  std::string url;     // its query, if any, in the canonical form of Signature Version 4
  std::vector<std::string> headers;
  std::optional<Body> body;
  std::array<std::uint8_t, 32> bodyHash{};  // of `body`; signed, so that the server refuses other bytes
  std::string bodyType = "application/octet-stream";
  int patience = 1;  // so many times Timeouts::stall, where the server has much to do before it answers
  // Takes the body of an answer with 200 or 206; without one it goes to Answer::body.
  std::function<Status(Bytes)> sink;
  // Called once before the first byte goes to `sink`; an error ends the exchange.
  std::function<Status(const struct Answer&)> accept;
};

struct Answer {
  long status = 0;
  std::string body;  // what did not go to a sink; at most kMaxAnswerBody
  std::string etag, contentRange, checksum, requestId;
  // Of servers that speak something else: Location, WWW-Authenticate and OCI-Subject.
  std::string location, challenge, subject;
  std::optional<std::uint64_t> contentLength;
  TimePoint modified;  // to the second; the epoch if the server does not say it
};

// Why no whole answer came.
struct Failure {
  enum class Kind {
    kConnection,  // not reached, cut, too slow, or no HTTP: another attempt may do better
    kRefused,     // by the sink or accept(): `error` is theirs
    kLocal,       // here: credentials, a body that cannot be read, a certificate that does not verify
  };
  Kind kind = Kind::kConnection;
  Error error;
};

struct Timeouts {
  std::chrono::milliseconds connect{5'000};
  // An exchange ends when it has moved less than `stallBytes` within `stall`. Time that a sink takes is not
  // counted.
  std::chrono::milliseconds stall{15'000};
  std::uint64_t stallBytes = 16 << 10;
};

// Thread safe. Keeps connections open between exchanges, at most one per thread that was ever here at once,
// and no more than 32.
class Transport {
 public:
  // Without credentials nothing is signed: for URLs that carry their signature.
  Transport(const Location& location, std::shared_ptr<CredentialSource> credentials,
            const Timeouts& timeouts);
  ~Transport();

  tl::expected<Answer, Failure> exchange(const Request& request);

 private:
  struct Handle;
  std::unique_ptr<Handle> take() KILN_EXCLUDES(mutex_);
  void giveBack(std::unique_ptr<Handle> handle) KILN_EXCLUDES(mutex_);

  const Location location_;
  const std::shared_ptr<CredentialSource> credentials_;
  const Timeouts timeouts_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Handle>> idle_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::s3

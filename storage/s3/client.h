// A small client of S3: objects and multipart uploads, each call with retries within a bound.
//
// Requests, headers and error codes: Amazon S3 API Reference (PutObject, GetObject, HeadObject, DeleteObject,
// CreateMultipartUpload, UploadPart, CompleteMultipartUpload, AbortMultipartUpload, "Error responses").
//
// Errors of all calls, with the server's code and what it says in the message:
//   kNotFound            there is no such object (404)
//   kAlreadyExists       there is one, and Existing::kRefuse (412)
//   kPermissionDenied    403, wrong or expired keys and a clock that is wrong among them; kUnauthenticated
//   401 kDataLoss            the server got other bytes than were sent, or has others than it should
//   kUnavailable         not reached, cut, stalled, 5xx, 429 or 409 by each of the attempts
//   kFailedPrecondition  no such bucket, a bucket of another region, a certificate that does not verify
//   kResourceExhausted   the server has no room left
// Tried again (retry.h) are broken connections, 5xx, 429, 409 of conditions in conflict, and of 4xx only
// those that say that the bytes did not come through: RequestTimeout, BadDigest and their like.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "manifest/base/clock.h"
#include "storage/blob/blob_store.h"
#include "storage/s3/retry.h"
#include "storage/s3/transport.h"

namespace kiln::s3 {

struct ClientOptions {
  Location location;
  std::shared_ptr<CredentialSource> credentials;
  Timeouts timeouts;
  RetryPolicy retry;
};

enum class Existing { kRefuse, kReplace };

struct ObjectInfo {
  std::uint64_t size = 0;
  std::string etag;
  std::string checksum;  // SHA-256 of the whole in base64; "" if the server does not tell it
};

struct Fetched {
  std::string bytes, etag;
  TimePoint modified;  // to the second
};

struct Part {
  std::string etag;
  Digest digest;
};

// Thread safe. Keys stand below the location's prefix and hold letters, digits and "/._-" only.
class Client {
 public:
  explicit Client(ClientOptions options);

  // Stores an object whole. `digest` is that of the body, at most 5 GiB: the server refuses other bytes, by
  // the signature and by x-amz-checksum-sha256. Servers that know no conditions replace whatever is there
  // (README.md). After a connection that broke kAlreadyExists may mean that this call has put it there.
  Status put(const std::string& key, const Body& body, const Digest& digest, Existing existing);
  Result<ObjectInfo> head(const std::string& key);
  // All of a small object, at most `limit` bytes (kResourceExhausted beyond). Nothing is verified.
  Result<Fetched> fetch(const std::string& key, std::size_t limit);
  // put() in place of the object of that etag, or where there is none if that is "". The new etag.
  // kAlreadyExists if another one is there; as with put() it may be this call's own.
  Result<std::string> replace(const std::string& key, const Body& body, const Digest& digest,
                              const std::string& etag);
  // Streams bytes [offset, offset + length) of an object that must have `size` bytes; length is not 0. Goes
  // on where a connection broke. Nothing is verified but sizes: kDataLoss if the object has another one.
  Status get(const std::string& key, std::uint64_t size, std::uint64_t offset, std::uint64_t length,
             const storage::ByteSink& sink);
  // Makes `to` of `from` on the server, if that is still the object of this etag (kAlreadyExists if not).
  Status copy(const std::string& from, const std::string& etag, const std::string& to);
  // A URL with which anybody may make this request until `lifetime` after `now`; `headers`, by their names in
  // lower case, have to come with it.
  Result<std::string> presign(const std::string& method, const std::string& key,
                              const std::map<std::string, std::string>& headers, TimePoint now) const;
  // By name: what an object that is put has to be encrypted with, as the location says.
  std::map<std::string, std::string> encryption() const;
  // Succeeds, too, where there is none.
  Status remove(const std::string& key);

  // Large objects in parts of 5 MiB to 5 GiB, the last may be smaller; at most 10,000, numbered from 1.
  Result<std::string> startParts(const std::string& key);
  Result<Part> putPart(const std::string& key, const std::string& upload, std::size_t number,
                       const Body& body, const Digest& digest);
  // As put(): kAlreadyExists may mean that this call has completed it.
  Status completeParts(const std::string& key, const std::string& upload, std::span<const Part> parts,
                       Existing existing);
  // Gives up the parts. Succeeds, too, where there are none.
  Status abortParts(const std::string& key, const std::string& upload);

  const Location& location() const { return options_.location; }

 private:
  Request putRequest(const std::string& key, const Body& body, const Digest& digest) const;
  Request request(const std::string& method, const std::string& key, const std::string& query = "") const;
  void encrypt(Request& request) const;
  // `made` (optional) is told how many attempts it took.
  Result<Answer> perform(const Request& request, const std::string& what, int* made = nullptr);

  const ClientOptions options_;
  Transport transport_;
};

}  // namespace kiln::s3

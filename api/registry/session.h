// One repository of an OCI registry, to write to. The registry is not trusted: its answers are bounded, it
// sends nobody elsewhere, and nothing that it says is printed but the codes of its errors.
//
// Source: OCI distribution-spec 1.1 ("Push", "Listing Referrers"), and the token authentication of
// distribution ("Token Authentication Specification").
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/registry/credentials.h"
#include "api/registry/reference.h"
#include "manifest/base/digest.h"
#include "storage/s3/transport.h"

namespace kiln::registry {

struct SessionOptions {
  bool plainHttp = false;  // http, to another machine too; to this one it is the default without `ca`
  std::string ca;          // a PEM file with the registry's authorities; "" for the system's
  Credentials credentials;
};

struct PutAnswer {
  bool sent = false;      // false if it was there already
  bool referred = false;  // the registry says that it lists it under its subject
};

// Not thread safe. Errors: kUnauthenticated and kPermissionDenied as the registry says; kUnavailable if it
// does not answer or asks to come again; kResourceExhausted for what it finds too large; kFailedPrecondition
// for what else it refuses, and for answers that are not those of a registry.
class Session {
 public:
  // kInvalidArgument for credentials that would go to another machine in plain text.
  static Result<Session> open(const Reference& reference, SessionOptions options);

  // Sends a blob unless it is there. The bytes must be those of the digest: the registry hashes them.
  Result<PutAnswer> putBlob(const Digest& digest, const s3::Body& body);
  // Stores a manifest of that type under `name`: its digest, or a tag. Sent each time: it is small, and only
  // storing it says whether the registry lists it under its subject.
  Result<PutAnswer> putManifest(const std::string& name, const std::string& mediaType, std::string_view text);
  // The image index under a tag; nothing if there is none. kResourceExhausted beyond 4 MiB.
  Result<std::optional<std::string>> getIndex(const std::string& tag);

 private:
  Session(const Reference& reference, SessionOptions options, std::string origin);
  std::string url(const std::string& rest) const;
  Result<s3::Answer> exchange(s3::Request request);
  Result<s3::Answer> once(s3::Request request, const std::string& authorization);
  Status authenticate(const std::string& challenge);
  Result<std::string> fetchToken(const std::string& challenge);
  Result<std::string> uploadAddress(const std::string& location) const;
  tl::unexpected<Error> refused(const char* what, const s3::Answer& answer) const;

  Reference reference_;
  SessionOptions options_;
  std::string origin_;         // "https://HOST[:PORT]"
  std::string authorization_;  // the header's value; "" before the registry asked for one
  std::unique_ptr<s3::Transport> transport_;
};

}  // namespace kiln::registry

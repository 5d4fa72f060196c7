// Who asks: access keys of S3, and where they come from.
//
// Names of variables and the form of the file: AWS SDKs and Tools Reference Guide, "AWS access keys" and
// "Shared config and credentials files".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::s3 {

struct Credentials {
  std::string accessKeyId;
  std::string secretAccessKey;
  std::string sessionToken;  // "" for keys that do not expire
};

// Thread safe. Asked before each request, so a source may change its answer when keys are rotated or expire.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  // kUnauthenticated if there are none; never says a secret.
  virtual Result<Credentials> get() = 0;
};

// The value of an environment variable; nothing where it is unset.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment processEnvironment();

// Always the same ones. kInvalidArgument for what cannot stand in a header.
Result<std::unique_ptr<CredentialSource>> fixedCredentials(const Credentials& credentials);
// [profile] of a shared credentials file of at most 1 MiB, read again whenever the file has changed.
std::unique_ptr<CredentialSource> fileCredentials(std::string path, std::string profile);

// Of these the first that is there: AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN
// (unless `profile` is given); the profile, or AWS_PROFILE, or "default", of AWS_SHARED_CREDENTIALS_FILE or
// ~/.aws/credentials; the role of a workload or a container (role_credentials.h); that of this machine, which
// is asked for keys now. kUnauthenticated if there is none at all.
Result<std::unique_ptr<CredentialSource>> defaultCredentials(const std::string& profile,
                                                             const Environment& environment);

}  // namespace kiln::s3

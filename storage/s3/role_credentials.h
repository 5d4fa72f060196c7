// Keys that somebody gives out for a role, for a while: to a workload by the token it was given, to a
// container, to a machine.
//
// AWS SDKs and Tools Reference Guide, "Assume role with web identity", "Container credential provider", "IMDS
// credential provider"; AWS STS API Reference, AssumeRoleWithWebIdentity; EC2 User Guide, "Use IMDSv2".
#pragma once

#include <memory>

#include "manifest/base/clock.h"
#include "storage/s3/credentials.h"

namespace kiln::s3 {

// The first of these that the environment names, or null:
//   AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN (AWS_ROLE_SESSION_NAME, AWS_ENDPOINT_URL_STS, AWS_REGION):
//   IRSA AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI (AWS_CONTAINER_AUTHORIZATION_TOKEN or
//   _TOKEN_FILE): ECS, EKS
// Keys are asked for again five minutes before they expire, and the old ones are used for as long as they
// hold while that fails. get() is kUnauthenticated if no keys are to be had. kInvalidArgument for an
// environment that names half.
Result<std::unique_ptr<CredentialSource>> roleCredentials(const Environment& environment, const Clock& clock);
// Of this machine (IMDSv2; AWS_EC2_METADATA_SERVICE_ENDPOINT). Null if AWS_EC2_METADATA_DISABLED is "true".
// `clock` must outlive the source, here and above.
std::unique_ptr<CredentialSource> machineCredentials(const Environment& environment, const Clock& clock);

}  // namespace kiln::s3

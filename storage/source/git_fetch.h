// Fetching one commit of a repository over the network, for the farm's fetcher.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/source/git_reference.h"
#include "storage/source/git_repository.h"

namespace kiln::source {

// For private repositories. Sent only to the host of the URL: redirects to others are not followed.
struct GitCredentials {
  std::string user = "x-access-token";  // https; what goes with a token
  std::string token;                    // https; empty: none
  std::string sshKey;                   // path of a private key; empty: none
  std::string sshPassphrase;
  // Accepted ssh host keys as ssh-keygen -l prints them: "SHA256:…". Empty: those of ~/.ssh/known_hosts.
  std::vector<std::string> sshHostKeys;
};

struct GitFetchOptions {
  std::vector<std::string> allowedHosts;  // see host_policy.h; empty: none
  GitCredentials credentials;
  std::string caFile = "/etc/ssl/certs/ca-certificates.crt";
  std::string proxy;                            // URL; empty: none
  std::string temporaryDirectory;               // where the repository is put; empty: the system's
  std::uint64_t maxTransferBytes = 8ull << 30;  // the whole history travels: libgit2 fetches are not shallow
  std::chrono::seconds timeLimit{
      600};                // looked at while data arrive; a silent server must be ended from outside
  bool allowHttp = false;  // without TLS; for tests and closed networks
};

// Fetches the commit into a temporary bare repository, which lives as long as the CommitTree.
// kInvalidArgument if reference.commit is not a full commit id; the message names the commit that a branch or
// tag stands for on the server. kPermissionDenied for a host that is not allowed or not what it claims to be;
// kUnauthenticated, kNotFound; kUnavailable where another try may help; git_answer.h's codes for what the
// server decided; kDataLoss for a pack that is none; kResourceExhausted beyond maxTransferBytes and without
// memory; kDeadlineExceeded. Sets libgit2's CA file for the process: call it from one thread.
Result<CommitTree> fetchCommit(const GitReference& reference, const GitFetchOptions& options);

// Makes libgit2 ignore system and user configuration (URL rewriting, proxies) from now on, for the whole
// process: what a fetcher wants. Repositories of other users cannot be opened afterwards.
void ignoreGitConfiguration();

}  // namespace kiln::source

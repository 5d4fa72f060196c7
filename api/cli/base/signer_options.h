// The options that say whose signatures of a model count, in every command that checks one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "signing/model/accepted_signers.h"

namespace kiln::cli {

// How a command calls them.
struct SignerWords {
  const char* key = "--signed-by";
  const char* certificate = "--certificate";  // -root, -crl, -identity, -oidc-issuer and -time follow
  const char* trustedRoot = "--trusted-root";
};

struct SignerOptions {
  SignerWords words;
  std::vector<std::string> keys, roots, revocations, trustedRoots;  // files
  std::vector<std::string> identities, issuers;
  std::string time;  // RFC 3339, or a date; "" for now

  // Nobody is named.
  bool empty() const { return keys.empty() && roots.empty() && trustedRoots.empty(); }
};

// Adds them to a command.
void addSignerOptions(CLI::App& command, SignerOptions& options, const SignerWords& words = {});

// kInvalidArgument where one is given without what it goes with: a root and a name, for a trusted root its
// OpenID issuer too.
Status checkSigners(const SignerOptions& options);

// Reads what they name, for certificates of a private authority at `now` where no time is given.
// kInvalidArgument where nobody is named, and as checkSigners(); otherwise as ModelKey::load,
// CertificateRoots::load, loadRevocationLists and loadTrustedRoots.
Result<signing::AcceptedSigners> loadSigners(const SignerOptions& options, TimePoint now);

}  // namespace kiln::cli

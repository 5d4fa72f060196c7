// The options that say whose signatures of a model count, in every command that checks one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "signing/model/accepted_signers.h"

namespace kiln::cli {

struct SignerOptions {
  std::vector<std::string> keys, roots;  // files
  std::vector<std::string> identities;
  std::string time;  // RFC 3339, or a date; "" for now

  bool empty() const { return keys.empty() && roots.empty(); }
};

// How the options are called: "--signed-by" and "--certificate-…", or what a build calls them.
struct SignerWords {
  const char* key = "--signed-by";
  const char* certificate = "--certificate";  // "-root", "-identity" and "-time" follow
};

// Adds them to a command. A root goes with an identity, and the other way round.
void addSignerOptions(CLI::App& command, SignerOptions& options, const SignerWords& words = {});

// kInvalidArgument where nobody is named.
Status checkSigners(const SignerOptions& options);

// Reads what they name, for certificates at `now` where no time is given. As checkSigners(), ModelKey::load
// and CertificateRoots::load.
Result<signing::AcceptedSigners> loadSigners(const SignerOptions& options, TimePoint now);

}  // namespace kiln::cli

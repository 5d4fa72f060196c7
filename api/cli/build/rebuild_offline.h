// `kiln rebuild --offline`: an artifact is made again from its export and nothing else.
#pragma once

#include <string>

#include "api/cli/base/context.h"

namespace kiln::cli {

struct OfflineRebuild {
  std::string directory;  // an export with inputs
  std::string out;        // where the rebuilt files are left; "" for nowhere
  std::string key;        // of the rebuilder, PEM; "" for no statement
  std::string id;         // whom the key speaks for; "" for a URI made of the key
  std::string operatorName = "self";
  std::string statement;  // a file for the bundle; "" adds it to the export
};

// What a rebuild says of an artifact that is refused because of recalls.
std::string rebuiltThough(const Error& refusal);

// Verifies the export (recalls are said and do not stop it), runs kiln-rebuilder, compares, and signs a
// reproduction statement where all is equal. Details carry exitCode 9 and the differing files where it is
// not, exitCode 7 without a working sandbox.
Status rebuildOffline(const Context& context, const OfflineRebuild& options);

}  // namespace kiln::cli

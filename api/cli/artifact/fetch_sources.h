// Where a fetch looks for an artifact: the farm and mirrors, one after the other.
#pragma once

#include <string>

#include "api/cli/base/context.h"
#include "api/node/trust.h"

namespace kiln::cli {

// --mirror of a command, and $KILN_MIRRORS.
void addMirrorOption(CLI::App& command, Context& context);

struct Fetched {
  signing::Verdict verdict;
  std::string directory;  // that was made
  std::string source;     // the endpoint or the URL that served
};

enum class FetchedPart { kArtifact, kIr };

// Fetches `artifact`, or its IR, into `directory` ("": kiln-<hash>) from the first source that has it and is
// to be believed: the sources are those of --mirror in their order, with the farm where "farm" stands among
// them, else first where an endpoint is known. A mirror that is behind what was seen here, cut or wrong is
// passed over, and why is told on stderr. If none serves, the error names each; it is that of the first whose
// answer did not verify, else of the first that answered at all.
Result<Fetched> fetchFromAny(const Context& context, const std::string& artifact, std::string directory,
                             FetchedPart part = FetchedPart::kArtifact);

}  // namespace kiln::cli

#include <fmt/format.h>

#include "api/cli/artifact/commands.h"
#include "api/cli/base/print.h"
#include "api/cli/base/trust_settings.h"
#include "api/client/artifact_ref.h"
#include "api/node/fetch.h"
#include "manifest/base/counted.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string artifact, directory;
};

Status run(const Context& context, const Options& options) {
  KILN_ASSIGN(const auto trust, loadTrust(context));
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const auto ref, client::findArtifact(*client, options.artifact));
  const auto directory =
      options.directory.empty() ? "kiln-" + ref.artifact.hex().substr(0, 12) : options.directory;
  KILN_ASSIGN(const auto verdict, node::fetchArtifact(client->blobs(), ref, directory, trust, SystemClock()));
  const std::vector<ArtifactFile> files = verdict.manifest.files();
  std::uint64_t bytes = 0;
  for (const ArtifactFile& file : files) bytes += file.digest.size;
  if (context.json) {
    printJson({{"artifact", verdict.artifact.text()},
               {"directory", directory},
               {"bytes", bytes},
               {"verified", true}});
    return {};
  }
  note(fmt::format("verified and fetched {} in {}", humanBytes(bytes), counted(files.size(), "file")));
  printLine(directory);
  return {};
}

}  // namespace

void addFetch(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(
      app, context, "fetch", "Fetch an artifact by its hash; what does not verify leaves nothing behind",
      "kiln fetch sha256:<hex> --out model", [&context, options] { return run(context, *options); });
  command.add_option("ARTIFACT", options->artifact, "sha256:<hex>, 12 digits or more")->required();
  command.add_option("--out", options->directory, "Directory to make (default: kiln-<hash>)");
  addFarmOptions(command, context, kRidesOut);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli

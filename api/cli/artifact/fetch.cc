#include <fmt/format.h>

#include "api/cli/artifact/commands.h"
#include "api/cli/artifact/fetch_sources.h"
#include "api/cli/base/artifact_option.h"
#include "api/cli/base/print.h"
#include "manifest/base/counted.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string artifact, directory, ir;
};

Status runIr(const Context& context, const Options& options) {
  KILN_ASSIGN(const Fetched fetched, fetchFromAny(context, options.artifact, options.ir, FetchedPart::kIr));
  const IrStatement& ir = *fetched.verdict.ir();
  if (context.json) {
    printJson({{"artifact", fetched.verdict.artifact.text()},
               {"ir", ir.ir.text()},
               {"directory", fetched.directory},
               {"files", ir.files.size()},
               {"source", fetched.source},
               {"verified", true}});
    return {};
  }
  note(fmt::format("verified and fetched the IR {} in {} from {}", ir.ir.text(),
                   counted(ir.files.size(), "file"), fetched.source));
  printLine(fetched.directory);
  return {};
}

Status run(const Context& context, const Options& options) {
  if (!options.ir.empty()) return runIr(context, options);
  KILN_ASSIGN(const Fetched fetched, fetchFromAny(context, options.artifact, options.directory));
  const std::vector<ArtifactFile> files = fetched.verdict.manifest.files();
  std::uint64_t bytes = 0;
  for (const ArtifactFile& file : files) bytes += file.digest.size;
  if (context.json) {
    printJson({{"artifact", fetched.verdict.artifact.text()},
               {"directory", fetched.directory},
               {"bytes", bytes},
               {"source", fetched.source},
               {"verified", true}});
    return {};
  }
  note(fmt::format("verified and fetched {} in {} from {}", humanBytes(bytes), counted(files.size(), "file"),
                   fetched.source));
  printLine(fetched.directory);
  return {};
}

}  // namespace

void addFetch(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(
      app, context, "fetch", "Fetch an artifact by its hash; what does not verify leaves nothing behind",
      "kiln fetch sha256:<hex> --out model", [&context, options] { return run(context, *options); });
  addArtifactOption(command, "ARTIFACT", options->artifact, "sha256:<hex>, 12 digits or more")->required();
  CLI::Option* const out =
      command.add_option("--out", options->directory, "Directory to make (default: kiln-<hash>)");
  command
      .add_option("--ir", options->ir,
                  "Directory to make for the IR behind each stage of its compile, without the artifact "
                  "itself; kiln build --keep-ir has the farm make it")
      ->excludes(out);
  addMirrorOption(command, context);
  addFarmOptions(command, context, kRidesOut);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli

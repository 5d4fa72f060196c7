#include <fmt/format.h>

#include "api/cli/artifact/commands.h"
#include "api/cli/base/artifact_option.h"
#include "api/cli/base/print.h"
#include "api/cli/base/trust_settings.h"
#include "api/client/image.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string artifact, image;
};

// Whether the files make the image that somebody wrote down, and nothing else lies in it.
Status checkImage(const node::VerifiedArtifact& artifact, const std::string& wanted) {
  KILN_ASSIGN(const Digest image, Digest::parse(wanted, 0));
  KILN_ASSIGN(const Digest made, client::imageOf(artifact));
  if (made.hash == image.hash) return {};
  return fail(Code::kDataLoss, "the artifact is verified, but its files here make image " + made.text() +
                                   " and not " + image.text());
}

Status run(const Context& context, const Options& options) {
  KILN_ASSIGN(const auto opened, openArtifact(context, options.artifact));
  if (!options.image.empty()) KILN_TRY(checkImage(opened, options.image));
  if (context.json) {
    Json lines = Json::array();
    for (const auto& line : opened.verdict.lines) {
      lines.push_back({{"ok", line.ok}, {"check", line.check}, {"detail", line.detail}});
    }
    Json out{{"verified", true}, {"artifact", opened.verdict.artifact.text()}, {"checks", std::move(lines)}};
    if (!options.image.empty()) out["image"] = options.image;
    printJson(out);
    return {};
  }
  for (const auto& line : opened.verdict.lines) printLine(fmt::format("ok  {}: {}", line.check, line.detail));
  if (!options.image.empty()) printLine("ok  image: these files make " + options.image);
  printLine("verified " + opened.verdict.artifact.text());
  return {};
}

}  // namespace

void addVerify(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command =
      addCommand(app, context, "verify",
                 "Check hashes, signature, subject, builder and policy; a directory needs no farm",
                 "kiln verify DIR --trust-root root.json --policy policy.json",
                 [&context, options] { return run(context, *options); });
  addArtifactOption(command, "ARTIFACT", options->artifact,
                    "sha256:<hex>, 12 digits or more, or a fetched directory")
      ->required();
  command.add_option("--image", options->image,
                     "sha256:<hex>: these files must make this container image (of a mounted one, its own)");
  addFarmOptions(command, context);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli

#include <fmt/format.h>

#include "api/cli/artifact/commands.h"
#include "api/cli/base/artifact_option.h"
#include "api/cli/base/print.h"
#include "api/cli/base/trust_settings.h"

namespace kiln::cli {
namespace {

Status run(const Context& context, const std::string& artifact) {
  KILN_ASSIGN(const auto opened, openArtifact(context, artifact));
  if (context.json) {
    Json lines = Json::array();
    for (const auto& line : opened.verdict.lines) {
      lines.push_back({{"ok", line.ok}, {"check", line.check}, {"detail", line.detail}});
    }
    printJson(
        {{"verified", true}, {"artifact", opened.verdict.artifact.text()}, {"checks", std::move(lines)}});
    return {};
  }
  for (const auto& line : opened.verdict.lines) printLine(fmt::format("ok  {}: {}", line.check, line.detail));
  printLine("verified " + opened.verdict.artifact.text());
  return {};
}

}  // namespace

void addVerify(CLI::App& app, Context& context) {
  const auto artifact = std::make_shared<std::string>();
  auto& command =
      addCommand(app, context, "verify",
                 "Check hashes, signature, subject, builder and policy; a directory needs no farm",
                 "kiln verify DIR --trust-root root.json --policy policy.json",
                 [&context, artifact] { return run(context, *artifact); });
  addArtifactOption(command, "ARTIFACT", *artifact, "sha256:<hex>, 12 digits or more, or a fetched directory")
      ->required();
  addFarmOptions(command, context);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli

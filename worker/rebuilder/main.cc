// kiln-rebuilder: runs an artifact's reproducible actions again, in the sandbox, from an export alone.
// Started by `kiln rebuild --offline`, which verifies the export before and compares after. Writes compile/,
// reference/ and report.json. On failure the last line of stdout is canonical JSON
// {"error":{"code","details","message"}}.
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "manifest/base/exit_code.h"
#include "manifest/base/file.h"
#include "manifest/base/program.h"
#include "manifest/base/usage.h"
#include "manifest/json/error_line.h"
#include "worker/rebuilder/rebuild.h"

namespace kiln::rebuilder {
namespace {

constexpr std::size_t kMaxSpecBytes = 4u << 20;

Result<CompileSpec> readSpec(const std::string& path) {
  KILN_ASSIGN(const std::string text, readRegular(path, kMaxSpecBytes));
  KILN_ASSIGN(const Json json, parseStrictJson(text));
  return CompileSpec::fromJson(json);
}

Status rebuildAndReport(RebuildRequest& request, const std::string& spec) {
  KILN_ASSIGN(request.spec, readSpec(spec));
  KILN_ASSIGN(const Rebuilt done, rebuild(request));
  KILN_ASSIGN(const std::string report, toCanonicalJson(done.toJson()));
  KILN_TRY(writeFile(request.out + "/sandbox-policy.json", asBytes(done.sandboxPolicyText), O_EXCL, 0644));
  return writeFile(request.out + "/report.json", asBytes(report), O_EXCL, 0644);
}

int run(int argc, char** argv) {
  RebuildRequest request;
  std::string spec;
  CLI::App app(
      "Runs an artifact's reproducible actions again from an export.\n"
      "example: kiln-rebuilder --layout EXPORT --spec spec.json --state /tmp/again --out DIR",
      "kiln-rebuilder");
  app.add_option("--layout", request.layout, "an export with inputs")->required();
  app.add_option("--spec", spec, "the CompileSpec of the artifact's Manifest")->required();
  app.add_option("--state", request.state, "a directory to make and to remove again")->required();
  app.add_option("--out", request.out, "an existing directory for report.json and the outputs")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return usageExit(app, error);
  }
  std::signal(SIGPIPE, SIG_IGN);
  const Status done = rebuildAndReport(request, spec);
  if (done) return 0;
  std::printf("%s\n", errorLine(done.error()).c_str());
  return done.error().code == Code::kFailedPrecondition ? kExitUnavailable : exitCodeOf(done.error().code);
}

}  // namespace
}  // namespace kiln::rebuilder

int main(int argc, char** argv) {
  return kiln::runMain("kiln-rebuilder", [&] { return kiln::rebuilder::run(argc, argv); });
}

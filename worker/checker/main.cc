// kiln-check: qualifies an artifact on this machine (compiler_core/runtime/check). Started by kiln-worker in
// a sandbox with the host's libraries and no network. Exit 0 whenever the check could be made, whatever it
// found: the report says so. Ends as kiln-cc does otherwise: the last line of stderr is canonical JSON
// {"error":{"code","details","message"}}.
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "compiler_core/runtime/check/check.h"
#include "compiler_core/runtime/session/artifact.h"
#include "manifest/base/exit_code.h"
#include "manifest/base/file.h"
#include "manifest/base/program.h"
#include "manifest/base/usage.h"
#include "manifest/json/error_line.h"

namespace kiln::checker {
namespace {

struct Flags {
  std::string artifact, plan, out;
  std::string driver;
  std::int32_t device = 0;
  std::uint32_t threads = 0;
};

std::string directoryOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Status check(const Flags& flags) {
  KILN_ASSIGN(const std::string text, runtime::readDocument(flags.plan));
  auto plan = runtime::parseCheckPlan(text);
  if (!plan) return fail(plan.error().in(flags.plan));
  std::fprintf(stderr, "stage: check\n");
  kiln_session_options options{.threads = flags.threads};
  options.device_driver = flags.driver.empty() ? nullptr : flags.driver.c_str();
  options.device = flags.device;
  KILN_ASSIGN(const runtime::CheckReport report,
              runtime::check(flags.artifact, *plan, directoryOf(flags.plan), options));
  KILN_ASSIGN(const std::string json, toCanonicalJson(report.toJson()));
  return writeFile(flags.out + "/report.json", asBytes(json), O_EXCL, 0644);
}

int run(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Qualifies an artifact on this machine and writes report.json.\n"
      "example: kiln-check --artifact DIR --plan check.json --out DIR",
      "kiln-check");
  app.add_option("--artifact", flags.artifact, "a verified artifact directory with fixtures")->required();
  app.add_option("--plan", flags.plan, "check.json; the files it names lie beside it")->required();
  app.add_option("--out", flags.out, "an empty directory for report.json")->required();
  app.add_option("--threads", flags.threads, "threads to run on (default: every processor)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--device-driver", flags.driver,
                 "CUDA driver library or Vulkan loader (default: libcuda.so.1 or libvulkan.so.1, as the "
                 "artifact's target "
                 "wants)");
  app.add_option("--device", flags.device, "which of the driver's devices, from 0")
      ->check(CLI::Range(0, 1023));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return usageExit(app, error);
  }
  const Status done = check(flags);
  if (done) return 0;
  std::fprintf(stderr, "%s\n", errorLine({done.error().code, done.error().message, {}}).c_str());
  // A machine with too little memory cannot serve the artifact; nothing is wrong with it.
  return done.error().code == Code::kResourceExhausted ? kExitUnsupported : exitCodeOf(done.error().code);
}

}  // namespace
}  // namespace kiln::checker

int main(int argc, char** argv) {
  return kiln::runMain("kiln-check", [&] { return kiln::checker::run(argc, argv); });
}

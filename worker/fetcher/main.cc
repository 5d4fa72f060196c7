// kiln-fetcher: one model from one commit of a git repository. Started by kiln-worker in a sandbox that has
// the network and nothing of the farm. Ends as kiln-cc does: on failure the last line of stderr is canonical
// JSON
// {"error":{"code","details","message"}}.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"
#include "manifest/base/usage.h"
#include "manifest/json/error_line.h"
#include "storage/source/git_fetch.h"
#include "storage/source/secrets.h"
#include "worker/fetcher/fetch.h"

namespace kiln::fetcher {
namespace {

struct Flags {
  std::string url, commit, path, out, credentials, caFile, proxy;
  std::vector<std::string> hosts;
  std::uint64_t maxMebibytes = 8192;
};

Status fetch(const Flags& flags) {
  KILN_ASSIGN(const auto reference,
              source::parseGitReference("git+" + flags.url + "@" + flags.commit + "#" + flags.path));
  source::ignoreGitConfiguration();
  source::GitFetchOptions options;
  options.allowedHosts = flags.hosts;
  options.temporaryDirectory = flags.out;
  options.maxTransferBytes = flags.maxMebibytes << 20;
  if (!flags.caFile.empty()) options.caFile = flags.caFile;
  options.proxy = flags.proxy;
  if (!flags.credentials.empty()) {
    KILN_ASSIGN(options.credentials, source::readGitCredentials(flags.credentials));
  }
  std::fprintf(stderr, "stage: fetch\n");
  KILN_ASSIGN(const source::CommitTree tree, source::fetchCommit(reference, options));
  std::fprintf(stderr, "stage: read\n");
  return writeModel([&](const std::string& path, std::uint64_t limit) { return tree.read(path, limit); },
                    reference.path, flags.out);
}

// A limit that the source exceeds is a refusal here.
int exitCode(Code code) {
  const bool overBudget = code == Code::kOutOfRange || code == Code::kResourceExhausted;
  return overBudget ? kExitUnsupported : exitCodeOf(code);
}

int run(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Fetches a model from a commit.\n"
      "example: kiln-fetcher --url https://git.example.org/models.git --commit <40 hex> --path m.onnx "
      "--hosts git.example.org --out DIR",
      "kiln-fetcher");
  app.add_option("--url", flags.url, "https or ssh URL of the repository")->required();
  app.add_option("--commit", flags.commit, "full commit id")->required();
  app.add_option("--path", flags.path, "the model's path in the commit")->required();
  app.add_option("--hosts", flags.hosts, "hosts that may be fetched from")->delimiter(',');
  app.add_option("--out", flags.out, "an empty directory")->required();
  app.add_option("--credentials", flags.credentials, "file with credentials for private repositories");
  app.add_option("--ca-file", flags.caFile, "certificate authorities, PEM, instead of the system's");
  app.add_option("--proxy", flags.proxy, "URL of a proxy");
  app.add_option("--max-mib", flags.maxMebibytes, "most mebibytes to transfer")
      ->check(CLI::Range(1, 1 << 20));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return usageExit(app, error);
  }
  const Status done = fetch(flags);
  if (done) return 0;
  std::fprintf(stderr, "%s\n", errorLine({done.error().code, done.error().message, {}}).c_str());
  return exitCode(done.error().code);
}

}  // namespace
}  // namespace kiln::fetcher

int main(int argc, char** argv) {
  return kiln::runMain("kiln-fetcher", [&] { return kiln::fetcher::run(argc, argv); });
}

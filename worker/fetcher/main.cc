// kiln-fetcher: one model from one commit of a git repository. Started by kiln-worker in a sandbox that has
// the network and nothing of the farm, and by kiln build for a repository on the user's machine, where it
// confines itself. Ends as kiln-cc does: on failure the last line of stderr is canonical JSON
// {"error":{"code","details","message"}}.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "manifest/base/exit_code.h"
#include "manifest/base/printable.h"
#include "manifest/base/program.h"
#include "manifest/base/usage.h"
#include "manifest/json/error_line.h"
#include "storage/lfs/client.h"
#include "storage/lfs/lfs_config.h"
#include "storage/lfs/local_objects.h"
#include "storage/source/git_fetch.h"
#include "storage/source/secrets.h"
#include "worker/fetcher/confine.h"
#include "worker/fetcher/fetch.h"

namespace kiln::fetcher {
namespace {

constexpr std::size_t kMaxMessage = 4096;

struct Flags {
  std::string url, repository, commit, path, out, credentials, caFile, proxy;
  std::vector<std::string> hosts;
  std::uint64_t maxMebibytes = 8192;
  unsigned fileSeconds = 60;
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
  Commit commit;
  commit.read = [&](const std::string& path, std::uint64_t limit) { return tree.read(path, limit); };
  commit.list = [&](const std::string& path) { return tree.list(path, kMaxEntries); };
  commit.fetchLarge = [&](std::span<const lfs::LargeFile> files) -> Status {
    std::fprintf(stderr, "stage: fetch Git LFS objects\n");
    auto config = tree.read(lfs::kLfsConfig, lfs::kMaxLfsConfigBytes);
    if (!config && config.error().code != Code::kNotFound) return fail(config.error());
    KILN_ASSIGN(lfs::LfsClient client, lfs::LfsClient::make(reference.url, options, config.value_or("")));
    return client.fetch(files);
  };
  return writeModel(commit, reference.path, flags.out);
}

// A repository on this machine. Whoever wrote it may control this process from the first object on.
Status readLocal(const Flags& flags) {
  const auto allowTime = [&] { allowProcessorTime(std::chrono::seconds(flags.fileSeconds)); };
  std::string common;
  const auto restrict = [&](const source::RepositoryFiles& files) {
    common = files.common;
    return restrictFiles({files.git, files.common, files.objects, flags.out}, flags.out);
  };
  allowTime();
  KILN_TRY(refuseOtherCalls());
  KILN_ASSIGN(const source::CommitTree tree,
              source::CommitTree::openLocal(flags.repository, flags.commit, restrict));
  Commit commit;
  commit.read = [&](const std::string& path, std::uint64_t limit) {
    allowTime();
    return tree.read(path, limit);
  };
  commit.list = [&](const std::string& path) {
    allowTime();
    return tree.list(path, kMaxEntries);
  };
  commit.fetchLarge = [&](std::span<const lfs::LargeFile> files) -> Status {
    for (const lfs::LargeFile& file : files) {
      allowTime();
      KILN_TRY(lfs::copyLocalObjects(common, {&file, 1}));
    }
    return {};
  };
  return writeModel(commit, flags.path, flags.out, {.files = 65536});
}

// Memory that runs out has been asked for by the source.
Status get(const Flags& flags) {
  limitResources();
  try {
    return flags.repository.empty() ? fetch(flags) : readLocal(flags);
  } catch (const std::bad_alloc&) {
    return fail(Code::kResourceExhausted, "the repository needs more memory than reading it may take");
  }
}

// A limit that the source exceeds is a refusal here; details are those of a model that is at fault.
int exitCode(const Error& error) {
  if (!error.details.empty()) return kExitInvalidModel;
  const bool overBudget = error.code == Code::kOutOfRange || error.code == Code::kResourceExhausted;
  return overBudget ? kExitUnsupported : exitCodeOf(error.code);
}

int run(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Fetches a model from a commit.\n"
      "example: kiln-fetcher --url https://git.example.org/models.git --commit <40 hex> --path m.onnx "
      "--hosts git.example.org --out DIR",
      "kiln-fetcher");
  auto* const url = app.add_option("--url", flags.url, "https or ssh URL of the repository");
  app.add_option("--repository", flags.repository, "a repository on this machine, instead of --url")
      ->excludes(url);
  app.add_option("--commit", flags.commit, "full commit id")->required();
  app.add_option("--path", flags.path, "the model's path in the commit, a file or a folder")->required();
  app.add_option("--hosts", flags.hosts, "hosts that may be fetched from")->delimiter(',');
  app.add_option("--out", flags.out, "an empty directory")->required();
  app.add_option("--credentials", flags.credentials, "file with credentials for private repositories");
  app.add_option("--ca-file", flags.caFile, "certificate authorities, PEM, instead of the system's");
  app.add_option("--proxy", flags.proxy, "URL of a proxy");
  app.add_option("--max-mib", flags.maxMebibytes, "most mebibytes to transfer")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--file-seconds", flags.fileSeconds,
                 "most seconds of processor time for a file of a --repository")
      ->check(CLI::Range(1, 3600));
  try {
    app.parse(argc, argv);
    if (flags.url.empty() && flags.repository.empty()) throw CLI::RequiredError("--url or --repository");
  } catch (const CLI::ParseError& error) {
    return usageExit(app, error);
  }
  const Status done = get(flags);
  if (done) return 0;
  const Error error{done.error().code, printable(done.error().message, kMaxMessage), done.error().details};
  std::fprintf(stderr, "%s\n", errorLine(error).c_str());
  return exitCode(error);
}

}  // namespace
}  // namespace kiln::fetcher

int main(int argc, char** argv) {
  return kiln::runMain("kiln-fetcher", [&] { return kiln::fetcher::run(argc, argv); });
}

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "api/cli/artifact/commands.h"
#include "api/cli/base/print.h"
#include "api/cli/view/job_view.h"
#include "api/client/artifact_ref.h"
#include "manifest/base/glob.h"

namespace kiln::cli {
namespace {

constexpr int kPage = 1000;
constexpr int kMaxPages = 50;  // that a search reads, as the console's does

struct Options {
  std::vector<std::string> words;
  int limit = 20;
  std::string before;
};

// Whether each of the words, in lower case, stands somewhere in what a list shows of it.
bool matches(const v1::Artifact& artifact, const std::vector<std::string>& words) {
  const std::string text =
      lower(fmt::format("{} {} {} {} {} {}", artifact.digest(), artifact.target(), artifact.toolchain_label(),
                        fmt::join(artifact.models(), " "), fmt::join(artifact.builders(), " "),
                        fmt::join(artifact.jobs(), " ")));
  return std::ranges::all_of(words,
                             [&](const std::string& word) { return text.find(word) != std::string::npos; });
}

struct Found {
  std::vector<v1::Artifact> artifacts;
  bool everything = true;  // no further artifact could match
};

// The newest that match. A farm whose pages do not go on is not asked for ever.
Result<Found> search(client::Client& client, const Options& options) {
  std::vector<std::string> words;
  for (const std::string& word : options.words) words.push_back(lower(word));
  Found found;
  std::string before = options.before;
  for (int pages = 0; pages < kMaxPages; ++pages) {
    const int limit = words.empty() ? options.limit : kPage;
    KILN_ASSIGN(const auto page, client.artifacts(limit, before));
    for (const v1::Artifact& artifact : page) {
      if (!matches(artifact, words)) continue;
      if (found.artifacts.size() == static_cast<std::size_t>(options.limit)) return found;
      found.artifacts.push_back(artifact);
    }
    if (words.empty() || page.size() < static_cast<std::size_t>(limit) || page.back().digest() == before)
      return found;
    before = page.back().digest();
  }
  found.everything = false;
  return found;
}

Json artifactJson(const v1::Artifact& artifact) {
  return {{"artifact", artifact.digest()},
          {"models", std::vector<std::string>(artifact.models().begin(), artifact.models().end())},
          {"target", artifact.target()},
          {"toolchain", artifact.toolchain_label()},
          {"builders", std::vector<std::string>(artifact.builders().begin(), artifact.builders().end())},
          {"jobs", std::vector<std::string>(artifact.jobs().begin(), artifact.jobs().end())},
          {"published", timeText(artifact.published())}};
}

Status run(const Context& context, const Options& options) {
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const Found found, search(*client, options));
  if (!found.everything)
    note("the newest " + std::to_string(kPage * kMaxPages) +
         " artifacts were searched; --before DIGEST goes on behind one of them");
  if (context.json) {
    Json list = Json::array();
    for (const auto& artifact : found.artifacts) list.push_back(artifactJson(artifact));
    printJson({{"artifacts", std::move(list)}});
    return {};
  }
  std::vector<std::vector<std::string>> rows{
      {"ARTIFACT", "MODEL", "TARGET", "TOOLCHAIN", "BUILDERS", "PUBLISHED"}};
  for (const auto& artifact : found.artifacts)
    rows.push_back({shortDigest(artifact.digest()), fmt::format("{}", fmt::join(artifact.models(), ", ")),
                    artifact.target(), artifact.toolchain_label(),
                    fmt::format("{}", fmt::join(artifact.builders(), ", ")), timeText(artifact.published())});
  printTable(rows);
  return {};
}

}  // namespace

void addArtifacts(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(
      app, context, "artifacts",
      "List artifacts, newest first, as the farm's index has them; what they are worth "
      "kiln verify says",
      "kiln artifacts digits cpu:x86-64-v3", [&context, options] { return run(context, *options); });
  command.add_option(
      "WORD", options->words,
      "Only those with each of these words in model, digest, target, toolchain, builders or first 16 jobs");
  command.add_option("--limit", options->limit, "How many, 1 to 1000")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--before", options->before, "Continue behind this artifact, sha256:<hex>");
  addFarmOptions(command, context, kRidesOut);
}

}  // namespace kiln::cli

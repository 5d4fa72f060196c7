#include "api/cli/recall_draft.h"

#include <algorithm>
#include <sstream>

#include "api/cli/print.h"
#include "manifest/json/reader.h"
#include "signing/keys/files.h"

namespace kiln::cli {
namespace {

using signing::Recall;
using signing::RecallKind;

constexpr std::size_t kMaxListBytes = 8u << 20;

struct Named {
  RecallKind kind;
  const std::string& what;
};

// What the command line recalls: exactly one thing; none for --refresh.
Result<std::optional<Named>> named(const RecallOptions& options) {
  const bool url = !options.source.empty() && !options.source.starts_with("sha256:");
  const Named all[] = {{RecallKind::kArtifact, options.artifact},
                       {RecallKind::kToolchain, options.toolchain},
                       {RecallKind::kComponent, options.component},
                       {url ? RecallKind::kSourceUrl : RecallKind::kSource, options.source},
                       {RecallKind::kRecord, options.record},
                       {RecallKind::kWorker, options.worker},
                       {RecallKind::kOperator, options.operatorName},
                       {RecallKind::kKey, options.key},
                       {RecallKind::kDevice, options.device},
                       {RecallKind::kLift, options.lift}};
  std::optional<Named> found;
  int count = 0;
  for (const Named& one : all) {
    if (one.what.empty()) continue;
    found.emplace(one);
    ++count;
  }
  if (options.refresh ? count > 0 : count != 1)
    return fail(
        Code::kInvalidArgument,
        "name one thing to recall: --artifact, --toolchain, --component, --source, --record, --worker, "
        "--operator, --key, --device, --lift; or --refresh alone");
  return found;
}

Status addDigest(const std::string& text, std::vector<Digest>& out) {
  auto digest = text.starts_with("sha256:") ? Digest::parse(text, 0) : fail(Code::kInvalidArgument, "");
  if (!digest)
    return fail(Code::kInvalidArgument,
                "\"" + printable(text) + "\" is no digest; give sha256:<64 lowercase hex>");
  out.push_back(*digest);
  return {};
}

// A digest, or a file of them.
Status addListed(const std::string& text, std::vector<Digest>& out) {
  if (text.starts_with("sha256:")) return addDigest(text, out);
  KILN_ASSIGN(const std::string file, signing::readTextFile(text, kMaxListBytes));
  std::istringstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    if (auto added = addDigest(line, out); !added) return fail(added.error().in(text));
  }
  return {};
}

Result<Recall::LogRange> readRange(const std::string& text) {
  const auto last = text.rfind(':'),
             first = last == text.npos || last == 0 ? text.npos : text.rfind(':', last - 1);
  const auto wrong = fail(Code::kInvalidArgument,
                          "--log-range is ORIGIN:FROM:TO, entries FROM (inclusive) to TO; "
                          "without TO it has no end");
  if (first == text.npos || first == 0) return wrong;
  const auto from = parseDecimal(text.substr(first + 1, last - first - 1));
  const auto to = last + 1 == text.size() ? Result<std::uint64_t>(signing::kRecallWithoutEnd)
                                          : parseDecimal(text.substr(last + 1));
  if (!from || !to) return wrong;
  return Recall::LogRange{text.substr(0, first), *from, *to};
}

}  // namespace

Result<std::optional<Recall>> draftRecall(const RecallOptions& options, TimePoint now) {
  KILN_ASSIGN(const auto what, named(options));
  if (!what) return std::optional<Recall>();
  Recall recall;
  recall.kind = what->kind;
  recall.what = what->what;
  recall.reason = options.reason;
  recall.issuedOn = now;
  if (!options.since.empty()) {
    KILN_ASSIGN(recall.since, parseRfc3339(options.since));
  }
  if (!options.until.empty()) {
    KILN_ASSIGN(recall.until, parseRfc3339(options.until));
  }
  for (const std::string& text : options.listed) KILN_TRY(addListed(text, recall.listed));
  if (what->kind == RecallKind::kArtifact) KILN_TRY(addDigest(what->what, recall.listed));
  std::ranges::sort(recall.listed);
  const auto repeated = std::ranges::unique(recall.listed);
  recall.listed.erase(repeated.begin(), repeated.end());
  for (const std::string& text : options.logs) {
    KILN_ASSIGN(Recall::LogRange range, readRange(text));
    recall.logs.push_back(std::move(range));
  }
  recall.whole =
      !options.listedOnly && what->kind != RecallKind::kArtifact && what->kind != RecallKind::kLift;
  return std::optional(std::move(recall));
}

}  // namespace kiln::cli

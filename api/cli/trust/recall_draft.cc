#include "api/cli/trust/recall_draft.h"

#include <algorithm>
#include <sstream>

#include "api/cli/base/print.h"
#include "api/cli/base/source_name.h"
#include "manifest/base/printable.h"
#include "manifest/base/short_digest.h"
#include "manifest/base/utf8.h"
#include "manifest/json/reader.h"
#include "signing/keys/files.h"
#include "storage/index/mention/mention.h"

namespace kiln::cli {
namespace {

using signing::Recall;
using signing::RecallKind;

constexpr std::size_t kMaxListBytes = 8u << 20;

struct Named {
  RecallKind kind;
  const char* option;
  const std::string& what;
};

// What the command line recalls: exactly one thing; none for --refresh.
Result<std::optional<Named>> named(const RecallOptions& options) {
  const Named all[] = {{RecallKind::kArtifact, "--artifact", options.artifact},
                       {RecallKind::kToolchain, "--toolchain", options.toolchain},
                       {RecallKind::kComponent, "--component", options.component},
                       {RecallKind::kSource, "--source", options.source},
                       {RecallKind::kRecord, "--record", options.record},
                       {RecallKind::kWorker, "--worker", options.worker},
                       {RecallKind::kOperator, "--operator", options.operatorName},
                       {RecallKind::kKey, "--key", options.key},
                       {RecallKind::kDevice, "--device", options.device},
                       {RecallKind::kLift, "--lift", options.lift}};
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

tl::unexpected<Error> wrong(const std::string& option, const std::string& why) {
  return fail(Code::kInvalidArgument, option + ": " + why);
}

Status checkDigest(const Named& named) {
  if (shortDigestRange(named.what)) return {};
  if (named.what.starts_with("sha256:") && Digest::parse(named.what, 0)) return {};
  return wrong(named.option,
               inQuotes(named.what) +
                   " is no digest; give sha256:<64 lowercase hex>, or the first 12 of them or more");
}

// As verifiers compare it: bytes by their digest, a repository by its URL with "git+".
Status readSource(const Named& named, Recall& recall) {
  KILN_ASSIGN(recall.what, sourceName(named.what));
  if (recall.what.starts_with("sha256:")) return checkDigest({recall.kind, named.option, recall.what});
  if (recall.what.find("://") == std::string::npos)
    return wrong(named.option, "a commit is recalled with its repository: git+URL@COMMIT#PATH");
  recall.kind = RecallKind::kSourceUrl;
  if (!recall.what.starts_with("git+")) recall.what.insert(0, "git+");
  return {};
}

// As bundles name keys: base64 of the hash.
Status readKey(const Named& named, Recall& recall) {
  const auto value = index::keyValue(named.what);
  if (!value) return wrong(named.option, value.error().message);
  recall.what = toBase64(value->hash);
  return {};
}

Status readWhat(const Named& named, Recall& recall) {
  constexpr std::size_t kMaxName = 2048;
  recall.kind = named.kind;
  recall.what = named.what;
  if (named.what.size() > kMaxName) return wrong(named.option, "has more than 2048 bytes");
  if (!isUtf8(named.what)) return wrong(named.option, "is not UTF-8");
  switch (named.kind) {
    case RecallKind::kSource:
      return readSource(named, recall);
    case RecallKind::kKey:
      return readKey(named, recall);
    case RecallKind::kArtifact:
    case RecallKind::kRecord:
    case RecallKind::kLift:
      return checkDigest(named);
    default:
      return {};
  }
}

Status addDigest(const std::string& text, std::vector<Digest>& out) {
  auto digest = text.starts_with("sha256:") ? Digest::parse(text, 0) : fail(Code::kInvalidArgument, "");
  if (!digest) return wrong("--listed", inQuotes(text) + " is no digest; give sha256:<64 lowercase hex>");
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
  if (*to <= *from) return fail(Code::kInvalidArgument, "--log-range: TO must be after FROM");
  return Recall::LogRange{text.substr(0, first), *from, *to};
}

Status readReason(const std::string& reason, Recall& recall) {
  if (reason.empty()) return fail(Code::kInvalidArgument, "--reason is missing: say why, for people");
  if (reason.size() > signing::kMaxRecallReason)
    return wrong("--reason", "has more than " + std::to_string(signing::kMaxRecallReason) + " bytes");
  if (!isUtf8(reason)) return wrong("--reason", "is not UTF-8");
  recall.reason = reason;
  return {};
}

Status readTime(const std::string& text, const char* option, std::optional<TimePoint>& out) {
  if (text.empty()) return {};
  const auto time = parseRfc3339(text);
  if (!time) return wrong(option, "must be a time such as 2026-11-20T05:23:32Z");
  out = *time;
  return {};
}

Status readWindow(const RecallOptions& options, Recall& recall) {
  const bool given = !options.since.empty() || !options.until.empty() || !options.logs.empty();
  if (given && (isContentRecall(recall.kind) || recall.kind == RecallKind::kLift))
    return fail(
        Code::kInvalidArgument,
        "--since, --until and --log-range are for evidence: --worker, --operator, --key, --device, or "
        "--source with a URL");
  KILN_TRY(readTime(options.since, "--since", recall.since));
  KILN_TRY(readTime(options.until, "--until", recall.until));
  if (recall.since && recall.until && *recall.until <= *recall.since)
    return wrong("--until", "must be after --since");
  for (const std::string& text : options.logs) {
    KILN_ASSIGN(Recall::LogRange range, readRange(text));
    recall.logs.push_back(std::move(range));
  }
  return {};
}

Status readListed(const RecallOptions& options, Recall& recall) {
  if (recall.kind == RecallKind::kLift && (!options.listed.empty() || options.listedOnly))
    return fail(Code::kInvalidArgument, "--lift takes one recall back as a whole; leave out --listed");
  for (const std::string& text : options.listed) KILN_TRY(addListed(text, recall.listed));
  std::ranges::sort(recall.listed);
  const auto repeated = std::ranges::unique(recall.listed);
  recall.listed.erase(repeated.begin(), repeated.end());
  if (recall.listed.size() > signing::kMaxRecallListed)
    return wrong("--listed", "holds more than " + std::to_string(signing::kMaxRecallListed) + " digests");
  return {};
}

}  // namespace

Result<std::optional<Recall>> draftRecall(const RecallOptions& options, TimePoint now) {
  KILN_ASSIGN(const auto what, named(options));
  if (!what) return std::optional<Recall>();
  Recall recall;
  KILN_TRY(readWhat(*what, recall));
  KILN_TRY(readReason(options.reason, recall));
  recall.issuedOn = now;
  KILN_TRY(readWindow(options, recall));
  KILN_TRY(readListed(options, recall));
  recall.whole =
      !options.listedOnly && recall.kind != RecallKind::kArtifact && recall.kind != RecallKind::kLift;
  return std::optional(std::move(recall));
}

}  // namespace kiln::cli

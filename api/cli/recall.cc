#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "api/cli/commands.h"
#include "api/cli/duration_option.h"
#include "api/cli/print.h"
#include "signing/keys/files.h"
#include "signing/recall/recalls.h"
#include "signing/token/key_location.h"
#include "signing/trust/trust_store.h"

namespace kiln::cli {
namespace {

using signing::Recall;
using signing::RecallKind;
using signing::Recalls;

struct Options {
  std::string artifact, toolchain, component, source, record, worker, operatorName, key, device, lift;
  std::string reason, since, until, recalls, out, cosign, expires = "7d", checkpoint;
  std::vector<std::string> listed, signWith;
  bool listedOnly = false, refresh = false, publish = false;
};

struct Named {
  RecallKind kind;
  const std::string& what;
};

// What the command line recalls: exactly one thing; none for --refresh.
Result<std::optional<Named>> named(const Options& options) {
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

Result<Recall> recallOf(const Named& what, const Options& options) {
  Recall recall;
  recall.kind = what.kind;
  recall.what = what.what;
  recall.reason = options.reason;
  recall.issuedOn = SystemClock().now();
  if (!options.since.empty()) {
    KILN_ASSIGN(recall.since, parseRfc3339(options.since));
  }
  if (!options.until.empty()) {
    KILN_ASSIGN(recall.until, parseRfc3339(options.until));
  }
  std::vector<std::string> listed = options.listed;
  if (what.kind == RecallKind::kArtifact) listed.push_back(what.what);
  for (const std::string& text : listed) {
    auto digest = text.starts_with("sha256:") ? Digest::parse(text, 0) : fail(Code::kInvalidArgument, "");
    if (!digest)
      return fail(Code::kInvalidArgument,
                  "\"" + printable(text) + "\" is no digest; give sha256:<64 lowercase hex>");
    recall.listed.push_back(*digest);
  }
  std::ranges::sort(recall.listed);
  const auto repeated = std::ranges::unique(recall.listed);
  recall.listed.erase(repeated.begin(), repeated.end());
  recall.whole = !options.listedOnly && what.kind != RecallKind::kArtifact && what.kind != RecallKind::kLift;
  KILN_TRY(Recall::fromJson(recall.toJson()));
  return recall;
}

Result<std::vector<signing::PrivateKey>> loadKeys(const Options& options) {
  std::vector<signing::PrivateKey> keys;
  for (const std::string& path : options.signWith) {
    KILN_ASSIGN(signing::PrivateKey key, signing::loadKey(path));
    keys.push_back(std::move(key));
  }
  return keys;
}

// Writes the new version where it belongs, or a draft where signatures are missing; tells the farm.
Status place(const Context& context, const Options& options, const signing::TrustRoot& root,
             const std::string& text) {
  const auto whole = Recalls::parse(text, root);
  if (whole && options.publish) {
    KILN_ASSIGN(const auto client, context.connect());
    KILN_TRY(client->publishRecalls(text));
  }
  const std::string& target = options.out.empty() ? options.recalls : options.out;
  const std::string path = whole ? target : target + ".draft";
  KILN_TRY(signing::replaceFile(path, text));
  if (context.json) {
    Json json{{"recalls", path}, {"complete", whole.has_value()}};
    if (whole) json["version"] = whole->version;
    if (!whole) json["why"] = whole.error().message;
    printJson(json);
    return {};
  }
  if (whole)
    note(fmt::format("version {} holds {} entries{}", whole->version, whole->entries.size(),
                     options.publish ? "; it is in force on the farm" : ""));
  else
    note(whole.error().message + "; another holder goes on with kiln recall --cosign " + path);
  printLine(path);
  return {};
}

// What is to be followed: of the file and, with --publish, of the farm the newer one.
Result<std::optional<Recalls>> current(const Context& context, const Options& options,
                                       const signing::TrustRoot& root) {
  std::vector<std::string> texts;
  std::error_code error;
  if (std::filesystem::exists(options.recalls, error)) {
    KILN_ASSIGN(std::string text, signing::readTextFile(options.recalls, signing::kMaxRecallsBytes));
    texts.push_back(std::move(text));
  }
  if (options.publish) {
    KILN_ASSIGN(const auto client, context.connect());
    KILN_ASSIGN(std::string text, client->recalls());
    if (!text.empty()) texts.push_back(std::move(text));
  }
  std::optional<Recalls> newest;
  for (const std::string& text : texts) {
    KILN_ASSIGN(Recalls read, Recalls::parse(text, root));
    if (newest && !read.extends(*newest) && !newest->extends(read))
      return fail(Code::kDataLoss, options.recalls + ": holds other recalls than the farm");
    if (!newest || read.version > newest->version) newest = std::move(read);
  }
  return newest;
}

Status run(const Context& context, const Options& options) {
  if (context.trustRoot.empty())
    return fail(Code::kInvalidArgument,
                "no trust root is named; give --trust-root FILE or set KILN_TRUST_ROOT");
  KILN_ASSIGN(const auto store, signing::TrustStore::open(context.trustRoot));
  KILN_ASSIGN(const std::vector<signing::PrivateKey> keys, loadKeys(options));
  if (!options.cosign.empty()) {
    KILN_ASSIGN(const std::string draft, signing::readTextFile(options.cosign, signing::kMaxRecallsBytes));
    KILN_ASSIGN(const std::string text, Recalls::cosign(draft, keys));
    return place(context, options, store.root(), text);
  }
  KILN_ASSIGN(const auto what, named(options));
  std::optional<Recall> recall;
  if (what) {
    KILN_ASSIGN(recall, recallOf(*what, options));
  }
  KILN_ASSIGN(const std::optional<Recalls> before, current(context, options, store.root()));
  std::string checkpoint;
  if (!options.checkpoint.empty()) {
    KILN_ASSIGN(checkpoint, signing::readTextFile(options.checkpoint, 64 << 10));
  }
  KILN_ASSIGN(const std::chrono::seconds lasts, parseDuration(options.expires));
  const TimePoint now = SystemClock().now();
  KILN_ASSIGN(const std::string text,
              Recalls::issue(before ? &*before : nullptr, recall, keys, now, now + lasts, checkpoint));
  return place(context, options, store.root(), text);
}

}  // namespace

void addRecall(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(app, context, "recall",
                             "Recall content, or evidence of a time, in recalls.json; or take a recall back",
                             "kiln recall --worker w3 --since 2026-11-01T00:00:00Z --reason \"disk faults\" "
                             "--recalls recalls.json --sign-with recall-1.key --sign-with recall-2.key",
                             [&context, options] { return run(context, *options); });
  const auto add = [&](const char* name, std::string& to, const char* what) {
    command.add_option(name, to, what);
  };
  add("--artifact", options->artifact, "sha256:<hex>: these bytes");
  add("--toolchain", options->toolchain, "sha256:<hex> of a tree, and what it made");
  add("--component", options->component, "sha256:<hex> of a part of toolchains; --listed names these");
  add("--source", options->source, "sha256:<hex> of an input, or git+URL: what was fetched from there");
  add("--record", options->record, "sha256:<hex> of a tuning record");
  add("--worker", options->worker, "What this worker vouched for");
  add("--operator", options->operatorName, "What this operator's workers vouched for");
  add("--key", options->key, "What this key signed, by its id");
  add("--device", options->device, "What was checked on this device, by its name");
  add("--lift", options->lift, "sha256:<hex>: the payload of the recall that was wrong");
  add("--reason", options->reason, "Why, for people");
  add("--since", options->since, "Evidence only: from when, 2026-11-20T05:23:32Z");
  add("--until", options->until, "Evidence only: until when");
  command.add_option("--listed", options->listed,
                     "What it was found to touch: artifacts and what derives, or payloads of statements");
  command.add_flag("--listed-only", options->listedOnly,
                   "Reach no further than --listed: within the root's scope one key is enough");
  command.add_flag("--refresh", options->refresh, "Recall nothing; be news again");
  add("--expires", options->expires, "How long this version is news (default 7d)");
  add("--checkpoint", options->checkpoint, "File with the log's checkpoint that was looked at");
  command.add_option("--recalls", options->recalls, "recalls.json; made if it is not there")->required();
  command.add_flag("--publish", options->publish, "Put the new version in force on the farm, too");
  add("--out", options->out, "Where the new version goes (default: recalls.json itself)");
  add("--cosign", options->cosign, "Sign a draft that lacks signatures, instead");
  addFarmOptions(command, context);
  command.add_option("--sign-with", options->signWith, "A private recall key; may be repeated")->required();
  command.add_option("--trust-root", context.trustRoot,
                     "root.json that names the recall keys (default: $KILN_TRUST_ROOT)");
}

}  // namespace kiln::cli

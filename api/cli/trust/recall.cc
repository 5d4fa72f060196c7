#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "api/cli/base/artifact_option.h"
#include "api/cli/base/duration_option.h"
#include "api/cli/base/file_lock.h"
#include "api/cli/base/print.h"
#include "api/cli/trust/commands.h"
#include "api/cli/trust/recall_draft.h"
#include "api/cli/trust/recall_resolve.h"
#include "api/client/shell_word.h"
#include "manifest/base/counted.h"
#include "manifest/base/durable_file.h"
#include "manifest/base/printable.h"
#include "signing/keys/files.h"
#include "signing/recall/recalls.h"
#include "signing/token/key_location.h"
#include "signing/trust/root_logs.h"
#include "signing/trust/trust_store.h"

namespace kiln::cli {
namespace {

using signing::LogProofs;
using signing::Recall;
using signing::Recalls;

constexpr std::size_t kMaxCheckpoint = 64 << 10;

struct Options : RecallOptions {
  std::string recalls;  // where recalls.json is
  std::string out, cosign, expires = "7d", checkpoint;
  std::vector<std::string> signWith;
  bool publish = true, dryRun = false, unmatched = false;
};

// The command that goes on with a signed file, for whoever has this environment and one more key or a farm.
std::string goOn(const Context& context, const Options& options, const std::string& file) {
  std::string out = "go on with kiln recall " + client::shellOption("--cosign", file) +
                    context.carried({"--endpoint", "--instance", "--tls-ca", "--tls-cert", "--tls-key",
                                     "--token-file", "--trust-root", "--recalls"});
  if (!options.out.empty()) out += " " + client::shellOption("--out", options.out);
  return out;
}

// What was overtaken can be signed by nobody any more: it does not hold the recalls that are in force.
Status checkNext(const Recalls& news, const std::optional<Recalls>& before) {
  if (!before || before->version < news.version) return {};
  if (before->version == news.version && before->extends(news)) return {};  // said again, signed anew
  return fail(Code::kAlreadyExists,
              fmt::format("version {} is in force; this is version {}; draft it again on top of version {}",
                          before->version, news.version, before->version));
}

// A key that the root lets nobody recall with would leave a draft that is never complete.
Result<std::vector<signing::PrivateKey>> loadKeys(const Options& options, const signing::TrustRoot& root) {
  std::vector<signing::PrivateKey> keys;
  for (const std::string& path : options.signWith) {
    KILN_ASSIGN(signing::PrivateKey key, signing::loadKey(path));
    const std::string id = key.publicKey().id();
    const bool listed = root.recallKeys && std::ranges::any_of(root.recallKeys->issuers.keys,
                                                               [&](auto& one) { return one.id() == id; });
    if (!listed)
      return fail(Code::kPermissionDenied,
                  "--sign-with " + path + ": key " + id +
                      " is no recall key of the trust root; kiln trust show lists what the root has, and "
                      "kiln trust add-key --role recall adds one");
    keys.push_back(std::move(key));
  }
  return keys;
}

// What is to be followed: of the file and, with --publish, of the farm the newer one.
Result<std::optional<Recalls>> current(const Context& context, const Options& options,
                                       const signing::TrustRoot& root) {
  std::optional<Recalls> newest;
  auto text = signing::readTextFile(options.recalls, signing::kMaxRecallsBytes);
  if (!text && text.error().code != Code::kNotFound) return fail(text.error());
  if (text) {
    auto read = Recalls::parse(*text, root, LogProofs::kIfAny);
    if (!read) return fail(read.error().in(options.recalls));
    newest = std::move(*read);
  }
  if (!options.publish) return newest;
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const std::string told, client->recalls());
  if (told.empty()) return newest;
  auto read = Recalls::parse(told, root, LogProofs::kIfAny);
  if (!read) return fail(client->unreadable(read.error()));
  if (newest && !read->extends(*newest) && !newest->extends(*read))
    return fail(Code::kDataLoss, options.recalls +
                                     ": holds other recalls than the farm; --recalls names "
                                     "another file, and one that is not there gets the farm's");
  if (!newest || read->version > newest->version) newest = std::move(*read);
  return newest;
}

// What the farm made of it: the same, with the proof that its log holds it, which continues what was known
// before.
Result<Recalls> published(const Context& context, const signing::TrustRoot& root, const Recalls& sent,
                          const std::optional<Recalls>& before) {
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const std::string text, client->publishRecalls(sent.text));
  auto done = Recalls::parse(text, root);
  if (!done) return fail(client->unreadable(done.error()));
  if (done->payload != sent.payload) return fail(Code::kDataLoss, "the farm answered with other recalls");
  if (before) KILN_TRY(done->continuesLogs(*before));
  return done;
}

// The same with what was signed kept beside `target` until the farm has it.
Result<Recalls> publishedSafely(const Context& context, const Options& options,
                                const signing::TrustRoot& root, const Recalls& sent,
                                const std::optional<Recalls>& before, const std::string& target) {
  const std::string kept = target + ".unpublished";
  KILN_TRY(replaceFile(kept, sent.text));
  auto done = published(context, root, sent, before);
  std::error_code ignored;
  if (!done) {
    Error error = done.error();
    const bool overtaken = error.code == Code::kAlreadyExists;
    if (!overtaken)
      error.message += "; what was signed is in " + kept + ": " + goOn(context, options, kept) + " --publish";
    if (overtaken) std::filesystem::remove(kept, ignored);
    return fail(std::move(error));
  }
  std::filesystem::remove(kept, ignored);
  return done;
}

// The entry that says the same already: that lifts what is lifted, or that is in force with the same reach
// and reason.
const signing::RecallEntry* alreadyIn(const Recalls& recalls, Recall recall) {
  const auto says = [&](const signing::RecallEntry& entry) {
    recall.issuedOn = entry.recall.issuedOn;
    if (recall.kind == signing::RecallKind::kLift)
      return entry.recall.kind == recall.kind && entry.recall.what == recall.what;
    return !entry.lifted && entry.recall.toJson() == recall.toJson();
  };
  const auto at = std::ranges::find_if(recalls.entries, says);
  return at == recalls.entries.end() ? nullptr : &*at;
}

// Writes the new version where it belongs, or a draft where signatures or the log's proofs are missing; tells
// the farm. A version that is in force is from now on known to whoever verifies under this root here.
Status place(const Context& context, const Options& options, signing::TrustStore& store,
             const std::string& text, const std::optional<Recalls>& before) {
  const signing::TrustRoot& root = store.root();
  const std::string& target = options.out.empty() ? options.recalls : options.out;
  auto whole = Recalls::parse(text, root, LogProofs::kIfAny);
  const bool isSigned = whole.has_value(), withheld = !options.publish && !context.endpoint.empty();
  if (whole) KILN_TRY(checkNext(*whole, before));
  if (whole && options.publish) {
    whole = publishedSafely(context, options, root, *whole, before, target);
    if (!whole) return fail(whole.error());
  } else if (whole) {
    whole = Recalls::parse(text, root);
  }
  // Nothing else is missing where a key has signed: who came without one came to publish.
  if (!whole && (whole.error().code != Code::kDataLoss || options.signWith.empty()))
    return fail(whole.error());
  const std::string path = whole ? target : target + ".draft";
  KILN_TRY(replaceFile(path, whole ? whole->text : text));
  if (whole && options.publish) {
    KILN_TRY(store.rememberTime(whole->cosigned));
    KILN_TRY(store.rememberRecalls(whole->text, whole->version));
  }
  const bool isNew = whole && whole->entries.size() > (before ? before->entries.size() : 0);
  const std::string entry = isNew ? whole->entries.back().id().text() : "";
  if (context.json) {
    Json json{{"recalls", path}, {"complete", whole.has_value()}};
    if (whole) json["version"] = whole->version;
    if (whole) json["logged"] = whole->logged;
    if (isNew) json["entry"] = entry;
    if (!whole) json["why"] = whole.error().message;
    printJson(json);
    return {};
  }
  if (whole)
    note(fmt::format("version {} holds {}{}{}", whole->version, counted(whole->entries.size(), "entry"),
                     whole->logged ? ", all in the log" : "",
                     options.publish ? "; it is in force on the farm" : ""));
  if (isNew) note("the new entry is " + entry + "; --lift with that digest takes it back");
  if (!whole)
    note(whole.error().message + "; " + goOn(context, options, path) +
         (isSigned ? context.endpoint.empty() ? " --publish --endpoint HOST:PORT" : " --publish"
                   : std::string(withheld ? " --no-publish" : "") + " --sign-with KEY"));
  printLine(path);
  return {};
}

// The checkpoint that the new version names: --checkpoint, else with --publish the farm's newest, if a log of
// the root signed it.
Result<std::string> checkpointOf(const Context& context, const Options& options,
                                 const signing::TrustRoot& root, TimePoint now) {
  const signing::RootLogs logs(root);
  const auto checked = [&](const std::string& text) {
    return logs.empty() ? Status() : logs.open(text, now).map([](const auto&) {});
  };
  if (!options.checkpoint.empty()) {
    KILN_ASSIGN(std::string text, signing::readTrustFile(options.checkpoint, kMaxCheckpoint));
    if (Status holds = checked(text); !holds) return fail(holds.error().in(options.checkpoint));
    return text;
  }
  if (!options.publish || logs.empty()) return std::string();
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(std::string text, client->logCheckpoint());
  if (text.empty()) return text;
  if (Status holds = checked(text); !holds) return fail(client->unreadable(holds.error()));
  return text;
}

// What nobody could complete must be written in full.
Status checkWhole(const Recall& recall) {
  if (!signing::isContentRecall(recall.kind)) return {};
  if (recall.what.starts_with("sha256:") && Digest::parse(recall.what, 0)) return {};
  return fail(Code::kInvalidArgument,
              "without a farm that knows it, what is recalled is named in full: sha256:<64 lowercase hex>");
}

Status listItself(Recall& recall) {
  KILN_ASSIGN(const Digest digest, Digest::parse(recall.what, 0));
  if (std::ranges::find(recall.listed, digest) == recall.listed.end()) recall.listed.push_back(digest);
  std::ranges::sort(recall.listed);
  return {};
}

tl::unexpected<Error> matchesNothing(const std::string& why) {
  return fail(Code::kNotFound, why + "; --unmatched recalls it ahead of time");
}

// What it touches, by the farm's index.
Status match(client::Client& client, const Options& options, Recall& recall) {
  KILN_TRY(nameDigest(client, recall));
  if (recall.kind == signing::RecallKind::kArtifact) return {};
  KILN_ASSIGN(auto found, resolveRecall(client, recall));
  if (found.unread > 0)
    note(fmt::format("{}{} not read into the index yet and may be missing in the list",
                     found.unread >= 1000 ? "at least " : "",
                     counted(found.unread, "statement") + (found.unread == 1 ? " is" : " are")));
  // A toolchain that the farm has is there to be recalled before it has made anything.
  if (found.listed.empty() && options.listed.empty() && recall.kind != signing::RecallKind::kToolchain)
    return fail(Code::kNotFound, "nothing on this farm is touched by it");
  if (options.listed.empty()) recall.listed = std::move(found.listed);
  if (recall.whole && recall.logs.empty()) recall.logs = std::move(found.logs);
  return {};
}

// Nothing is signed before somebody knows what it touches: the farm, the caller who lists it, or a caller who
// says that it is meant ahead of time.
Status resolve(const Context& context, const Options& options, Recall& recall) {
  if (recall.kind == signing::RecallKind::kLift) return {};
  const bool itself = recall.kind == signing::RecallKind::kArtifact;
  if (!context.endpoint.empty()) {
    KILN_ASSIGN(const auto client, context.connect());
    Status matched = match(*client, options, recall);
    if (!matched && matched.error().code == Code::kNotFound && !options.unmatched)
      return matchesNothing(matched.error().message);
    if (!matched && matched.error().code != Code::kNotFound) return matched;
  } else if (options.listed.empty() && !options.unmatched) {
    return fail(Code::kInvalidArgument,
                "no farm is named, so nobody says " +
                    std::string(itself ? "that there is such an artifact" : "what this recall touches") +
                    "; name one with --endpoint, list it with --listed, or add --unmatched");
  }
  KILN_TRY(checkWhole(recall));
  if (itself) KILN_TRY(listItself(recall));
  if (!recall.whole && recall.listed.empty())
    return fail(Code::kNotFound, "it lists nothing and reaches no further: there is nothing to recall");
  if (!context.json)
    note(fmt::format("it touches {}{}",
                     signing::isContentRecall(recall.kind) ? counted(recall.listed.size(), "artifact")
                                                           : counted(recall.listed.size(), "statement"),
                     recall.whole ? ", and what is of it later" : ""));
  return {};
}

// The recall that a digest names, or the first digits of one: of those that are followed.
Status resolveLift(const Options& options, const std::optional<Recalls>& before, Recall& recall) {
  std::vector<std::string> found;
  if (before)
    for (const signing::RecallEntry& entry : before->entries)
      if (const std::string id = entry.id().text();
          entry.recall.kind != signing::RecallKind::kLift && id.starts_with(recall.what))
        found.push_back(id);
  if (found.empty())
    return fail(Code::kNotFound, "--lift: " + options.recalls + " holds no recall " + inQuotes(recall.what) +
                                     "; kiln recall prints the digest of each new entry");
  if (found.size() > 1)
    return fail(Code::kInvalidArgument,
                "--lift: " + inQuotes(recall.what) + " is the beginning of several; give more digits");
  recall.what = found.front();
  return {};
}

Status show(const Context& context, const signing::TrustRoot& root, const Recall& recall) {
  if (!root.recallKeys) return fail(Code::kPermissionDenied, "the trust root lets nobody recall");
  const auto& keys = *root.recallKeys;
  const int wanted = isWideRecall(recall, keys) ? keys.wideThreshold : keys.issuers.threshold;
  if (context.json) {
    printJson({{"recall", recall.toJson()}, {"signaturesNeeded", wanted}});
    return {};
  }
  printJson(recall.toJson());
  note(fmt::format("lists {}{}; {} must sign it", recall.listed.size(),
                   recall.whole ? " and reaches beyond the list" : "",
                   counted(static_cast<std::size_t>(wanted), "recall key")));
  return {};
}

// With what the command line left out: a farm that is named is told; recalls.json lies beside the root; the
// key is the one that a development farm's kiln.env names.
Options completed(const Context& context, Options options) {
  options.publish = options.publish && !context.endpoint.empty();
  options.recalls = context.recalls;
  if (options.recalls.empty())
    options.recalls = (std::filesystem::path(context.trustRoot).parent_path() / "recalls.json").string();
  if (options.signWith.empty() && !context.recallKey.empty()) options.signWith = {context.recallKey};
  return options;
}

Status run(const Context& context, const Options& given) {
  if (context.trustRoot.empty())
    return fail(Code::kInvalidArgument,
                "no trust root is named; give --trust-root FILE or set KILN_TRUST_ROOT");
  const Options options = completed(context, given);
  const bool publishesDraft = !options.cosign.empty() && options.publish;
  if (options.signWith.empty() && !options.dryRun && !publishesDraft)
    return fail(Code::kInvalidArgument, "--sign-with is missing: name a recall key, or set KILN_RECALL_KEY");
  KILN_ASSIGN(auto store, signing::TrustStore::open(context.trustRoot));
  KILN_ASSIGN(const std::vector<signing::PrivateKey> keys, loadKeys(options, store.root()));
  UniqueFd fileLock;
  if (!options.dryRun) {
    KILN_ASSIGN(fileLock, lockForUpdate(options.recalls));
  }
  if (!options.cosign.empty()) {
    KILN_ASSIGN(std::string draft, signing::readTextFile(options.cosign, signing::kMaxRecallsBytes));
    const auto named = [&](const Error& error) { return error.in(options.cosign); };
    if (keys.empty()) {
      KILN_TRY(Recalls::parse(draft, store.root(), LogProofs::kIfAny).map_error(named));
    } else {
      KILN_ASSIGN(draft, Recalls::cosign(draft, keys).map_error(named));
    }
    KILN_ASSIGN(const std::optional<Recalls> before, current(context, options, store.root()));
    return place(context, options, store, draft, before);
  }
  const TimePoint now = SystemClock().now();
  KILN_ASSIGN(
      const std::chrono::seconds lasts,
      parseDuration(options.expires).map_error([](const Error& error) { return error.in("--expires"); }));
  KILN_ASSIGN(std::optional<Recall> recall, draftRecall(options, now));
  if (recall) KILN_TRY(resolve(context, options, *recall));
  const bool lifts = recall && recall->kind == signing::RecallKind::kLift;
  if (options.dryRun && recall && !lifts) return show(context, store.root(), *recall);
  KILN_ASSIGN(const std::optional<Recalls> before, current(context, options, store.root()));
  if (lifts) KILN_TRY(resolveLift(options, before, *recall));
  if (options.dryRun) return show(context, store.root(), *recall);
  if (const auto* same = recall && before ? alreadyIn(*before, *recall) : nullptr) {
    note(fmt::format("already {} by {}; nothing is added", lifts ? "lifted" : "recalled", same->id().text()));
    return place(context, options, store, before->text, before);
  }
  KILN_ASSIGN(const std::string checkpoint, checkpointOf(context, options, store.root(), now));
  KILN_ASSIGN(const std::string text,
              Recalls::issue(before ? &*before : nullptr, recall, keys, now, now + lasts, checkpoint));
  return place(context, options, store, text, before);
}

// A dry run signs and writes nothing; to be news again needs no recall; a draft says itself what it recalls.
void refuseIgnored(CLI::App& command) {
  const auto without = [&](const char* mode, std::initializer_list<const char*> ignored) {
    for (const char* name : ignored) command.get_option(name)->excludes(command.get_option(mode));
  };
  without("--dry-run", {"--refresh", "--cosign", "--checkpoint", "--expires", "--out"});
  for (const char* mode : {"--refresh", "--cosign"})
    without(mode, {"--artifact", "--toolchain", "--component", "--source", "--record", "--worker",
                   "--operator", "--key", "--device", "--lift", "--reason", "--since", "--until", "--listed",
                   "--log-range", "--listed-only", "--unmatched"});
  without("--cosign", {"--refresh", "--checkpoint", "--expires"});
  without("--lift", {"--unmatched", "--listed", "--listed-only"});
}

}  // namespace

void addRecall(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(app, context, "recall",
                             "Recall content, or evidence of a time, in recalls.json; or take a recall back",
                             "kiln recall --worker w3 --since 2026-11-01T00:00:00Z --reason \"disk faults\" "
                             "--sign-with recall-1.key --sign-with recall-2.key",
                             [&context, options] { return run(context, *options); });
  const auto add = [&](const char* name, std::string& to, const char* what) {
    command.add_option(name, to, what);
  };
  addArtifactOption(command, "--artifact", options->artifact, "sha256:<hex>: these bytes");
  add("--toolchain", options->toolchain, "sha256:<hex> of a tree or a label of the farm's, and what it made");
  add("--component", options->component,
      "sha256:<hex>, NAME@VERSION or NAME of a part of toolchains, and what these made");
  add("--source", options->source,
      "sha256:<hex> of an input, a file here for its digest, or a URL (git+URL, git+URL@COMMIT#PATH): what "
      "was fetched from there");
  add("--record", options->record, "sha256:<hex> of a tuning record");
  add("--worker", options->worker, "What this worker vouched for");
  add("--operator", options->operatorName, "What this operator's workers vouched for");
  add("--key", options->key, "What this key signed, by its id");
  add("--device", options->device, "What was checked on this device, by its name");
  add("--lift", options->lift,
      "sha256:<hex>: the payload of the recall that was wrong, as kiln recall printed it");
  add("--reason", options->reason, "Why, for people");
  add("--since", options->since, "Evidence only: from when, 2026-11-20T05:23:32Z");
  add("--until", options->until, "Evidence only: until when");
  command.add_option(
      "--listed", options->listed,
      "What it touches, instead of asking the farm: sha256:<hex>, or a file with one per line; "
      "artifacts and what derives, or payloads of statements");
  command.add_option(
      "--log-range", options->logs,
      "ORIGIN:FROM:TO: what this log holds there, too, whatever time it states; alone without --since and "
      "--until (default: where the farm's statements of the window stand)");
  command.add_flag("--listed-only", options->listedOnly,
                   "Reach no further than --listed: within the root's scope one key is enough");
  command.add_flag(
      "--unmatched", options->unmatched,
      "Recall it also where the farm knows nothing that it touches (else exit 6), or no farm is named: "
      "meant ahead of time");
  command.add_flag("--dry-run", options->dryRun, "Show the recall with what it touches; sign nothing");
  command.add_flag("--refresh", options->refresh, "Recall nothing; be news again");
  add("--expires", options->expires, "How long this version is news (default 7d)");
  add("--checkpoint", options->checkpoint,
      "File with the log's checkpoint to name (default with --publish: the farm's newest)");
  command.add_option(
      "--recalls", context.recalls,
      "recalls.json; made if it is not there (default: $KILN_RECALLS, else beside the trust root)");
  command.add_flag(
      "--publish,!--no-publish", options->publish,
      "Have the farm log it and put it in force; recalls.json gets the proofs (default where a farm "
      "is named)");
  add("--out", options->out, "Where the new version goes (default: recalls.json itself)");
  add("--cosign", options->cosign,
      "Sign a draft that lacks signatures, instead; without a key, only --publish it");
  addFarmOptions(command, context);
  command.add_option("--sign-with", options->signWith,
                     "A private recall key; may be repeated (default: $KILN_RECALL_KEY)");
  command.add_option("--trust-root", context.trustRoot,
                     "root.json that names the recall keys (default: $KILN_TRUST_ROOT)");
  refuseIgnored(command);
}

}  // namespace kiln::cli

// kiln log: what anybody may ask a transparency log, checked with the keys of the named root.
#include <fmt/format.h>

#include "api/cli/audit/commands.h"
#include "api/cli/audit/log_location.h"
#include "api/cli/audit/log_prove.h"
#include "api/cli/audit/log_witness.h"
#include "api/cli/base/artifact_option.h"
#include "api/cli/base/print.h"
#include "manifest/base/counted.h"
#include "signing/follow/log_source.h"
#include "signing/keys/files.h"
#include "signing/trust/trust_root.h"

namespace kiln::cli {
namespace {

using namespace signing;

constexpr std::size_t kMaxCheckpointFile = 64 << 10;

struct LogOptions {
  std::string since, artifact;
  std::vector<std::string> keys;
  std::uint64_t index = 0, from = 0;
};

// --log-key, else the logs that the trust root names.
Result<std::vector<VerifierKey>> trustedLogs(const Context& context, const LogOptions& options) {
  std::vector<VerifierKey> out;
  for (const std::string& path : options.keys) {
    KILN_ASSIGN(VerifierKey key, loadVerifierKey(path));
    out.push_back(std::move(key));
  }
  if (!out.empty()) return out;
  if (context.trustRoot.empty())
    return fail(Code::kInvalidArgument, "name a trust root (--trust-root) or a log key (--log-key)");
  KILN_ASSIGN(TrustRoot root, TrustRoot::load(context.trustRoot));
  for (const TrustedLog& log : root.logs) {
    KILN_ASSIGN(auto key, Ed25519PublicKey::fromDer(log.spki));
    out.push_back({log.origin, NoteKeyKind::kEd25519, std::move(key)});
  }
  if (out.empty())
    return fail(Code::kPermissionDenied, context.trustRoot + " names no log; use a newer root, or --log-key");
  return out;
}

// A checkpoint that somebody kept: whoever wrote to it decides what a log must continue.
Result<OpenedCheckpoint> readCheckpointFile(const std::string& path, const std::vector<VerifierKey>& keys) {
  KILN_ASSIGN(const std::string text, readTrustFile(path, kMaxCheckpointFile));
  return openCheckpointText(text, keys).map_error([&](const Error& error) { return error.in(path); });
}

Json hashesJson(const std::vector<TreeHash>& hashes) {
  Json out = Json::array();
  for (const TreeHash& hash : hashes) out.push_back(toBase64(hash));
  return out;
}

Status showCheckpoint(const Context& context, const LogOptions& options) {
  KILN_ASSIGN(auto log, openLog(context));
  KILN_ASSIGN(auto keys, trustedLogs(context, options));
  KILN_ASSIGN(OpenedCheckpoint opened, readCheckpoint(*log, keys));
  const Checkpoint& checkpoint = opened.checkpoint;
  if (context.json)
    printJson({{"origin", checkpoint.origin},
               {"size", std::to_string(checkpoint.size)},
               {"root", toBase64(checkpoint.root)},
               {"checkpoint", opened.note.toString()}});
  else
    printLine(fmt::format("{}: {}, root {}, {}", printable(checkpoint.origin),
                          counted(checkpoint.size, "entry"), toBase64(checkpoint.root),
                          counted(opened.note.signatures.size(), "signature")));
  return {};
}

// A proof out of what the log publishes, which is checked. The caller has seen to it that there can be one.
Result<Json> proofOf(LogSource& log, const OpenedCheckpoint& opened, const LogOptions& options,
                     bool consistency) {
  const Checkpoint& checkpoint = opened.checkpoint;
  TileTree tree(log, checkpoint.size);
  KILN_ASSIGN(TreeHash root, treeRoot(tree, checkpoint.size));
  if (root != checkpoint.root) return fail(Code::kDataLoss, "the tiles do not lead to the checkpoint's root");
  Json out{{"checkpoint", opened.note.toString()}};
  if (consistency) {
    KILN_ASSIGN(auto proof, consistencyProof(tree, options.from, checkpoint.size));
    KILN_ASSIGN(TreeHash before, treeRoot(tree, options.from));
    KILN_TRY(verifyConsistency(options.from, checkpoint.size, before, root, proof));
    out["from"] = {{"size", std::to_string(options.from)}, {"root", toBase64(before)}};
    out["hashes"] = hashesJson(proof);
  } else {
    KILN_ASSIGN(auto proof, inclusionProof(tree, options.index, checkpoint.size));
    KILN_ASSIGN(auto entry, readEntries(log, checkpoint.size, options.index, options.index + 1));
    KILN_TRY(verifyInclusion(options.index, checkpoint.size, leafHash(entry[0]), proof, root));
    out["index"] = std::to_string(options.index);
    out["leaf"] = entry[0];
    out["hashes"] = hashesJson(proof);
  }
  return out;
}

Status prove(const Context& context, const LogOptions& options, bool consistency) {
  KILN_ASSIGN(auto log, openLog(context));
  KILN_ASSIGN(auto keys, trustedLogs(context, options));
  KILN_ASSIGN(OpenedCheckpoint opened, readCheckpoint(*log, keys));
  const std::uint64_t size = opened.checkpoint.size;
  if (consistency && options.from > size)
    return fail(Code::kOutOfRange,
                fmt::format("SIZE {}: the log has {}", options.from, counted(size, "entry")));
  if (!consistency && options.index >= size)
    return fail(Code::kOutOfRange, fmt::format("INDEX {}: the log has {}, the first is 0", options.index,
                                               counted(size, "entry")));
  auto out = proofOf(*log, opened, options, consistency);
  if (!out) return fail(fromLog(*log, out.error()));
  printJson(*out);
  return {};
}

// That the log goes on from an earlier checkpoint, whose size is the result.
Result<std::uint64_t> continued(LogSource& log, const Checkpoint& now, const Checkpoint& earlier) {
  if (earlier.size > now.size)
    return fail(Code::kDataLoss, fmt::format("the log had {} and has {}: it was truncated",
                                             counted(earlier.size, "entry"), now.size));
  TileTree tree(log, now.size);
  KILN_ASSIGN(auto proof, consistencyProof(tree, earlier.size, now.size));
  KILN_TRY(verifyConsistency(earlier.size, now.size, earlier.root, now.root, proof));
  return earlier.size;
}

// Everything that the log has published leads to its checkpoint, which continues an earlier one.
Status verify(const Context& context, const LogOptions& options) {
  KILN_ASSIGN(auto log, openLog(context));
  KILN_ASSIGN(auto keys, trustedLogs(context, options));
  KILN_ASSIGN(OpenedCheckpoint opened, readCheckpoint(*log, keys));
  const Checkpoint& now = opened.checkpoint;
  std::uint64_t since = 0;
  if (!options.since.empty()) {
    KILN_ASSIGN(const OpenedCheckpoint earlier, readCheckpointFile(options.since, keys));
    auto size = continued(*log, now, earlier.checkpoint);
    if (!size) return fail(fromLog(*log, size.error()));
    since = *size;
  }
  KILN_TRY(checkWholeLog(*log, now, [&](std::uint64_t) {}));
  if (context.json)
    printJson({{"verified", true},
               {"origin", now.origin},
               {"size", std::to_string(now.size)},
               {"since", std::to_string(since)}});
  else
    printLine(fmt::format("verified {}: {} to root {}{}", printable(now.origin),
                          counted(now.size, "entry") + (now.size == 1 ? " leads" : " lead"),
                          toBase64(now.root),
                          since ? fmt::format(", consistent with its first {}", since) : ""));
  return {};
}

// What was said of kiln log prove ARTIFACT where a proof of one entry is asked for, which needs no farm.
std::string ignoredBy(const CLI::App& prove) {
  for (const CLI::Option* option : prove.get_options()) {
    const std::string name = option->get_name();
    const bool shared = name == "--json" || name == "--wait" || name == "--trust-root" || name == "--help" ||
                        name.starts_with("--tls-") || name == "--token-file";
    if (option->count() > 0 && !shared)
      return name + " is of kiln log prove ARTIFACT; leave it out, or leave out " +
             prove.get_subcommands().front()->get_name() + "; see kiln log prove --help";
  }
  return {};
}

}  // namespace

void addLog(CLI::App& app, Context& context) {
  const auto options = std::make_shared<LogOptions>();
  CLI::App* log = app.add_subcommand("log", "The transparency log: its checkpoint, proofs, the whole of it");
  log->footer("Example:\n  kiln log checkpoint");
  log->require_subcommand(1);
  const auto add = [&](CLI::App& parent, const char* name, const char* what, const char* example,
                       std::function<Status()> run) {
    CLI::App& command = addCommand(parent, context, name, what, example, std::move(run));
    addLogOption(command, context);
    addTlsOptions(command, context);
    addWaitOption(command, context);
    addTrustRootOption(command, context);
    command
        .add_option(
            "--log-key", options->keys,
            "a log's .vkey file, instead of the root's logs; may be repeated, for each key that it had")
        ->allow_extra_args(false)
        ->excludes(command.get_option("--trust-root"));
    return &command;
  };
  add(*log, "checkpoint", "Show the newest checkpoint that a trusted log signed", "kiln log checkpoint",
      [&context, options] { return showCheckpoint(context, *options); });
  CLI::App* proof = log->add_subcommand(
      "prove", "Where the log holds an artifact's statements; a proof of one entry as JSON");
  proof->footer("Example:\n  kiln log prove sha256:…\n  kiln log prove inclusion 7");
  proof->require_subcommand(0, 1);
  addArtifactOption(*proof, "ARTIFACT", options->artifact,
                    "sha256:<hex>, 12 digits or more: each proof of its statements is checked");
  proof->add_flag("--json", context.json, "Print JSON");
  addFarmOptions(*proof, context);
  addTrustRootOption(*proof, context);
  proof->callback([&context, options, proof] {
    if (!proof->get_subcommands().empty()) {
      if (const std::string wrong = ignoredBy(*proof); !wrong.empty())
        context.command = [wrong] { return Status(fail(Code::kInvalidArgument, wrong)); };
      return;
    }
    context.command = [&context, options]() -> Status {
      if (options->artifact.empty())
        return fail(Code::kInvalidArgument, "prove what? An ARTIFACT, inclusion INDEX or consistency SIZE");
      return proveArtifact(context, options->artifact);
    };
  });
  add(*proof, "inclusion", "An entry is in the newest tree", "kiln log prove inclusion 7",
      [&context, options] { return prove(context, *options, false); })
      ->add_option("INDEX", options->index, "the entry's index")
      ->required();
  add(*proof, "consistency", "The newest tree begins with that of SIZE entries",
      "kiln log prove consistency 7", [&context, options] { return prove(context, *options, true); })
      ->add_option("SIZE", options->from, "size of the earlier tree")
      ->required();
  add(*log, "verify", "Read the whole log and check every entry and tile against its checkpoint",
      "kiln log verify --since checkpoint.txt", [&context, options] { return verify(context, *options); })
      ->add_option("--since", options->since, "an earlier checkpoint that the log must continue");
  addLogWitness(*log, context);
}

}  // namespace kiln::cli

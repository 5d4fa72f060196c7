#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>

#include "api/cli/base/duration_option.h"
#include "api/cli/base/file_lock.h"
#include "api/cli/base/print.h"
#include "api/cli/trust/commands.h"
#include "api/cli/trust/trust_edit.h"
#include "api/cli/trust/trust_sigstore.h"
#include "api/client/shell_word.h"
#include "manifest/base/counted.h"
#include "manifest/base/durable_file.h"
#include "signing/keys/files.h"
#include "signing/keys/public_pem.h"
#include "signing/log/verifier_key.h"
#include "signing/token/key_location.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

using signing::PrivateKey;
using signing::RootFile;
using signing::TrustRoot;

constexpr int kScope = 100;  // of one recall key, unless --recall-scope says another
constexpr char kKeyLasts[] = "730d", kOverlap[] = "14d";

struct Options {
  std::string root, out, expires = "365d";
  std::vector<std::string> keys;  // private root keys to sign with
  // init
  std::string directory;
  int threshold = 2, of = 3, recallKeys = 2;
  std::optional<int> scope;
  // add-key, rotate
  std::string role = "signer", publicKey, id, until, overlap, old;
  // revoke
  std::string keyId, at, reason;
  std::vector<std::string> logs;
  // show
  std::string previous, sigstore;
};

Result<RootFile> readRootFile(const std::string& path) {
  KILN_ASSIGN(const std::string text, signing::readTrustFile(path, 2 * signing::kMaxRootBytes));
  auto file = RootFile::parse(text);
  if (!file) return fail(file.error().in(path));
  return file;
}

Result<TimePoint> inFuture(const char* option, const std::string& duration) {
  const auto length = parseDuration(duration);
  if (!length) return fail(length.error().in(option));
  return SystemClock().now() + *length;
}

std::string countOf(const RootFile& file, const signing::ThresholdKeys& role) {
  return fmt::format("{} of {}", file.signers(role.keys).size(), role.threshold);
}

// What was made must be readable again.
Status checkReadable(const RootFile& file) {
  auto read = TrustRoot::parse(file.envelope.payload);
  return read ? Status() : fail(read.error().in("the root that this would make"));
}

Result<std::vector<PrivateKey>> loadKeys(const Options& options) {
  std::vector<PrivateKey> keys;
  for (const std::string& path : options.keys) {
    KILN_ASSIGN(PrivateKey key, signing::loadKey(path));
    keys.push_back(std::move(key));
  }
  return keys;
}

bool hasRootKey(const RootFile& file, const std::string& id) {
  return file.root.rootKeys &&
         std::ranges::any_of(file.root.rootKeys->keys, [&](const auto& key) { return key.id() == id; });
}

// A signature by any other key counts for nothing, and the root would never be complete.
Status checkRootKey(const RootFile& file, const RootFile* previous, const std::string& id) {
  if (hasRootKey(file, id) || (previous && hasRootKey(*previous, id))) return {};
  return fail(Code::kPermissionDenied,
              "--key: key " + id + " is no root key of this root" +
                  (previous ? " or the one before; kiln trust show lists whose signatures count"
                            : "; one of the root before signs with kiln trust sign --previous"));
}

// Signs with the keys given and writes a new file, or the root itself where none is named; says how far the
// signatures are.
Status finish(const Context& context, RootFile file, const Options& options,
              const std::vector<PrivateKey>& keys, const RootFile* previous,
              const std::string& previousPath = "") {
  for (const PrivateKey& key : keys) {
    KILN_TRY(checkRootKey(file, previous, key.publicKey().id()));
    KILN_TRY(file.sign(key));
  }
  const std::string& out = options.out.empty() ? options.root : options.out;
  KILN_TRY(options.out.empty() ? replaceFile(out, file.text()) : signing::writeTextFile(out, file.text()));
  const bool done = signing::checkSigned(file) && (!previous || signing::checkSuccessor(*previous, file));
  if (context.json) {
    printJson({{"root", out}, {"version", file.root.version}, {"complete", done}});
    return {};
  }
  if (file.root.rootKeys) note("signed by " + countOf(file, *file.root.rootKeys) + " of its own root keys");
  if (previous && previous->root.rootKeys)
    note(fmt::format("signed by {} of the root keys of version {}", countOf(file, *previous->root.rootKeys),
                     previous->root.version));
  note(done ? "complete: give it to those who trust this root"
            : "not complete: kiln trust sign " + client::shellPath(out) +
                  (previous ? " " + client::shellOption("--previous", previousPath) : "") +
                  " --key ROOT.key adds a signature");
  printLine(out);
  return {};
}

// A directory and files in it that go again unless all of what they belong to came about.
class MadeFiles {
 public:
  MadeFiles() = default;
  MadeFiles(const MadeFiles&) = delete;
  MadeFiles& operator=(const MadeFiles&) = delete;
  ~MadeFiles() {
    std::error_code ignored;
    for (const fs::path& path : made_) fs::remove(path, ignored);
  }

  Status directory(const fs::path& path) {
    std::error_code error;
    for (fs::path at = path; !at.empty() && !fs::exists(at, error); at = at.parent_path())
      made_.push_back(at);
    fs::create_directories(path, error);
    return error ? fail(errnoError(error.value(), path.string())) : Status{};
  }
  Status key(const PrivateKey& key, const fs::path& path) {
    KILN_TRY(key.save(path.string()));
    made_.push_front(path);
    return {};
  }
  void keep() { made_.clear(); }

 private:
  std::deque<fs::path> made_;  // in the order of removal
};

// Keys of an earlier root stay what they are.
Status checkNoKeys(const Options& options) {
  std::error_code error;
  std::string first;
  for (fs::directory_iterator at(options.directory, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".key" && (first.empty() || at->path().filename() < first))
      first = at->path().filename();
  if (first.empty()) return {};
  return fail(Code::kAlreadyExists, "--keys " + options.directory + ": holds " + printable(first) +
                                        " already, a key of another root; name another directory");
}

Result<TrustRoot> newRoot(const Options& options, std::map<std::string, PrivateKey>& keys) {
  TrustRoot root;
  KILN_ASSIGN(root.expires, inFuture("--expires", options.expires));
  const auto make = [&](const char* role, int count, signing::ThresholdKeys& to) -> Status {
    for (int i = 1; i <= count; ++i) {
      KILN_ASSIGN(PrivateKey key, PrivateKey::create());
      to.keys.push_back(key.publicKey());
      keys.emplace(fmt::format("{}-{}.key", role, i), std::move(key));
    }
    return {};
  };
  root.rootKeys.emplace().threshold = options.threshold;
  KILN_TRY(make("root", options.of, *root.rootKeys));
  if (options.recallKeys == 0) return root;
  root.recallKeys.emplace();
  root.recallKeys->wideThreshold = std::min(2, options.recallKeys);
  root.recallKeys->scope = options.scope.value_or(kScope);
  KILN_TRY(make("recall", options.recallKeys, root.recallKeys->issuers));
  return root;
}

// All of it or nothing: keys without their root are of no use, and in the way of the next try.
Status init(const Context& context, const Options& options) {
  if (options.of < 1 || options.of > static_cast<int>(signing::kMaxThresholdKeys) || options.threshold < 1 ||
      options.threshold > options.of)
    return fail(Code::kInvalidArgument, "--threshold M and --of N: 1 <= M <= N <= 8");
  if (options.recallKeys < 0 || options.recallKeys > static_cast<int>(signing::kMaxThresholdKeys))
    return fail(Code::kInvalidArgument, "--recall-keys: 0 to 8");
  if (options.scope && options.recallKeys == 0)
    return fail(Code::kInvalidArgument,
                "--recall-scope is of recall keys, and --recall-keys is 0; leave it out");
  if (options.scope && (*options.scope < 0 || *options.scope > signing::kMaxRecallScope))
    return fail(Code::kInvalidArgument, fmt::format("--recall-scope: 0 to {}", signing::kMaxRecallScope));
  std::error_code error;
  if (fs::exists(options.out, error))
    return fail(Code::kAlreadyExists, options.out + ": is there already; no keys were made");
  KILN_TRY(checkNoKeys(options));
  std::map<std::string, PrivateKey> keys;
  KILN_ASSIGN(TrustRoot root, newRoot(options, keys));
  KILN_ASSIGN(RootFile file, RootFile::of(std::move(root)));
  KILN_TRY(checkReadable(file));
  MadeFiles made;
  KILN_TRY(made.directory(options.directory));
  std::vector<PrivateKey> signers;
  for (auto& [name, key] : keys) {
    KILN_TRY(made.key(key, fs::path(options.directory) / name));
    if (name.starts_with("root-")) signers.push_back(std::move(key));
  }
  KILN_TRY(finish(context, std::move(file), options, signers, nullptr));
  made.keep();
  // Not before: where the root could not be written, the keys are gone again.
  if (!context.json) note("take the keys in " + options.directory + " offline, each to another place");
  return {};
}

// Reads the root, lets `change` make its successor, and finishes that.
template <class Change>
Status edit(const Context& context, const Options& options, Change change) {
  KILN_ASSIGN(const RootFile before, readRootFile(options.root));
  if (auto whole = signing::checkSigned(before); !whole) return fail(whole.error().in(options.root));
  KILN_ASSIGN(const TimePoint expires, inFuture("--expires", options.expires));
  TrustRoot next = successorOf(before.root, expires);
  KILN_TRY(change(next));
  KILN_ASSIGN(RootFile file, RootFile::of(std::move(next)));
  KILN_TRY(checkReadable(file));
  KILN_ASSIGN(const std::vector<PrivateKey> keys, loadKeys(options));
  return finish(context, std::move(file), options, keys, before.root.rootKeys ? &before : nullptr,
                options.root);
}

// What of `kiln trust add-key` and `rotate` is of other roles than this one.
Status checkRoleOptions(KeyRole role, const Options& options) {
  const bool threshold = role == KeyRole::kRoot || role == KeyRole::kRecall;
  const auto ignored = [&](const char* option, const char* whose) {
    return fail(Code::kInvalidArgument, std::string(option) + " is of " + whose + ", not of --role " +
                                            options.role + "; leave it out");
  };
  if (threshold && !options.id.empty()) return ignored("--id", "a signer, a log or a witness");
  if ((threshold || role == KeyRole::kWitness) && !options.until.empty())
    return ignored("--until", "a signer or a log");
  if (threshold && !options.overlap.empty()) return ignored("--overlap", "a signer");
  if (!threshold && !options.old.empty()) return ignored("--old", "a root or recall key");
  return {};
}

// "" stands for the default.
const std::string& orDefault(const std::string& given, const std::string& usual) {
  return given.empty() ? usual : given;
}

// Whose the key in a .vkey file is stands in it.
Status readVerifierKey(const Options& options, NewKey& key) {
  KILN_ASSIGN(const signing::VerifierKey verifier, signing::loadVerifierKey(options.publicKey));
  const bool isLog = verifier.kind == signing::NoteKeyKind::kEd25519;
  if (key.role != (isLog ? KeyRole::kLog : KeyRole::kWitness))
    return fail(Code::kInvalidArgument, "--public " + options.publicKey + ": is the key of the " +
                                            (isLog ? "log " : "witness ") + verifier.name +
                                            "; its role is --role " + (isLog ? "log" : "witness"));
  if (!options.id.empty() && options.id != verifier.name)
    return fail(Code::kInvalidArgument, "--id " + options.id + ": " + options.publicKey + " is of " +
                                            verifier.name + "; leave --id out, or name another file");
  key.id = verifier.name;
  key.spki = verifier.key.der();
  return {};
}

Status readKey(const Options& options, NewKey& key) {
  if (options.publicKey.ends_with(".vkey")) return readVerifierKey(options, key);
  const bool ofLog = key.role == KeyRole::kLog || key.role == KeyRole::kWitness;
  auto spki = signing::readPublicKeyFile(options.publicKey);
  if (!spki && spki.error().code == Code::kInvalidArgument && ofLog)
    spki.error().message += "; --role " + options.role + " takes the .vkey file, too";
  if (!spki) return fail(spki.error());
  key.spki = std::move(*spki);
  key.id = options.id;
  return {};
}

Result<NewKey> newKey(const Options& options) {
  NewKey key;
  KILN_ASSIGN(key.role, parseKeyRole(options.role));
  KILN_TRY(checkRoleOptions(key.role, options));
  KILN_TRY(readKey(options, key));
  key.validFrom = SystemClock().now() - std::chrono::hours(1);
  KILN_ASSIGN(key.validUntil, inFuture("--until", orDefault(options.until, kKeyLasts)));
  return key;
}

Status add(const Context& context, const Options& options) {
  KILN_ASSIGN(const NewKey key, newKey(options));
  return edit(context, options, [&](TrustRoot& next) { return addKey(next, key); });
}

// A key of the root must go for another one.
Status wantOld(const TrustRoot& root, KeyRole role, const std::string& name) {
  std::vector<signing::PublicKey> keys;
  if (role == KeyRole::kRoot && root.rootKeys) keys = root.rootKeys->keys;
  if (role == KeyRole::kRecall && root.recallKeys) keys = root.recallKeys->issuers.keys;
  std::string listed;
  for (const signing::PublicKey& key : keys) listed += (listed.empty() ? "" : ", ") + key.id();
  return fail(Code::kInvalidArgument, "--old is missing: the id of the " + name +
                                          " key that goes; the root has " +
                                          (listed.empty() ? "none" : listed));
}

Status rotate(const Context& context, const Options& options) {
  KILN_ASSIGN(const NewKey key, newKey(options));
  if (key.role == KeyRole::kLog || key.role == KeyRole::kWitness)
    return fail(Code::kInvalidArgument, "--role " + options.role +
                                            ": rotate is for signers, root and recall keys; kiln trust "
                                            "add-key adds a new key beside the old one");
  KILN_ASSIGN(const TimePoint oldUntil, inFuture("--overlap", orDefault(options.overlap, kOverlap)));
  return edit(context, options, [&](TrustRoot& next) {
    if (key.role == KeyRole::kSigner) return rotateSigner(next, key, oldUntil);
    return options.old.empty() ? wantOld(next, key.role, options.role) : replaceKey(next, key, options.old);
  });
}

Result<signing::Revocation::LogSize> parseLogSize(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos && colon > 0) {
    const std::string digits = text.substr(colon + 1);
    if (!digits.empty() && digits.size() <= 15 && digits.find_first_not_of("0123456789") == std::string::npos)
      return signing::Revocation::LogSize{text.substr(0, colon), std::stoull(digits)};
  }
  return fail(Code::kInvalidArgument,
              "--log " + text + ": ORIGIN:SIZE, the log's size when the key was safe");
}

Status revoke(const Context& context, const Options& options) {
  signing::Revocation revocation;
  revocation.keyId = options.keyId;
  revocation.reason = options.reason;
  revocation.at = SystemClock().now();
  if (!options.at.empty()) {
    const auto at = parseRfc3339(options.at);
    if (!at) return fail(at.error().in("--at"));
    revocation.at = *at;
  }
  for (const std::string& text : options.logs) {
    KILN_ASSIGN(auto size, parseLogSize(text));
    revocation.logs.push_back(std::move(size));
  }
  return edit(context, options, [&](TrustRoot& next) { return revokeKey(next, revocation); });
}

Status sign(const Context& context, const Options& options) {
  KILN_ASSIGN(const UniqueFd fileLock, lockForUpdate(options.root));
  KILN_ASSIGN(RootFile file, readRootFile(options.root));
  std::optional<RootFile> previous;
  if (!options.previous.empty()) {
    KILN_ASSIGN(previous, readRootFile(options.previous));
  }
  KILN_ASSIGN(const std::vector<PrivateKey> keys, loadKeys(options));
  return finish(context, std::move(file), options, keys, previous ? &*previous : nullptr, options.previous);
}

void printRoot(const RootFile& file) {
  const TrustRoot& root = file.root;
  printLine(fmt::format("version     {}{}", root.version, root.development ? ", for development" : ""));
  printLine("expires     " + rfc3339(root.expires));
  if (root.rootKeys) {
    printLine("signed by   " + countOf(file, *root.rootKeys) + " " +
              nounFor(std::to_string(root.rootKeys->threshold), "root key") + " needed");
    for (const auto& key : root.rootKeys->keys) printLine("root key    " + key.id());
  }
  for (const auto& builder : root.builders)
    for (const std::string& id : builder.keys)
      printLine(fmt::format("speaks for  {}: key {}", printable(builder.id), id));
  for (const auto& key : root.keys)
    printLine(fmt::format("key         {} from {} to {}", key.key.id(), rfc3339(key.validFrom),
                          rfc3339(key.validUntil)));
  for (const auto& gone : root.revocations)
    printLine(
        fmt::format("revoked     {} since {}: {}", gone.keyId, rfc3339(gone.at), printable(gone.reason)));
  if (root.recallKeys)
    printLine(fmt::format("recalls     by {} of {}; beyond {} by {}", root.recallKeys->issuers.threshold,
                          counted(root.recallKeys->issuers.keys.size(), "key"),
                          counted(root.recallKeys->scope, "listed digest"), root.recallKeys->wideThreshold));
  if (root.recallKeys)
    for (const auto& key : root.recallKeys->issuers.keys) printLine("recall key  " + key.id());
  for (const auto& log : root.logs) printLine("log         " + printable(log.origin));
  for (const auto& witness : root.witnesses) printLine("witness     " + printable(witness.name));
}

Status show(const Context& context, const Options& options) {
  const std::string& path = options.root.empty() ? context.trustRoot : options.root;
  if (path.empty()) return fail(Code::kInvalidArgument, "show which root? Name it, or set KILN_TRUST_ROOT");
  KILN_ASSIGN(const RootFile file, readRootFile(path));
  Status holds = signing::checkSigned(file);
  if (holds && !options.previous.empty()) {
    KILN_ASSIGN(const RootFile previous, readRootFile(options.previous));
    holds = signing::checkSuccessor(previous, file);
  }
  // What is not known to be signed is not handed on to others.
  Json written;
  if (holds && !options.sigstore.empty()) {
    KILN_ASSIGN(written, writeSigstoreFiles(file.root, options.sigstore));
  }
  if (context.json) {
    Json json{{"root", file.root.toJson()}, {"signaturesHold", holds.has_value()}};
    if (!holds) json["why"] = holds.error().message;
    if (!written.is_null()) json["sigstore"] = written;
    printJson(json);
  } else {
    printRoot(file);
    if (!written.is_null()) {
      printLine("sigstore    " + written["trustedRoot"].get<std::string>());
      for (const Json& key : written["keys"])
        printLine(fmt::format("            {} is key {}", key["file"].get<std::string>(),
                              key["keyid"].get<std::string>()));
    }
  }
  if (!holds) return fail(Error{holds.error().code, holds.error().message, R"({"exitCode":5})"});
  return {};
}

}  // namespace

void addTrust(CLI::App& app, Context& context) {
  CLI::App& group = *app.add_subcommand("trust", "Trust roots: whose signatures count, under whose control");
  group.require_subcommand(1);
  group.footer("Example:\n  kiln trust show root.json");
  const auto options = std::make_shared<Options>();
  const auto adder = [&](const std::string& name, const std::string& what, const std::string& example,
                         Status (*run)(const Context&, const Options&)) -> CLI::App& {
    return addCommand(group, context, name, what, example,
                      [&context, options, run] { return run(context, *options); });
  };
  const auto editing = [&](CLI::App& command) {
    command.add_option("ROOT", options->root, "The root in force")->required();
    command.add_option("--out", options->out, "A new file for its successor")->required();
    command.add_option("--key", options->keys,
                       "A private root key to sign with, PEM or a PKCS#11 URI; may be repeated");
    command.add_option("--expires", options->expires, "When the successor ends, from now (default 365d)");
  };
  const auto keyed = [&](CLI::App& command, const char* file, const char* roles, const char* id,
                         const char* until) {
    command.add_option("--public", options->publicKey, file)->required();
    command.add_option("--role", options->role, roles);
    command.add_option("--id", options->id, id);
    command.add_option("--until", options->until, until);
  };

  auto& starting = adder("init", "Make a root with M of N offline keys",
                         "kiln trust init --out root.json --keys offline --threshold 2 --of 3", init);
  starting.add_option("--out", options->out, "A new file for the root")->required();
  starting.add_option("--keys", options->directory, "A directory for the private keys, mode 0600")
      ->required();
  starting.add_option("--threshold", options->threshold, "How many root keys must sign (default 2)");
  starting.add_option("--of", options->of, "How many root keys there are (default 3)");
  starting.add_option("--recall-keys", options->recallKeys,
                      "How many keys may recall (default 2, 0 for none)");
  starting.add_option("--recall-scope", options->scope,
                      "How many digests one recall key alone may list (default 100)");
  starting.add_option("--expires", options->expires, "When the root ends, from now (default 365d)");

  auto& adding =
      adder("add-key", "Add a key: the next version of the root",
            "kiln trust add-key root.json --id urn:example:farm --public signer.pem --out next.json "
            "--key offline/root-1.key",
            add);
  editing(adding);
  keyed(adding, "The key, PEM; of a log or a witness its .vkey file, too",
        "signer (default), root, recall, log or witness; a key has one",
        "The builder or author of a signer, a log's origin, a witness's name (default: what the .vkey says)",
        "How long a signer or log key lasts (default 730d)");

  auto& rotating =
      adder("rotate", "Put a new key beside a signer's old one, or in a root or recall key's place",
            "kiln trust rotate root.json --id urn:example:farm --public new.pem --out next.json", rotate);
  editing(rotating);
  keyed(rotating, "The new key, PEM",
        "signer (default), root or recall; a log's or witness's new key is added with kiln trust add-key",
        "The builder or author of a signer", "How long a signer's key lasts (default 730d)");
  rotating.add_option("--overlap", options->overlap, "How long the signer's old keys last (default 14d)");
  rotating.add_option("--old", options->old, "The id of the root or recall key that goes");

  auto& revoking = adder("revoke", "Let a signer's key count no more, but for what a log shows to be older",
                         "kiln trust revoke root.json --keyid ID --reason stolen --out next.json", revoke);
  editing(revoking);
  revoking.add_option("--keyid", options->keyId, "The key's id, as kiln trust show prints it")->required();
  revoking.add_option("--reason", options->reason, "Why, for people")->required();
  revoking.add_option("--at", options->at, "Since when, 2026-11-20T05:23:32Z (default: now)");
  revoking.add_option("--log", options->logs, "ORIGIN:SIZE of a log when the key was safe; may be repeated");

  auto& signing = adder("sign", "Add signatures of root keys to a root",
                        "kiln trust sign next.json --key offline/root-2.key --previous root.json", sign);
  signing.add_option("ROOT", options->root, "The root to sign; rewritten unless --out is given")->required();
  signing.add_option("--key", options->keys, "A private root key; may be repeated")->required();
  signing.add_option("--out", options->out, "A new file instead");
  signing.add_option("--previous", options->previous, "The root in force, to see what its keys still owe");

  auto& showing = adder("show", "Show a root and whether its signatures hold (exit 5 if not)",
                        "kiln trust show next.json --previous root.json", show);
  showing.add_option("ROOT", options->root, "The root (default: $KILN_TRUST_ROOT)");
  showing.add_option("--previous", options->previous, "The root before, whose keys must have signed, too");
  showing.add_option(
      "--sigstore", options->sigstore,
      "A directory for what stock verifiers take (cosign, @sigstore/verify): trusted_root.json and "
      "a PEM per signer");
}

}  // namespace kiln::cli

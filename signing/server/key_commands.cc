#include "signing/server/key_commands.h"

#include <sys/stat.h>

#include <cerrno>

#include "manifest/base/durable_file.h"
#include "signing/keys/certificate.h"
#include "signing/keys/ed25519.h"
#include "signing/keys/files.h"
#include "signing/log/verifier_key.h"
#include "signing/token/key_location.h"
#include "signing/trust/signed_root.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxCertificateBytes = 64 << 10;

// Names the log and the recall key that `options` name, unless the root has such.
Status delegate(const RootOptions& options, TrustRoot& root, TimePoint now) {
  if (!options.logKey.empty() && root.logs.empty()) {
    KILN_ASSIGN(VerifierKey log, loadVerifierKey(options.logKey));
    root.logs.push_back({log.name, log.key.der(), now - std::chrono::hours(1), root.expires});
  }
  if (!options.recallKey.empty() && !root.recallKeys) {
    KILN_ASSIGN(const PrivateKey recallKey, loadKey(options.recallKey));
    root.recallKeys = RecallKeys{{1, {recallKey.publicKey()}}, 1, 0};
  }
  return {};
}

}  // namespace

Status makeKey(const std::string& out) {
  KILN_TRY(createKey(out));
  return {};
}

Result<std::string> publicKeyPem(const std::string& key) {
  const auto loaded = loadKey(key);
  if (loaded) return loaded->publicKey().pem();
  if (loaded.error().code == Code::kInvalidArgument && Ed25519PrivateKey::load(key))
    return fail(
        Code::kInvalidArgument,
        key +
            ": an Ed25519 key, of a log or a witness; its public half is the .vkey file beside it, which "
            "kiln trust add-key --role log|witness --public takes");
  return fail(loaded.error());
}

Status makeRoot(const RootOptions& options, const std::string& out, const Clock& clock) {
  if (!options.development)
    return fail(Code::kInvalidArgument, "only development roots are made from one key; add --development");
  if (options.builderId.empty()) return fail(Code::kInvalidArgument, "--builder-id must not be empty");
  KILN_ASSIGN(const PrivateKey key, loadKey(options.key));
  TrustRoot root = developmentRoot(key.publicKey(), options.builderId, clock.now());
  KILN_TRY(delegate(options, root, clock.now()));
  KILN_ASSIGN(std::string text, toCanonicalJson(root.toJson()));
  return writeTextFile(out, text + "\n");
}

Status completeRoot(const RootOptions& options, const std::string& path, const Clock& clock) {
  KILN_ASSIGN(const std::string before, readTrustFile(path, 2 * kMaxRootBytes));
  KILN_ASSIGN(const RootFile file,
              RootFile::parse(before).map_error([&](const Error& error) { return error.in(path); }));
  TrustRoot root = file.root;
  if (!root.development || !file.envelope.signatures.empty()) return {};
  KILN_TRY(delegate(options, root, clock.now()));
  if (root.toJson() == file.root.toJson()) return {};
  ++root.version;
  KILN_ASSIGN(std::string text, toCanonicalJson(root.toJson()));
  return replaceFile(path, text + "\n");
}

Status makeWorkerCa(const std::string& directory, const Clock& clock) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return fail(errnoError(errno, directory));
  KILN_ASSIGN(Authority authority, Authority::create(clock.now()));
  const std::string key = directory + "/worker-ca.key";
  KILN_TRY(authority.key().save(key));
  return writePublicHalf(directory + "/worker-ca.pem", authority.certificate().pem(), key);
}

Status makeWorkerCertificate(const std::string& caDirectory, const std::string& name,
                             const std::string& operatorName, const std::string& prefix, const Clock& clock) {
  const std::string caFile = caDirectory + "/worker-ca.pem";
  KILN_ASSIGN(std::string pem, readTextFile(caFile, kMaxCertificateBytes));
  KILN_ASSIGN(Certificate certificate,
              Certificate::fromPem(pem).map_error([&](const Error& error) { return error.in(caFile); }));
  KILN_ASSIGN(PrivateKey caKey, PrivateKey::load(caDirectory + "/worker-ca.key"));
  KILN_ASSIGN(PrivateKey key, PrivateKey::create());
  Authority authority(std::move(caKey), std::move(certificate));
  KILN_ASSIGN(Certificate worker, authority.issue(name, operatorName, key.publicKey(), clock.now()));
  KILN_TRY(key.save(prefix + ".key"));
  return writePublicHalf(prefix + ".pem", worker.pem(), prefix + ".key");
}

}  // namespace kiln::signing

#include "api/cli/base/signer_options.h"

#include "manifest/base/printable.h"

namespace kiln::cli {
namespace {

Result<TimePoint> readTime(const std::string& text) {
  const auto time = parseRfc3339(text.size() == 10 ? text + "T00:00:00Z" : text);
  if (time) return *time;
  return fail(Code::kInvalidArgument,
              inQuotes(text) + " is no date (2026-11-20) and no time (2026-11-20T05:23:32Z)");
}

Result<signing::CertificateRule> certificateRule(const SignerOptions& options, TimePoint now) {
  signing::CertificateRule rule{{}, options.identities, now};
  for (const std::string& file : options.roots) {
    KILN_ASSIGN(const auto roots, signing::CertificateRoots::load(file));
    rule.roots.anchors.insert(rule.roots.anchors.end(), roots.anchors.begin(), roots.anchors.end());
    rule.roots.intermediates.insert(rule.roots.intermediates.end(), roots.intermediates.begin(),
                                    roots.intermediates.end());
  }
  for (const std::string& file : options.revocations) {
    KILN_ASSIGN(const auto lists, signing::loadRevocationLists(file));
    rule.roots.revocations.insert(rule.roots.revocations.end(), lists.begin(), lists.end());
  }
  if (options.time.empty()) return rule;
  KILN_ASSIGN(rule.at, readTime(options.time));
  return rule;
}

Result<signing::KeylessRule> keylessRule(const SignerOptions& options) {
  signing::KeylessRule rule{{}, options.identities, options.issuers};
  for (const std::string& file : options.trustedRoots) {
    KILN_ASSIGN(auto roots, signing::loadTrustedRoots(file));
    rule.roots.insert(rule.roots.end(), roots.begin(), roots.end());
  }
  return rule;
}

}  // namespace

void addSignerOptions(CLI::App& command, SignerOptions& options, const SignerWords& words) {
  options.words = words;
  const std::string certificate = words.certificate;
  const auto add = [&](const std::string& name, std::vector<std::string>& values, const char* help) {
    return command.add_option(name, values, help)->allow_extra_args(false);
  };
  add(words.key, options.keys,
      "A public key whose signature counts, PEM: P-256, P-384 or P-521 (repeatable)");
  const auto roots = add(certificate + "-root", options.roots,
                         "A private certificate authority whose certificates count, PEM; intermediate ones "
                         "may stand beside the root (repeatable)");
  add(certificate + "-crl", options.revocations,
      "Certificates that a private authority has taken back: its revocation list, PEM. With one, every "
      "authority of the chain must have one, valid at the same time (repeatable)")
      ->needs(roots);
  add(words.trustedRoot, options.trustedRoots,
      "A Sigstore whose keyless signatures count: its trusted_root.json, or what gh attestation "
      "trusted-root prints (repeatable)")
      ->excludes(roots);
  add(certificate + "-identity", options.identities,
      "Whom the certificate must name in its subject alternative names: a URI, an e-mail address, a DNS "
      "name or a user of Fulcio's (NAME!DOMAIN), in full (repeatable: any of them)");
  add(certificate + "-oidc-issuer", options.issuers,
      "With a trusted root: the OpenID issuer that must have said who that is, such as "
      "https://token.actions.githubusercontent.com (repeatable: any of them)");
  command
      .add_option(certificate + "-time", options.time,
                  "With a private authority: when its certificates must be valid, a date or time in UTC, "
                  "such as when you got the signature, if they have expired since (default: now)")
      ->needs(roots);
}

Status checkSigners(const SignerOptions& options) {
  const std::string certificate = options.words.certificate, trusted = options.words.trustedRoot;
  const bool isPrivate = !options.roots.empty(), isKeyless = !options.trustedRoots.empty();
  const auto wrong = [](const std::string& what) { return fail(Code::kInvalidArgument, what); };
  if (isPrivate && isKeyless)
    return wrong(certificate + "-root or " + trusted + ", and not both: a certificate is looked at by one");
  if (!options.revocations.empty() && !isPrivate)
    return wrong(certificate + "-crl goes with " + certificate + "-root");
  if (isPrivate && options.identities.empty())
    return wrong(certificate + "-root needs " + certificate + "-identity: whom a certificate must name");
  if (isKeyless && (options.identities.empty() || options.issuers.empty()))
    return wrong(trusted + " needs " + certificate + "-identity and " + certificate +
                 "-oidc-issuer: whom a certificate must name, and who said so");
  if (!options.issuers.empty() && !isKeyless) return wrong(certificate + "-oidc-issuer goes with " + trusted);
  if (!options.identities.empty() && !isPrivate && !isKeyless)
    return wrong(certificate + "-identity goes with " + certificate + "-root or " + trusted);
  return {};
}

Result<signing::AcceptedSigners> loadSigners(const SignerOptions& options, TimePoint now) {
  KILN_TRY(checkSigners(options));
  if (options.empty())
    return fail(Code::kInvalidArgument, std::string("name who may have signed: ") + options.words.key +
                                            " with a public key, " + options.words.certificate + "-root or " +
                                            options.words.trustedRoot);
  signing::AcceptedSigners out;
  for (const std::string& file : options.keys) {
    KILN_ASSIGN(signing::ModelKey key, signing::ModelKey::load(file));
    out.keys.push_back(std::move(key));
  }
  if (!options.roots.empty()) {
    KILN_ASSIGN(out.certificates, certificateRule(options, now));
  }
  if (!options.trustedRoots.empty()) {
    KILN_ASSIGN(out.keyless, keylessRule(options));
  }
  return out;
}

}  // namespace kiln::cli

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

}  // namespace

void addSignerOptions(CLI::App& command, SignerOptions& options, const SignerWords& words) {
  command
      .add_option(words.key, options.keys,
                  "A public key whose signature counts, PEM: P-256, P-384 or P-521 (repeatable)")
      ->allow_extra_args(false);
  const std::string certificate = words.certificate;
  const auto roots =
      command
          .add_option(certificate + "-root", options.roots,
                      "A certificate authority whose certificates count, PEM; intermediate ones may stand "
                      "beside the root (repeatable)")
          ->allow_extra_args(false);
  const auto identities =
      command
          .add_option(certificate + "-identity", options.identities,
                      "Whom the certificate must name in its subject alternative names: a URI, an e-mail "
                      "address or a DNS name, in full (repeatable: any of them)")
          ->needs(roots)
          ->allow_extra_args(false);
  roots->needs(identities);
  command
      .add_option(certificate + "-time", options.time,
                  "When the certificates must be valid, a date or time in UTC: when you got the signature, "
                  "if they have expired since (default: now)")
      ->needs(roots);
}

Status checkSigners(const SignerOptions& options) {
  if (!options.empty()) return {};
  return fail(Code::kInvalidArgument,
              "name who may have signed: --signed-by with a public key, or --certificate-root with "
              "--certificate-identity");
}

Result<signing::AcceptedSigners> loadSigners(const SignerOptions& options, TimePoint now) {
  KILN_TRY(checkSigners(options));
  signing::AcceptedSigners out;
  for (const std::string& file : options.keys) {
    KILN_ASSIGN(signing::ModelKey key, signing::ModelKey::load(file));
    out.keys.push_back(std::move(key));
  }
  if (options.roots.empty()) return out;
  signing::CertificateRule rule{{}, options.identities, now};
  for (const std::string& file : options.roots) {
    KILN_ASSIGN(const auto roots, signing::CertificateRoots::load(file));
    rule.roots.anchors.insert(rule.roots.anchors.end(), roots.anchors.begin(), roots.anchors.end());
    rule.roots.intermediates.insert(rule.roots.intermediates.end(), roots.intermediates.begin(),
                                    roots.intermediates.end());
  }
  if (!options.time.empty()) {
    KILN_ASSIGN(rule.at, readTime(options.time));
  }
  out.certificates = std::move(rule);
  return out;
}

}  // namespace kiln::cli

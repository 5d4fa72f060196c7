// kiln model: OpenSSF model signatures on folders and files, of inputs and of what was fetched.
#include <fmt/format.h>

#include <filesystem>

#include "api/cli/base/print.h"
#include "api/cli/base/signer_options.h"
#include "api/cli/trust/commands.h"
#include "manifest/artifact/oci.h"
#include "manifest/base/counted.h"
#include "manifest/base/printable.h"
#include "signing/keys/files.h"
#include "signing/model/model_signature.h"
#include "signing/model/signed_envelope.h"
#include "signing/token/key_location.h"
#include "signing/token/token_uri.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string model, signature, key, certificate;
  SignerOptions signers;
  std::vector<std::string> ignored;
  bool allowUnsigned = false;
  std::uint64_t shardBytes = 0;
};

// What a fetched artifact's folder gains later: statements, fixtures, recalls. `kiln verify` looks at them.
std::vector<std::string> growing(const std::string& model) {
  const auto text = signing::readTextFile(model + "/artifact.json", kMaxOciManifestBytes);
  if (!text || !parseOciManifest(*text)) return {};
  return {"bundles", "fixtures", "recalls.json"};
}

// A token holds keys on P-256 alone; a file may hold any that signs models.
Result<signing::ModelSigner> loadSigner(const Options& options) {
  constexpr std::size_t kMaxCertificateBytes = 1 << 20;
  auto signer = signing::TokenUri::is(options.key)
                    ? signing::loadKey(options.key).map([](signing::PrivateKey key) {
                        return signing::ModelSigner(std::move(key));
                      })
                    : signing::ModelSigner::load(options.key);
  if (!signer || options.certificate.empty()) return signer;
  KILN_ASSIGN(const std::string pem, signing::readTextFile(options.certificate, kMaxCertificateBytes));
  const auto certified = [&](std::vector<signing::X509Certificate> certificates) {
    return signer->with(std::move(certificates));
  };
  return signing::certificatesFromPem(pem).and_then(certified).map_error(
      [&](const Error& error) { return error.in(options.certificate); });
}

Status sign(const Context& context, const Options& options) {
  KILN_ASSIGN(const signing::ModelSigner signer, loadSigner(options));
  const std::string path =
      options.signature.empty() ? signing::modelSignaturePath(options.model) : options.signature;
  signing::ModelScope scope{path, options.ignored, false, options.shardBytes};
  for (const std::string& name : growing(options.model)) {
    scope.ignored.push_back(name);
    std::error_code error;
    if (!context.json && std::filesystem::exists(options.model + "/" + name, error))
      note(name + " is not covered: what an artifact's folder is given later lies there");
  }
  KILN_ASSIGN(const std::string text, signing::signModel(options.model, signer, scope));
  KILN_TRY(signing::writeTextFile(path, text));
  const std::string& id = signer.publicKey().id();
  const auto& certificates = signer.certificates();
  if (context.json) {
    Json out{{"signature", path}, {"key", id}};
    if (!certificates.empty()) out["identities"] = certificates[0].alternativeNames();
    printJson(out);
    return {};
  }
  note("signed with key " + id +
       (certificates.empty() ? "" : ", certified as " + inQuotes(certificates[0].subject())));
  printLine(path);
  return {};
}

Status verify(const Context& context, const Options& options) {
  const std::string path =
      options.signature.empty() ? signing::modelSignaturePath(options.model) : options.signature;
  KILN_ASSIGN(const signing::AcceptedSigners signers, loadSigners(options.signers, SystemClock().now()));
  KILN_ASSIGN(const std::string text, signing::readTextFile(path, signing::kMaxForeignBytes));
  const auto opened = signing::openModelSignature(text, signers);
  if (!opened) return fail(opened.error().in(path));
  KILN_TRY(
      signing::checkModel(options.model, opened->manifest, {path, options.ignored, options.allowUnsigned}));
  const std::size_t files = opened->manifest.resources.size();
  if (context.json) {
    Json out = opened->signer.toJson();
    out.update({{"verified", true}, {"model", opened->manifest.name}, {"files", files}});
    printJson(out);
    return {};
  }
  printLine(fmt::format("verified {}, {}, signed by {}", printable(opened->manifest.name),
                        counted(files, "file"), opened->signer.text()));
  return {};
}

void addScope(CLI::App& command, Options& options) {
  command.add_option("MODEL", options.model, "A folder, with all below it, or a file")->required();
  command
      .add_option("--ignore", options.ignored,
                  "A path in the folder that is no part of the model, with all below it (repeatable); what "
                  "git keeps at its top never is")
      ->allow_extra_args(false);
}

}  // namespace

void addModelSigning(CLI::App& app, Context& context) {
  CLI::App& group = *app.add_subcommand("model", "Sign a model's files, or check their signature (OpenSSF)");
  group.require_subcommand(1);
  group.footer("Example:\n  kiln model verify resnet --signed-by vendor.pem");
  const auto options = std::make_shared<Options>();
  auto& signing = addCommand(
      group, context, "sign", "Sign the files of a model, or of a fetched artifact, by OpenSSF Model Signing",
      "kiln model sign model --key release.key", [&context, options] { return sign(context, *options); });
  addScope(signing, *options);
  signing
      .add_option("--key", options->key,
                  "The private key: a PEM file (P-256, P-384 or P-521), or a PKCS#11 URI (P-256)")
      ->required();
  signing.add_option("--certificate", options->certificate,
                     "The key's certificate for signing code, PEM, and behind it those of intermediate "
                     "authorities: the signature names who signed, and not the key");
  signing
      .add_option("--shard-size", options->shardBytes,
                  "Sign each file in shards of so many bytes, whose digests others may compute at once "
                  "(default: whole files; the Python package model-signing takes 1000000000)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 53));
  signing.add_option(
      "--out", options->signature,
      "A new file for the signature (default: model.sig in the folder, FILE.sig beside a file)");
  auto& checking = addCommand(group, context, "verify",
                              "Check a model's files against an OpenSSF model signature; needs no farm",
                              "kiln model verify resnet --signed-by vendor.pem\n"
                              "  kiln model verify resnet --certificate-root vendor-ca.pem "
                              "--certificate-identity releases@vendor.example",
                              [&context, options] { return verify(context, *options); });
  addScope(checking, *options);
  addSignerOptions(checking, options->signers);
  checking.add_option("--signature", options->signature,
                      "The signature (default: model.sig in the folder, FILE.sig beside a file)");
  checking.add_flag("--allow-unsigned", options->allowUnsigned,
                    "Pass over files that were added and that nobody signed");
}

}  // namespace kiln::cli

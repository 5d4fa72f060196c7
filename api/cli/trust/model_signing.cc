// kiln model: OpenSSF model signatures on folders and files, of inputs and of what was fetched.
#include <fmt/format.h>

#include "api/cli/base/print.h"
#include "api/cli/trust/commands.h"
#include "manifest/artifact/oci.h"
#include "manifest/base/counted.h"
#include "manifest/base/printable.h"
#include "signing/keys/files.h"
#include "signing/model/model_signature.h"
#include "signing/model/signed_envelope.h"
#include "signing/token/key_location.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string model, signature, key;
  std::vector<std::string> keys, ignored;
  bool allowUnsigned = false;
};

// What a fetched artifact's folder gains later: statements, fixtures, recalls. `kiln verify` looks at them.
std::vector<std::string> growing(const std::string& model) {
  const auto text = signing::readTextFile(model + "/artifact.json", kMaxOciManifestBytes);
  if (!text || !parseOciManifest(*text)) return {};
  return {"bundles", "fixtures", "recalls.json"};
}

Status sign(const Context& context, const Options& options) {
  KILN_ASSIGN(const signing::PrivateKey key, signing::loadKey(options.key));
  const std::string path =
      options.signature.empty() ? signing::modelSignaturePath(options.model) : options.signature;
  signing::ModelScope scope{path, options.ignored};
  for (const std::string& name : growing(options.model)) scope.ignored.push_back(name);
  KILN_ASSIGN(const std::string text, signing::signModel(options.model, key, scope));
  KILN_TRY(signing::writeTextFile(path, text));
  if (context.json) {
    printJson({{"signature", path}, {"key", key.publicKey().id()}});
    return {};
  }
  note("signed with key " + key.publicKey().id());
  printLine(path);
  return {};
}

Status verify(const Context& context, const Options& options) {
  const std::string path =
      options.signature.empty() ? signing::modelSignaturePath(options.model) : options.signature;
  std::vector<signing::ModelKey> keys;
  for (const std::string& file : options.keys) {
    KILN_ASSIGN(signing::ModelKey key, signing::ModelKey::load(file));
    keys.push_back(std::move(key));
  }
  KILN_ASSIGN(const std::string text, signing::readTextFile(path, signing::kMaxForeignBytes));
  const auto opened = signing::openModelSignature(text, keys);
  if (!opened) return fail(opened.error().in(path));
  KILN_TRY(
      signing::checkModel(options.model, opened->manifest, {path, options.ignored, options.allowUnsigned}));
  const std::size_t files = opened->manifest.resources.size();
  if (context.json) {
    printJson(
        {{"verified", true}, {"model", opened->manifest.name}, {"files", files}, {"key", opened->keyId}});
    return {};
  }
  printLine(fmt::format("verified {}, {}, signed by key {}", printable(opened->manifest.name),
                        counted(files, "file"), opened->keyId));
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
  signing.add_option("--key", options->key, "The private key: a P-256 PEM file, or a PKCS#11 URI")
      ->required();
  signing.add_option(
      "--out", options->signature,
      "A new file for the signature (default: model.sig in the folder, FILE.sig beside a file)");
  auto& checking = addCommand(group, context, "verify",
                              "Check a model's files against an OpenSSF model signature; needs no farm",
                              "kiln model verify resnet --signed-by vendor.pem",
                              [&context, options] { return verify(context, *options); });
  addScope(checking, *options);
  checking
      .add_option("--signed-by", options->keys,
                  "A public key whose signature counts, PEM: P-256, P-384 or P-521 (repeatable)")
      ->required()
      ->allow_extra_args(false);
  checking.add_option("--signature", options->signature,
                      "The signature (default: model.sig in the folder, FILE.sig beside a file)");
  checking.add_flag("--allow-unsigned", options->allowUnsigned,
                    "Pass over files that were added and that nobody signed");
}

}  // namespace kiln::cli

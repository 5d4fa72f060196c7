#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "api/cli/base/artifact_option.h"
#include "api/cli/base/print.h"
#include "api/cli/base/signer_options.h"
#include "api/cli/base/trust_settings.h"
#include "api/cli/trust/commands.h"
#include "api/client/artifact_ref.h"
#include "api/client/shell_word.h"
#include "manifest/artifact/oci.h"
#include "manifest/base/printable.h"
#include "manifest/base/short_digest.h"
#include "manifest/statement/statement.h"
#include "manifest/statement/third_party.h"
#include "manifest/statement/vsa.h"
#include "signing/bundle/bundle.h"
#include "signing/keys/files.h"
#include "signing/model/input_statement.h"
#include "signing/token/key_location.h"
#include "signing/verify/summary.h"
#include "storage/oci/oci_export.h"

namespace kiln::cli {
namespace {

constexpr std::size_t kMaxPredicateBytes = 4u << 20;

struct Options {
  std::string directory, type, predicate, key, out, id, policyUri, input;
  SignerOptions signers;
  bool vsa = false;
};

// Where the artifact lies: what its digest is, and how a bundle is added.
struct Place {
  std::string directory;  // or "sha256:<hex>": on the farm
  Digest artifact;
  std::optional<storage::OciExport> layout;
};

Result<Place> find(const Context& context, const std::string& name) {
  Place place{name, {}, {}};
  if (shortDigestRange(name)) {
    KILN_ASSIGN(const auto client, context.connect());
    KILN_ASSIGN(const auto entry, client::indexEntry(*client, name));
    KILN_ASSIGN(place.artifact, Digest::parse("sha256:" + entry.manifest().hash(), 0));
    return place;
  }
  if (name.starts_with("sha256:")) {
    const auto digest = Digest::parse(name, 0);
    if (!digest) return fail(digest.error().in("ARTIFACT"));
    place.artifact = *digest;
    return place;
  }
  const std::string& directory = name;
  if (storage::OciLayoutStore::isLayout(directory)) {
    KILN_ASSIGN(const auto store, storage::OciLayoutStore::open(directory));
    KILN_ASSIGN(place.layout, storage::readExport(*store));
    place.artifact = place.layout->artifact;
    return place;
  }
  KILN_ASSIGN(const std::string text,
              signing::readTextFile(directory + "/artifact.json", kMaxOciManifestBytes));
  KILN_TRY(parseOciManifest(text));
  place.artifact = digestOf(text);
  return place;
}

// To the farm, which logs it.
Status send(const Context& context, const Digest& artifact, const std::string& bundle) {
  KILN_ASSIGN(const auto client, context.connect());
  KILN_TRY(client->addAttestation(artifact, bundle));
  return {};
}

Status add(const Context& context, const Place& place, const std::string& bundle, const std::string& out) {
  if (!out.empty()) return signing::writeTextFile(out, bundle);
  if (place.directory.starts_with("sha256:")) return send(context, place.artifact, bundle);
  if (place.layout) return storage::addBundle(place.directory, *place.layout, bundle);
  return signing::writeTextFile(place.directory + "/bundles/" + digestOf(bundle).hex() + ".sigstore.json",
                                bundle);
}

// RFC 3986, as far as it tells a URI from a word or a path: a scheme, and something after it.
bool isUri(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto isScheme = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '-' || c == '.';
  };
  return colon != text.npos && colon > 0 && colon + 1 < text.size() &&
         std::isalpha(static_cast<unsigned char>(text[0])) &&
         std::ranges::all_of(text.substr(0, colon), isScheme) && std::ranges::all_of(text, [](char c) {
           return c > ' ' && c < 0x7f && c != '<' && c != '>' && c != '"';
         });
}

Status checkUri(const char* option, const std::string& text, const char* example) {
  if (isUri(text)) return {};
  return fail(Code::kInvalidArgument,
              std::string(option) + " " + inQuotes(text) + " is no URI; give one such as " + example);
}

// Signed all the same: a root may list the key later.
void adviseOfKey(const Context& context, const std::string& keyId) {
  if (context.trustRoot.empty()) return;
  const auto root = signing::TrustRoot::load(context.trustRoot);
  if (!root || root->findKey(keyId)) return;
  note("kiln: the trust root " + context.trustRoot + " does not list key " + keyId +
       ": the statement counts once a root does; kiln trust add-key " + client::shellPath(context.trustRoot) +
       " --role signer --id AUTHOR --public KEY.pem --out NEXT makes one");
}

Result<std::string> thirdParty(const Options& options, const Digest& artifact) {
  if (options.type.empty() || options.predicate.empty())
    return fail(Code::kInvalidArgument, "give --type and --predicate, or --input-statement, or --vsa");
  KILN_TRY(checkUri("--type", options.type, "https://spdx.dev/Document/v2.3"));
  KILN_ASSIGN(const std::string text, signing::readTextFile(options.predicate, kMaxPredicateBytes));
  auto json = parseStrictJson(text);
  if (!json)
    return fail(Code::kInvalidArgument, options.predicate + ": " + json.error().message +
                                            "; write fractions as strings, which every verifier reads alike");
  if (!json->is_object())
    return fail(Code::kInvalidArgument, options.predicate + ": must hold a JSON object");
  const Statement statement{{{"artifact.json", artifact.hash}}, options.type, std::move(*json)};
  if (auto fits = checkThirdParty(statement); !fits) {
    Error error = fits.error().in(options.predicate);
    if (options.type == kVsaType) error.message += "; --vsa makes a summary of what it verifies";
    return fail(std::move(error));
  }
  return toCanonicalJson(statement.toJson());
}

// What somebody else has signed of the model that the artifact was made of, as verified here and now.
Result<std::string> aboutInputs(const Context& context, const Options& options) {
  KILN_ASSIGN(const signing::AcceptedSigners signers, loadSigners(options.signers, SystemClock().now()));
  KILN_ASSIGN(const std::string text, signing::readTextFile(options.input, signing::kMaxForeignBytes));
  KILN_ASSIGN(const auto opened, openArtifact(context, options.directory));
  auto predicate = signing::inputStatement(text, signers, opened.verdict.manifest.spec);
  if (!predicate) return fail(predicate.error().asEvidence(options.input));
  const Statement statement{
      {{"artifact.json", opened.verdict.artifact.hash}}, kInputStatementType, std::move(*predicate)};
  return toCanonicalJson(statement.toJson());
}

// Promotion: the artifact passed this policy, as verified here and now.
Result<std::string> summary(const Context& context, const Options& options) {
  if (options.id.empty()) return fail(Code::kInvalidArgument, "--vsa needs --id: whom the key speaks for");
  KILN_TRY(checkUri("--id", options.id, "urn:example:verifier"));
  if (!options.policyUri.empty())
    KILN_TRY(checkUri("--policy-uri", options.policyUri, "https://example.com/policy.json"));
  KILN_ASSIGN(const node::Trust trust, loadTrust(context));
  const SystemClock clock;
  KILN_ASSIGN(const auto opened, openArtifact(context, options.directory));
  KILN_ASSIGN(const VerificationSummary out,
              signing::summarise(opened.verdict, trust.root, trust.policy,
                                 {options.id, KILN_VERSION, options.policyUri}, clock.now()));
  return verificationStatement(out);
}

Status run(const Context& context, const Options& options) {
  KILN_TRY(checkSigners(options.signers));
  if (!options.input.empty() && options.signers.empty())
    return fail(Code::kInvalidArgument,
                "--input-statement goes with whom to believe: --signed-by, --certificate-root or "
                "--trusted-root");
  KILN_ASSIGN(const Place place, find(context, options.directory));
  KILN_ASSIGN(const signing::PrivateKey key, signing::loadKey(options.key));
  const bool ofInputs = !options.input.empty();
  KILN_ASSIGN(const std::string statement, options.vsa ? summary(context, options)
                                           : ofInputs  ? aboutInputs(context, options)
                                                       : thirdParty(options, place.artifact));
  // What no reader takes would make the artifact one that cannot be verified.
  if (const auto read = parseStatement(statement); !read)
    return fail(read.error().in("the statement to be signed"));
  KILN_ASSIGN(const auto envelope, signing::signEnvelope(signing::kInTotoPayload, statement, key));
  KILN_ASSIGN(const std::string bundle, signing::makeBundle(envelope, key.publicKey()));
  KILN_TRY(add(context, place, bundle, options.out));
  adviseOfKey(context, key.publicKey().id());
  if (context.json)
    printJson({{"artifact", place.artifact.text()},
               {"bundle", digestOf(bundle).text()},
               {"statement", digestOf(statement).text()},
               {"key", key.publicKey().id()}});
  else
    printLine(fmt::format("signed {} about {}",
                          options.vsa ? kVsaType
                          : ofInputs  ? kInputStatementType
                                      : printable(options.type),
                          place.artifact.text()));
  return {};
}

}  // namespace

void addAttest(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(
      app, context, "attest",
      "Add a signed statement about an artifact: SBOM, licences, an evaluation, a verdict",
      "kiln attest model --type https://spdx.dev/Document/v2.3 --predicate sbom.json --key legal.pem",
      [&context, options] { return run(context, *options); });
  addArtifactOption(command, "ARTIFACT", options->directory,
                    "sha256:<hex> on a farm, 12 digits or more, a fetched directory or an export")
      ->required();
  const auto vsa =
      command.add_flag("--vsa", options->vsa, "Verify it, and sign that it passed: a verification summary");
  const auto type = command.add_option("--type", options->type, "The predicate's type, a URI")->excludes(vsa);
  command.add_option("--predicate", options->predicate, "A JSON file with the predicate")
      ->excludes(vsa)
      ->needs(type);
  const auto input =
      command
          .add_option("--input-statement", options->input,
                      "What somebody has signed of the artifact's model: an OpenSSF model signature, or an "
                      "in-toto statement in a Sigstore bundle or DSSE envelope, such as of Tekton Chains; it "
                      "is verified, and so is the artifact, and kept in a statement about it")
          ->excludes(vsa)
          ->excludes(type);
  addSignerOptions(command, options->signers);
  for (const char* signer : {"--signed-by", "--certificate-root", "--trusted-root"})
    command.get_option(signer)->needs(input);
  command.add_option("--id", options->id, "With --vsa: the verifier's URI, as a trust root lists it")
      ->needs(vsa);
  command.add_option("--policy-uri", options->policyUri, "With --vsa: where the policy can be read")
      ->needs(vsa);
  command.add_option("--key", options->key, "The author's private key")->required();
  command.add_option("--out", options->out,
                     "Write the bundle there, instead of beside the artifact or to the farm");
  addFarmOptions(command, context);
  addTrustOptions(command, context);
  for (const char* verifying : {"--policy", "--recalls"}) command.get_option(verifying)->excludes(type);
}

}  // namespace kiln::cli

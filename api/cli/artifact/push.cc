#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "api/cli/artifact/commands.h"
#include "api/cli/base/artifact_option.h"
#include "api/cli/base/print.h"
#include "api/cli/base/trust_settings.h"
#include "api/client/export.h"
#include "api/client/image.h"
#include "api/registry/push.h"
#include "manifest/base/counted.h"
#include "manifest/base/scratch_directory.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string artifact, reference, config, token, ca;
  bool image = false, published = false, plainHttp = false;
};

// Where `docker login` and its like write, if they did.
std::string usualConfig() {
  const char* folder = std::getenv("DOCKER_CONFIG");
  const char* home = std::getenv("HOME");
  std::string path;
  if (folder && *folder)
    path = std::string(folder) + "/config.json";
  else if (home && *home)
    path = std::string(home) + "/.docker/config.json";
  std::error_code error;
  return !path.empty() && std::filesystem::exists(path, error) ? path : std::string();
}

Result<registry::Credentials> credentialsOf(const Options& options, const std::string& host) {
  if (!options.token.empty()) return registry::readTokenFile(options.token);
  const std::string path = options.config.empty() ? usualConfig() : options.config;
  if (path.empty()) return registry::Credentials{};
  return registry::readDockerConfig(path, host);
}

void add(registry::PushSummary& sum, const registry::PushSummary& more) {
  sum.manifests += more.manifests;
  sum.blobs += more.blobs;
  sum.sent += more.sent;
  sum.bytes += more.bytes;
}

Status push(const Context& context, const Options& options) {
  KILN_ASSIGN(const auto reference, registry::Reference::parse(options.reference));
  KILN_ASSIGN(auto credentials, credentialsOf(options, reference.host));
  KILN_ASSIGN(auto session,
              registry::Session::open(reference, {options.plainHttp, options.ca, std::move(credentials)}));
  KILN_ASSIGN(const auto opened, openArtifact(context, options.artifact));
  const std::string artifact = opened.verdict.artifact.text();
  KILN_ASSIGN(const auto scratch, ScratchDirectory::makeTemporary("kiln-push-"));
  const std::string exported = scratch.path() + "/artifact", made = scratch.path() + "/image";
  KILN_TRY(client::exportArtifact({opened, exported, nullptr, {}, false}));
  KILN_ASSIGN(const auto layout, storage::OciLayoutStore::open(exported));
  KILN_ASSIGN(auto done, registry::pushLayout(session, *layout, exported));
  std::string image;
  const storage::OciLayoutStore* tagged = layout.get();
  std::unique_ptr<storage::OciLayoutStore> imageLayout;
  if (options.image) {
    KILN_ASSIGN(const auto summary,
                client::exportImage(opened, made, client::imageContents(options.published)));
    image = summary.image.text();
    KILN_ASSIGN(imageLayout, storage::OciLayoutStore::open(made));
    KILN_ASSIGN(const auto more, registry::pushLayout(session, *imageLayout, made));
    add(done, more);
    tagged = imageLayout.get();
  }
  if (!reference.tag.empty()) KILN_TRY(registry::tagFirst(session, *tagged, reference.tag));
  if (context.json) {
    Json json = {{"artifact", artifact}, {"repository", reference.place()},
                 {"tag", reference.tag}, {"manifests", done.manifests},
                 {"blobs", done.blobs},  {"sent", done.sent},
                 {"bytes", done.bytes}};
    if (options.image) json["image"] = image;
    printJson(json);
    return {};
  }
  note(fmt::format("pushed {} with {}; {} of them, {}, were not there yet",
                   counted(done.manifests, "manifest"), counted(done.blobs, "blob"), done.sent,
                   humanBytes(done.bytes)));
  printLine(reference.place() + "@" + artifact);
  if (options.image) printLine(reference.place() + "@" + image);
  return {};
}

}  // namespace

void addPush(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(app, context, "push",
                             "Push a verified artifact with its bundles and fixtures to an OCI registry",
                             "kiln push sha256:<hex> registry.example.com/team/model:1.0 --image",
                             [&context, options] { return push(context, *options); });
  addArtifactOption(command, "ARTIFACT", options->artifact,
                    "sha256:<hex>, 12 digits or more, a fetched directory or an export")
      ->required();
  command
      .add_option("REF", options->reference,
                  "HOST[:PORT]/REPOSITORY[:TAG]; without a tag it is found by its digest alone")
      ->required();
  const auto image = command.add_flag(
      "--image", options->image,
      "Push the container image that Kubernetes and KServe mount, too; the tag then names it");
  command
      .add_flag(
          "--published", options->published,
          "Of images the one that the farm serves and has signed a statement of, which is pushed with it")
      ->needs(image);
  const auto config = command.add_option("--registry-config", options->config,
                                         "File with the registry's credentials, as docker login writes it "
                                         "[$DOCKER_CONFIG/config.json, ~/.docker/config.json]");
  command.add_option("--registry-token-file", options->token, "File with a bearer token for the registry")
      ->excludes(config);
  const auto ca = command.add_option("--registry-ca", options->ca,
                                     "PEM file with the registry's authorities [the system's]");
  command
      .add_flag("--plain-http", options->plainHttp,
                "Speak http, to another machine too; to this one it is the default without --registry-ca")
      ->excludes(ca);
  addFarmOptions(command, context);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli

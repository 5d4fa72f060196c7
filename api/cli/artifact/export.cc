#include "api/client/export.h"
#include "api/cli/base/artifact_option.h"

#include <fmt/format.h>

#include "api/cli/artifact/commands.h"
#include "api/cli/base/print.h"
#include "api/cli/base/trust_settings.h"
#include "api/client/exports/serving_layout.h"
#include "api/client/image.h"
#include "manifest/artifact/oci_image.h"
#include "manifest/base/counted.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string artifact, directory, image, model = "model";
  std::vector<std::string> layout;  // its name, and the directory to make
  bool inputs = false, nvidia = false, published = false;
};

Json summaryJson(const client::ExportSummary& summary, const std::string& directory) {
  Json omitted = Json::array();
  for (const auto& file : summary.omitted)
    omitted.push_back(
        {{"path", file.path}, {"digest", file.digest.text()}, {"size", std::to_string(file.digest.size)}});
  return {{"artifact", summary.artifact.text()}, {"directory", directory},   {"bundles", summary.bundles},
          {"fixtures", summary.fixtures},        {"inputs", summary.inputs}, {"bytes", summary.bytes},
          {"omitted", std::move(omitted)}};
}

Status writeImage(const Context& context, const Options& options) {
  KILN_ASSIGN(const auto opened, openArtifact(context, options.artifact));
  KILN_ASSIGN(const client::ImageSummary done,
              client::exportImage(opened, options.image, client::imageContents(options.published)));
  if (context.json) {
    printJson({{"artifact", opened.verdict.artifact.text()},
               {"image", done.image.text()},
               {"directory", options.image},
               {"bytes", done.bytes}});
    return {};
  }
  note(fmt::format("made an image of {}; its files lie below /{}", humanBytes(done.bytes), kImageFolder));
  printLine(done.image.text());
  return {};
}

Status writeServing(const Context& context, const Options& options) {
  const std::string &name = options.layout[0], &directory = options.layout[1];
  KILN_ASSIGN(const auto opened, openArtifact(context, options.artifact));
  const auto layout = name == "triton" ? client::ServingLayout::kTriton : client::ServingLayout::kKServe;
  KILN_ASSIGN(const auto done, client::exportLayout(opened, layout, options.model, directory));
  if (context.json) {
    printJson({{"artifact", opened.verdict.artifact.text()},
               {"layout", name},
               {"directory", directory},
               {"verify", done.artifact},
               {"bytes", done.bytes}});
    return {};
  }
  note(fmt::format("exported {}; kiln verify {} checks it in place", humanBytes(done.bytes), done.artifact));
  printLine(directory);
  return {};
}

Status writeLayout(const Context& context, const Options& options) {
  KILN_ASSIGN(const auto opened, openArtifact(context, options.artifact));
  std::unique_ptr<client::Client> client;
  client::ExportRequest request{opened, options.directory, nullptr, {}, options.nvidia};
  if (options.inputs) {
    KILN_ASSIGN(client, context.connect());
    request.store = &client->blobs();
    request.instance = client->instance();
  }
  auto done = client::exportArtifact(request);
  if (!done) return fail(client ? client->explain(std::move(done).error()) : std::move(done).error());
  if (context.json) {
    printJson(summaryJson(*done, options.directory));
    return {};
  }
  note(fmt::format("exported {} with {}, {} and {}", humanBytes(done->bytes),
                   counted(done->bundles, "bundle"), counted(done->fixtures, "fixture file"),
                   counted(done->inputs, "input")));
  for (const auto& file : done->omitted)
    note(
        fmt::format("by digest only: toolchain/{} {}; --with-nvidia adds it", file.path, file.digest.text()));
  printLine(options.directory);
  return {};
}

}  // namespace

void addExport(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(app, context, "export",
                             "Write a verified artifact with its bundles and fixtures as an OCI image layout",
                             "kiln export sha256:<hex> --oci model.oci --with-inputs", [&context, options] {
                               if (!options->layout.empty()) return writeServing(context, *options);
                               return options->image.empty() ? writeLayout(context, *options)
                                                             : writeImage(context, *options);
                             });
  addArtifactOption(command, "ARTIFACT", options->artifact,
                    "sha256:<hex>, 12 digits or more, a fetched directory or an export")
      ->required();
  auto& form = *command.add_option_group("form")->require_option(1);
  const auto oci =
      form.add_option("--oci", options->directory,
                      "Directory to make: artifact, bundles and fixtures as an OCI image layout");
  const auto image = form.add_option(
      "--image", options->image,
      "Directory to make: an OCI image layout with a container image whose folder /models holds what "
      "kiln fetch leaves, for volumes of Kubernetes and models of KServe");
  const auto layout =
      form.add_option(
              "--layout", options->layout,
              "triton or kserve, and a directory to make: a model repository of Triton Inference Server, "
              "or what KServe mounts for MLServer; `kiln verify` takes the folder artifact in it")
          ->expected(2)
          ->type_name("LAYOUT DIR")
          ->check(CLI::Validator(
                      [](std::string& given) {
                        return given == "triton" || given == "kserve" ? std::string()
                                                                      : "give triton or kserve, not " + given;
                      },
                      "", "layout")
                      .application_index(0));
  command
      .add_flag(
          "--published", options->published,
          "With --image: the very image that the farm serves, beside the statement of it that it signed")
      ->needs(image);
  command.add_option("--model-name", options->model, "With --layout: what requests call the model")
      ->capture_default_str()
      ->needs(layout);
  const auto inputs =
      command
          .add_flag("--with-inputs", options->inputs,
                    "Add what a rebuild needs: model, data, toolchain and actions, from the farm")
          ->needs(oci);
  command
      .add_flag("--with-nvidia", options->nvidia,
                "With --with-inputs: NVIDIA's parts of the toolchain too, not only their digests")
      ->needs(inputs);
  addFarmOptions(command, context);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli

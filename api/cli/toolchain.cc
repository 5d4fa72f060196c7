#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "api/cli/commands.h"
#include "api/cli/job_view.h"
#include "api/cli/print.h"
#include "storage/tree/upload_tree.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string name, directory, label;
  bool makeDefault = false;
};

Json toolchainJson(const v1::Toolchain& toolchain) {
  Json out{{"label", toolchain.label()},
           {"digest", "sha256:" + toolchain.tree().hash()},
           {"default", toolchain.is_default()},
           {"added", timeText(toolchain.added())}};
  if (auto description = parseJson(toolchain.description_json()))
    out["description"] = std::move(*description);
  return out;
}

std::string text(const Json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto at = object.find(name);
  if (at == object.end()) return "";
  return at->is_string() ? at->get<std::string>() : at->dump();
}

Status list(const Context& context) {
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const auto toolchains, client->toolchains());
  if (context.json) {
    Json all = Json::array();
    for (const auto& toolchain : toolchains) all.push_back(toolchainJson(toolchain));
    printJson({{"toolchains", std::move(all)}});
    return {};
  }
  std::vector<std::vector<std::string>> rows{{"LABEL", "DIGEST", "ADDED", ""}};
  for (const auto& toolchain : toolchains) {
    rows.push_back({toolchain.label(), "sha256:" + toolchain.tree().hash(), timeText(toolchain.added()),
                    toolchain.is_default() ? "default" : ""});
  }
  printTable(rows);
  return {};
}

Status show(const Context& context, const Options& options) {
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const auto toolchain, client->toolchain(options.name));
  const auto json = toolchainJson(toolchain);
  if (context.json) {
    printJson(json);
    return {};
  }
  Json description = json.value("description", Json::object());
  if (!description.is_object()) description = Json::object();
  printLine(fmt::format("{} {}{}", text(description, "name"), text(description, "version"),
                        toolchain.is_default() ? "  (default)" : ""));
  printLine("label    " + toolchain.label());
  printLine("tree     sha256:" + toolchain.tree().hash());
  printLine("added    " + timeText(toolchain.added()));
  for (const auto& target : description.value("targets", Json::array())) {
    if (target.is_string()) printLine("target   " + target.get<std::string>());
  }
  std::vector<std::vector<std::string>> rows{{"COMPONENT", "VERSION", "PATH", "DIGEST", "SIZE"}};
  for (const auto& part : description.value("components", Json::array())) {
    rows.push_back({text(part, "name"), text(part, "version"), text(part, "path"), text(part, "digest"),
                    text(part, "size")});
  }
  if (rows.size() > 1) printTable(rows);
  return {};
}

// The label that the tree's own toolchain.json gives.
Result<std::string> labelOf(const std::string& directory) {
  const auto path = std::filesystem::path(directory) / "toolchain.json";
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) {
    return fail(Code::kInvalidArgument, path.string() + ": " + error.message() +
                                            "; a toolchain tree is what infra/toolchain/build makes");
  }
  if (size > (1 << 20)) return fail(Code::kInvalidArgument, path.string() + ": larger than 1 MiB");
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  auto description = parseStrictJson(bytes);
  if (!description) return fail(description.error().in(path.string()));
  auto label = text(*description, "label");
  if (label.empty())
    return fail(Code::kInvalidArgument, path.string() + ": has no label; give one with --label");
  return label;
}

Status add(const Context& context, const Options& options) {
  std::string label = options.label;
  if (label.empty()) {
    KILN_ASSIGN(label, labelOf(options.directory));
  }
  KILN_ASSIGN(const auto client, context.connect());
  storage::UploadProgress sent;
  const auto tree = storage::uploadTree(client->blobs(), client->instance(), options.directory,
                                        [&](const storage::UploadProgress& now) { sent = now; });
  if (!tree) return fail(client->explain(tree.error()));
  if (!context.json) note(fmt::format("sent {} in {} blobs", humanBytes(sent.doneBytes), sent.doneBlobs));
  KILN_ASSIGN(const auto toolchain, client->addToolchain(label, *tree, options.makeDefault));
  if (context.json) {
    printJson(toolchainJson(toolchain));
  } else {
    printLine(fmt::format("toolchain {} {}", toolchain.label(), tree->text()));
  }
  return {};
}

}  // namespace

void addToolchain(CLI::App& app, Context& context) {
  CLI::App& group = *app.add_subcommand("toolchain", "Toolchains: the compilers that the farm runs");
  group.require_subcommand(1);
  group.footer("Example:\n  kiln toolchain list");
  const auto options = std::make_shared<Options>();

  auto& listing = addCommand(group, context, "list", "List toolchains", "kiln toolchain list",
                             [&context] { return list(context); });
  addFarmOptions(listing, context);

  auto& showing = addCommand(group, context, "show", "Show a toolchain's components with their digests",
                             "kiln toolchain show kiln-0.1.0+llvm22.1.8",
                             [&context, options] { return show(context, *options); });
  showing.add_option("TOOLCHAIN", options->name, "A label or sha256:<hex>")->required();
  addFarmOptions(showing, context);

  auto& adding =
      addCommand(group, context, "add", "Upload a toolchain tree and give it a label, once and for all",
                 "kiln toolchain add build/release/toolchain-tree --default",
                 [&context, options] { return add(context, *options); });
  adding.add_option("DIR", options->directory, "The tree, with toolchain.json at its root")->required();
  adding.add_option("--label", options->label, "The label (default: the one in toolchain.json)");
  adding.add_flag("--default", options->makeDefault, "Make it what jobs get that name none");
  addFarmOptions(adding, context);
}

}  // namespace kiln::cli

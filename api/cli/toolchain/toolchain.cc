#include <fmt/format.h>

#include <filesystem>

#include "api/cli/base/print.h"
#include "api/cli/base/transfer_meter.h"
#include "api/cli/toolchain/commands.h"
#include "api/cli/toolchain/toolchain_sources.h"
#include "api/cli/view/job_view.h"
#include "api/client/toolchain_lock.h"
#include "manifest/base/counted.h"
#include "manifest/base/file.h"
#include "manifest/base/printable.h"
#include "storage/tree/upload_tree.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string name, directory, label, lock, inputs;
  bool makeDefault = false;
};

Json toolchainJson(const v1::Toolchain& toolchain) {
  Json out{{"label", toolchain.label()},
           {"digest", "sha256:" + toolchain.toolchain_digest().hash()},
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

// What the farm says that it did, and why.
std::string changeText(const std::string& change) {
  if (change == "added") return "added: the farm has signed its admission";
  if (change == "lock added") return "lock added: the farm has signed an admission that names it";
  if (change == "admitted again")
    return "admitted again: the trust root lets the earlier admission count no more, or it names no "
           "instance, and the farm has signed a new one";
  return change == "unchanged" ? "unchanged: it was admitted before" : change;
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
    rows.push_back({toolchain.label(), "sha256:" + toolchain.toolchain_digest().hash(),
                    timeText(toolchain.added()), toolchain.is_default() ? "default" : ""});
  }
  printTable(rows);
  return {};
}

Status show(const Context& context, const Options& options) {
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const auto toolchain, client->toolchain(options.name));
  KILN_ASSIGN(const auto sources, findSources(context, *client, toolchain));
  auto json = toolchainJson(toolchain);
  if (context.json) {
    addSources(json, toolchain, sources);
    printJson(json);
    return {};
  }
  Json description = json.value("description", Json::object());
  if (!description.is_object()) description = Json::object();
  printLine(fmt::format("{} {}{}", text(description, "name"), text(description, "version"),
                        toolchain.is_default() ? "  (default)" : ""));
  printLine("label    " + toolchain.label());
  printLine("tree     sha256:" + toolchain.toolchain_digest().hash());
  printLine("added    " + timeText(toolchain.added()));
  printSources(toolchain, sources);
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
  constexpr std::size_t kMaxDescriptionBytes = 1 << 20;
  const auto bytes = readRegular(path.string(), kMaxDescriptionBytes);
  if (!bytes) {
    std::error_code error;
    const bool lacks =
        bytes.error().code == Code::kNotFound && std::filesystem::is_directory(directory, error);
    return fail(lacks ? Code::kInvalidArgument : bytes.error().code,
                bytes.error().message + "; a toolchain tree is what infra/toolchain/build makes");
  }
  auto description = parseStrictJson(*bytes);
  if (!description) return fail(description.error().in(path.string()));
  auto label = text(*description, "label");
  if (label.empty())
    return fail(Code::kInvalidArgument, path.string() + ": has no label; give one with --label");
  return label;
}

// The lock and, where a folder of them is named, what it names; the lock comes last. Nothing if none is
// given.
Result<std::vector<storage::UploadItem>> readLock(const Options& options) {
  std::vector<storage::UploadItem> items;
  if (options.lock.empty()) return items;
  std::string text;
  ToolchainLock lock;
  KILN_ASSIGN(const Digest digest, client::readLockFile(options.lock, text, lock));
  if (!options.inputs.empty()) {
    KILN_ASSIGN(items, client::findInputs(lock, options.inputs));
  }
  items.push_back({digest, "", std::move(text)});
  return items;
}

// The lock's digest, once all of it is in the store.
Result<std::optional<Digest>> uploadLock(const Context& context, client::Client& client,
                                         const std::vector<storage::UploadItem>& items) {
  if (items.empty()) return std::optional<Digest>();
  KILN_ASSIGN(const auto sent, client.upload(items));
  if (!context.json)
    note(fmt::format("sent {} of lock and inputs in {}", humanBytes(sent.doneBytes),
                     counted(sent.doneBlobs, "blob")));
  return std::optional(items.back().digest);
}

Status add(const Context& context, const Options& options) {
  std::string label = options.label;
  if (label.empty()) {
    KILN_ASSIGN(label, labelOf(options.directory));
  }
  KILN_ASSIGN(const auto lockItems, readLock(options));  // a mistake in it is told before the farm is asked
  KILN_ASSIGN(const auto client, context.connect());
  const auto before = client->toolchains();
  const bool begins = !before && before.error().code == Code::kNotFound;
  if (!before && !begins) return fail(before.error());
  storage::UploadProgress sent;
  KILN_ASSIGN(const auto lock, uploadLock(context, *client, lockItems));
  TransferMeter meter(context.terminal && !context.json, "sending");
  std::vector<storage::UploadItem> items;
  KILN_ASSIGN(const Digest tree, storage::scanTree(options.directory, items));
  // Not one blob after the other: what had arrived before a wait is not sent again.
  KILN_TRY(client->upload(items, [&](const storage::UploadProgress& now) {
    meter.at(now.doneBytes, now.totalBytes);
    sent = now;
  }));
  if (!context.json)
    note(fmt::format("sent {} in {}", humanBytes(sent.doneBytes), counted(sent.doneBlobs, "blob")));
  KILN_ASSIGN(const auto toolchain, client->addToolchain(label, tree, lock, options.makeDefault));
  if (context.json) {
    KILN_ASSIGN(const auto sources, findSources(context, *client, toolchain));
    Json json = toolchainJson(toolchain);
    addSources(json, toolchain, sources);
    if (!toolchain.change().empty()) json["change"] = toolchain.change();
    printJson(json);
  } else {
    if (!toolchain.change().empty()) printLine(changeText(toolchain.change()));
    printLine(fmt::format("toolchain {} {}", toolchain.label(), tree.text()));
    if (begins) note("instance " + inQuotes(client->instance()) + " begins with it");
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

  auto& showing = addCommand(
      group, context, "show", "Show a toolchain's components, its lock, and whether it can be built again",
      "kiln toolchain show kiln-0.1.0+llvm22.1.8", [&context, options] { return show(context, *options); });
  showing.add_option("TOOLCHAIN", options->name, "A label or sha256:<hex>")->required();
  addFarmOptions(showing, context);
  addTrustRootOption(showing, context);

  const auto saving = std::make_shared<SaveLockOptions>();
  auto& locking = addCommand(group, context, "lock",
                             "Write what a toolchain was made from, for infra/toolchain/build --lock",
                             "kiln toolchain lock kiln-0.1.0+llvm22.1.8 --inputs IN --out tree.lock.json",
                             [&context, saving] { return saveLock(context, *saving); });
  locking.add_option("TOOLCHAIN", saving->name, "A label or sha256:<hex>")->required();
  locking.add_option("--inputs", saving->inputs,
                     "Write the inputs, too: a folder of blobs named by their SHA-256");
  locking.add_option("--out", saving->out, "A new file for the lock (default: stdout)");
  addFarmOptions(locking, context);

  auto& adding =
      addCommand(group, context, "add",
                 "Upload a toolchain tree and give it a label, once and for all; an instance begins with its "
                 "first one",
                 "kiln toolchain add build/release/toolchain-tree --default",
                 [&context, options] { return add(context, *options); });
  adding.add_option("DIR", options->directory, "The tree, with toolchain.json at its root")->required();
  adding.add_option("--label", options->label, "The label (default: the one in toolchain.json)");
  const auto lock =
      adding.add_option("--lock", options->lock, "What the tree was made from: OUT.lock.json of its build");
  adding
      .add_option("--inputs", options->inputs, "Keep what the lock names: a folder of blobs by their SHA-256")
      ->needs(lock);
  adding.add_flag("--default", options->makeDefault, "Make it what jobs get that name none");
  addFarmOptions(adding, context, kRidesOut);  // what is set up first, while a coordinator still starts
}

}  // namespace kiln::cli

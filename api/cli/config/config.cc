#include <fmt/format.h>

#include <cstdlib>

#include "api/cli/base/farm_contexts.h"
#include "api/cli/base/file_lock.h"
#include "api/cli/base/print.h"
#include "api/cli/base/settings.h"
#include "api/cli/config/commands.h"
#include "api/cli/config/config_add.h"

namespace kiln::cli {
namespace {

// Reads the file, has `change` change it, and puts it back; what `change` fails with leaves it as it was.
template <class Change>
Status changed(Change change) {
  KILN_ASSIGN(const std::string path, contextsFile());
  KILN_ASSIGN(FarmContexts known, loadContexts(path));
  if (known.farms.empty()) return change(known);  // there may be no folder to lock
  KILN_ASSIGN(const UniqueFd lock, lockForUpdate(path));
  KILN_ASSIGN(known, loadContexts(path));
  KILN_TRY(change(known));
  return saveContexts(path, known);
}

void told(const Context& context, const std::string& name, const char* what) {
  if (context.json) return printJson({{"context", name}, {"done", what}});
  printLine("context " + name + " " + what);
}

Status use(const Context& context, const std::string& name) {
  KILN_TRY(changed([&](FarmContexts& known) -> Status {
    KILN_TRY(findContext(known, name));
    known.current = name;
    return {};
  }));
  told(context, name, "in use");
  return {};
}

Status removeContext(const Context& context, const std::string& name) {
  KILN_TRY(changed([&](FarmContexts& known) -> Status {
    KILN_TRY(findContext(known, name));
    known.farms.erase(name);
    if (known.current == name) known.current.clear();
    return {};
  }));
  told(context, name, "removed");
  return {};
}

std::string valueOf(const FarmContext& farm, const char* member) {
  const auto at = farm.settings.find(member);
  return at == farm.settings.end() ? std::string() : at->second;
}

// A shell in which a context in use does not count says why.
void noteEnvironment() {
  for (const char* name : {"KILN_ENDPOINT", "KILN_HTTP", "KILN_FARM"}) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == 0) continue;
    return note(fmt::format(
        "kiln: {} names a farm in this shell, so that a context counts by --context alone", name));
  }
}

Status list(const Context& context) {
  KILN_ASSIGN(const std::string path, contextsFile());
  KILN_ASSIGN(const FarmContexts known, loadContexts(path));
  if (context.json) {
    Json all = Json::array();
    for (const auto& [name, farm] : known.farms)
      all.push_back({{"name", name}, {"inUse", name == known.current}, {"settings", toJson(farm)}});
    printJson({{"file", path}, {"contexts", std::move(all)}});
    return {};
  }
  noteEnvironment();
  if (known.farms.empty()) note("no farm has a name yet; kiln config add NAME gives it one");
  std::vector<std::vector<std::string>> rows{{"CONTEXT", "IN USE", "ENDPOINT", "TRUST ROOT"}};
  for (const auto& [name, farm] : known.farms)
    rows.push_back(
        {name, name == known.current ? "yes" : "", valueOf(farm, "endpoint"), valueOf(farm, "trustRoot")});
  printTable(rows);
  return {};
}

Status show(const Context& context, const std::string& given) {
  KILN_ASSIGN(const std::string path, contextsFile());
  KILN_ASSIGN(const FarmContexts known, loadContexts(path));
  const std::string name = given.empty() ? known.current : given;
  if (name.empty())
    return fail(Code::kNotFound, "no context is in use; name one, or run kiln config use NAME");
  KILN_ASSIGN(const FarmContext farm, findContext(known, name));
  if (context.json) {
    printJson({{"name", name}, {"inUse", name == known.current}, {"settings", toJson(farm)}});
    return {};
  }
  std::vector<std::vector<std::string>> rows{{"name", name}};
  for (const Setting& setting : settings())
    if (const std::string value = valueOf(farm, setting.member); !value.empty())
      rows.push_back({setting.member, value});
  for (const std::string& url : farm.mirrors) rows.push_back({"mirror", url});
  printTable(rows);
  return {};
}

CLI::App& addNamed(CLI::App& parent, Context& context, const char* name, const char* what,
                   Status (*run)(const Context&, const std::string&)) {
  const auto wanted = std::make_shared<std::string>();
  auto& command = addCommand(parent, context, name, what, fmt::format("kiln config {} lab", name),
                             [&context, wanted, run] { return run(context, *wanted); });
  command.add_option("NAME", *wanted, "A name that kiln config add gave");
  return command;
}

}  // namespace

void addConfig(CLI::App& app, Context& context) {
  auto& group = *app.add_subcommand(
      "config", "Farms that have names: what a command needs of one without a variable of the shell");
  group.require_subcommand(1);
  group.footer(
      "An option comes before a variable, a variable before the context in use. --context NAME comes before\n"
      "variables too. A context is one farm as a whole: where --endpoint or a variable names another farm,\n"
      "nothing of the one in use counts. kiln doctor says where each setting came from.\n\n"
      "They are kept in $XDG_CONFIG_HOME/kiln/config.json (~/.config), with the paths of secrets and never\n"
      "with a secret.");
  addConfigAdd(group, context);
  addNamed(group, context, "use", "Make it the farm of every command that names none", use)
      .get_option("NAME")
      ->required();
  addCommand(group, context, "list", "List the farms that have names", "kiln config list",
             [&context] { return list(context); });
  addNamed(group, context, "show", "Show one, or the one in use", show);
  addNamed(group, context, "remove", "Forget one; the files that it names stay", removeContext)
      .get_option("NAME")
      ->required();
}

}  // namespace kiln::cli

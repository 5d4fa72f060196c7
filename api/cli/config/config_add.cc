#include "api/cli/config/config_add.h"

#include <filesystem>
#include <iterator>
#include <sstream>

#include "api/cli/base/duration_option.h"
#include "api/cli/base/farm_contexts.h"
#include "api/cli/base/file_lock.h"
#include "api/cli/base/print.h"
#include "api/cli/base/settings.h"
#include "manifest/base/durable_file.h"
#include "manifest/base/printable.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string name;
  Context given;  // its settings alone
  bool fromEnvironment = false, replace = false, use = false;
};

// As the command line and, where asked for, the environment say it. Paths count from here.
Result<FarmContext> described(const Options& options) {
  Context given = options.given;
  if (options.fromEnvironment) {
    KILN_TRY(given.readSettings(false));
  }
  FarmContext farm;
  for (const Setting& setting : settings()) {
    std::string value = setting.value(given);
    if (value.empty()) continue;
    if (setting.isPath) value = fs::absolute(value).lexically_normal().string();
    const Status fits = checkSetting(setting.member, value);
    if (!fits) return fail(fits.error().in(setting.option));
    farm.settings[setting.member] = std::move(value);
  }
  farm.mirrors = given.mirrors;
  if (farm.settings.empty())
    return fail(
        Code::kInvalidArgument,
        "say something of the farm, such as --endpoint, or --from-environment for what this shell says");
  return farm;
}

// What would fail at the first command fails here: an endpoint of no form, credentials that are missing or
// cannot be read, a wait that is none.
Status checkUsable(const FarmContext& farm) {
  Context context;
  for (const Setting& setting : settings())
    if (const auto at = farm.settings.find(setting.member); at != farm.settings.end())
      setting.value(context) = at->second;
  if (!context.wait.empty()) KILN_TRY(parseWait(context.wait));
  if (!context.http.empty() && !context.http.starts_with("http://") && !context.http.starts_with("https://"))
    return fail(Code::kInvalidArgument, "--http " + inQuotes(context.http) + ": must be http:// or https://");
  if (context.endpoint.empty()) return {};
  const auto client = context.connect();
  return client ? Status() : fail(client.error());
}

void warnOfFaults(const FarmContext& farm) {
  for (const Setting& setting : settings())
    if (const auto at = farm.settings.find(setting.member); at != farm.settings.end())
      if (const SettingFault fault = faultOf(setting, at->second); !fault.what.empty())
        note("kiln: warning: " + fault.what + "; " + fault.next);
}

// The folders above the file, for this user alone where they are missing.
Status makeFolders(const std::string& path) {
  fs::path folder;
  for (const fs::path& part : fs::path(path).parent_path()) {
    folder /= part;
    if (folder != "/") KILN_TRY(makeDurableDirectory(folder.string(), 0700));
  }
  return {};
}

Status run(const Context& context, const Options& options) {
  KILN_TRY(checkContextName(options.name));
  KILN_ASSIGN(const FarmContext farm, described(options));
  KILN_TRY(checkUsable(farm));
  KILN_ASSIGN(const std::string path, contextsFile());
  KILN_TRY(makeFolders(path));
  KILN_ASSIGN(const UniqueFd lock, lockForUpdate(path));
  KILN_ASSIGN(FarmContexts known, loadContexts(path));
  if (known.farms.contains(options.name) && !options.replace)
    return fail(Code::kAlreadyExists,
                "there is a context " + inQuotes(options.name) + " already; --replace takes its place");
  known.farms[options.name] = farm;
  if (options.use) known.current = options.name;
  KILN_TRY(saveContexts(path, known));
  warnOfFaults(farm);
  if (context.json) {
    printJson({{"context", options.name}, {"file", path}, {"inUse", known.current == options.name}});
    return {};
  }
  printLine("context " + options.name);
  if (known.current != options.name)
    note("kiln config use " + options.name + " makes it the farm of every command that names none");
  return {};
}

}  // namespace

void addConfigAdd(CLI::App& parent, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command =
      addCommand(parent, context, "add", "Give a farm a name",
                 "kiln config add lab --endpoint farm.example.org:7443 --tls-ca ca.pem --token-file "
                 "token --trust-root root.json --use",
                 [&context, options] { return run(context, *options); });
  command.add_option("NAME", options->name, "Lower case letters, digits and -._")->required();
  for (const Setting& setting : settings())
    command.add_option(setting.option, setting.value(options->given),
                       std::string(setting.what) + " (" + setting.variable + ")");
  command.add_option("--mirror", options->given.mirrors, "URL of a mirror; may be repeated (KILN_MIRRORS)")
      ->allow_extra_args(false);
  command.add_flag("--from-environment", options->fromEnvironment,
                   "Take what no option says from the variables of this shell");
  command.add_flag("--use", options->use, "And make it the farm of every command that names none");
  command.add_flag("--replace", options->replace, "Take the place of a context of this name");
}

}  // namespace kiln::cli

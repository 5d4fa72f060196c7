#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "api/cli/base/print.h"
#include "api/cli/build/build_options.h"
#include "api/cli/build/commands.h"
#include "api/cli/build/project_file.h"
#include "compiler_core/frontend/format/format.h"
#include "manifest/base/durable_file.h"
#include "manifest/base/mapped_file.h"
#include "manifest/base/presence.h"
#include "manifest/base/printable.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntries = 10'000;

struct Options {
  std::vector<std::string> models, targets;
};

bool isModel(const fs::path& path) {
  if (path.extension() == ".onnx") return true;
  const auto file = MappedFile::open(path.string());
  return file && frontend::formatOf((*file)->bytes()) != frontend::Format::kOther;
}

// The models right here, in the order of their names.
Result<std::vector<std::string>> modelsHere() {
  std::vector<std::string> found;
  std::error_code error;
  std::size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(".", error)) {
    if (++entries > kMaxEntries)
      return fail(Code::kInvalidArgument, "this folder has more than 10000 entries; name the models");
    if (entry.is_regular_file(error) && isModel(entry.path()))
      found.push_back(entry.path().filename().string());
  }
  if (error) return fail(errnoError(error.value(), "."));
  std::ranges::sort(found);
  if (found.empty())
    return fail(Code::kNotFound, "there is no model in this folder; name one: kiln init PATH");
  return found;
}

// A basic string of TOML: what JSON escapes, TOML does too.
std::string tomlText(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string nameOf(const std::string& model, const std::vector<std::string>& taken) {
  std::string name = fs::path(model).stem().string();
  for (char& c : name)
    if (!isProjectName(std::string("a") + c)) c = '-';
  while (!name.empty() && !isProjectName(name.substr(0, 1))) name.erase(0, 1);
  name = name.empty() ? "model" : name.substr(0, 60);
  const auto isTaken = [&](const std::string& one) { return std::ranges::find(taken, one) != taken.end(); };
  std::string free = name;
  for (int n = 2; isTaken(free); ++n) free = name + "-" + std::to_string(n);
  return free;
}

std::string documentOf(const std::vector<std::string>& models, const std::vector<std::string>& targets) {
  std::string text =
      "# What kiln build builds in this folder; kiln.lock says what came of it.\n"
      "# Beside these: profiles, pins, sequences, data, params, toolchain, precision, reassociation, tune,\n"
      "# budget, builders, check, check-plan, check-emulated, as the options of kiln build.\n";
  std::string list;
  for (const std::string& target : targets) list += (list.empty() ? "" : ", ") + tomlText(target);
  std::vector<std::string> names;
  for (const std::string& model : models) {
    names.push_back(nameOf(model, names));
    text += fmt::format("\n[[model]]\nname = {}\npath = {}\ntargets = [{}]\n", tomlText(names.back()),
                        tomlText(model), list);
  }
  return text;
}

Status run(const Context& context, Options options) {
  if (checkPresent(kProjectFile))
    return fail(Code::kAlreadyExists, "there is a kiln.toml in this folder already; it is left as it is");
  if (options.models.empty()) {
    KILN_ASSIGN(options.models, modelsHere());
  }
  const std::string text = documentOf(options.models, options.targets);
  // What it would be refused for later it is refused for now.
  KILN_ASSIGN(const auto models, parseProject(text, "."));
  for (const ProjectModel& model : models) {
    for (const std::string& target : model.options.targets) KILN_TRY(checkTarget(target));
    if (model.options.model.find("://") == std::string::npos) KILN_TRY(checkPresent(model.options.model));
  }
  KILN_TRY(writeNewFile(kProjectFile, text, 0644));
  if (context.json) {
    Json names = Json::array();
    for (const ProjectModel& model : models) names.push_back(model.name);
    printJson({{"file", kProjectFile}, {"models", std::move(names)}});
    return {};
  }
  printLine(kProjectFile);
  note("kiln build in this folder builds it; commit kiln.toml and the kiln.lock that it writes");
  return {};
}

}  // namespace

void addInit(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  options->targets = {"cpu:x86-64-v3"};
  auto& command =
      addCommand(app, context, "init", "Write kiln.toml, by which kiln build builds a folder",
                 "kiln init --target cpu:x86-64-v3", [&context, options] { return run(context, *options); });
  command.add_option("MODEL", options->models, "Models, below this folder (default: those right here)");
  command
      .add_option("--target", options->targets, "What to build each for (repeatable; default: cpu:x86-64-v3)")
      ->allow_extra_args(false);
}

}  // namespace kiln::cli

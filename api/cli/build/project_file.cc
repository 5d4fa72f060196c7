#include "api/cli/build/project_file.h"

// Errors as values: no exception leaves a parser of outside text.
#define TOML_EXCEPTIONS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "manifest/base/file.h"
#include "manifest/base/nearest.h"
#include "manifest/base/printable.h"
#include "manifest/spec/path.h"
#include "storage/source/git_reference.h"
#include "storage/source/git_url.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = 64 << 10, kMaxModels = 100, kMaxList = 64, kMaxText = 4096,
                      kMaxNameBytes = 64;
// Each dot may be a table within a table, and a table of tables takes the stack when it goes.
constexpr std::ptrdiff_t kMaxDots = 4096;
constexpr char kSignersTable[] = "models";

Error at(const toml::node& node, const std::string& what) {
  return {Code::kInvalidArgument, fmt::format("{}:{}: {}", kProjectFile, node.source().begin.line, what), {}};
}

Result<std::string> textOf(const toml::node& node, const char* member) {
  const auto text = node.value_exact<std::string>();
  if (!text) return fail(at(node, std::string(member) + " must be a text"));
  if (text->empty() || text->size() > kMaxText || printable(*text, std::string_view::npos) != *text)
    return fail(at(node, std::string(member) + " must be 1 to 4096 printable bytes"));
  return *text;
}

Result<std::vector<std::string>> listOf(const toml::node& node, const char* member) {
  const toml::array* list = node.as_array();
  if (list == nullptr || list->empty() || list->size() > kMaxList)
    return fail(at(node, std::string(member) + " must be a list of 1 to 64 texts"));
  std::vector<std::string> out;
  for (const toml::node& each : *list) {
    KILN_ASSIGN(std::string text, textOf(each, member));
    out.push_back(std::move(text));
  }
  return out;
}

// A file or folder of the project, wherever links lead; whether it is there is for its reader to say.
Result<std::string> fileOf(const toml::node& node, const std::string& text, const std::string& folder) {
  if (const Status plain = checkRelativePath(text); !plain)
    return fail(at(node, inQuotes(text) + " must be a path below the folder of kiln.toml"));
  std::error_code error;
  const fs::path home = fs::weakly_canonical(folder, error);
  const fs::path real = error ? fs::path() : fs::weakly_canonical(home / text, error);
  const auto [end, unused] = std::mismatch(home.begin(), home.end(), real.begin(), real.end());
  if (error || end != home.end())
    return fail(at(node, inQuotes(text) + " leads out of the folder of kiln.toml"));
  return folder == "." ? text : (fs::path(folder) / text).string();
}

// A file below the folder, or one of a commit that lies elsewhere. `what` begins the message of an error.
Result<std::string> sourceOf(const toml::node& node, const std::string& text, const std::string& folder,
                             const std::string& what) {
  if (!source::isGitReference(text)) return fileOf(node, text, folder);
  const auto reference = source::parseGitReference(source::escapeLocalUrl(text));
  const auto url = reference ? source::parseGitUrl(reference->url) : fail(reference.error());
  if (!url) return fail(at(node, what + ": " + url.error().message));
  if (url->scheme == "file")
    return fail(at(node, what + ": a repository of this machine is outside the folder of kiln.toml"));
  return text;
}

using Take = Status (*)(const toml::node&, const std::string& folder, BuildOptions&);

template <std::vector<std::string> BuildOptions::* list>
Status takeList(const toml::node& node, const std::string&, BuildOptions& options) {
  KILN_ASSIGN(options.*list, listOf(node, "it"));
  return {};
}
template <std::string BuildOptions::* text>
Status takeText(const toml::node& node, const std::string&, BuildOptions& options) {
  KILN_ASSIGN(options.*text, textOf(node, "it"));
  return {};
}
template <bool BuildOptions::* flag>
Status takeFlag(const toml::node& node, const std::string&, BuildOptions& options) {
  const auto value = node.value_exact<bool>();
  if (!value) return fail(at(node, "it must be true or false"));
  options.*flag = *value;
  return {};
}
Status takeData(const toml::node& node, const std::string& folder, BuildOptions& options) {
  KILN_ASSIGN(options.data, listOf(node, "it"));
  for (std::string& file : options.data) {
    KILN_ASSIGN(file, fileOf(node, file, folder));
  }
  return {};
}
Status takeModel(const toml::node& node, const std::string& folder, BuildOptions& options) {
  KILN_ASSIGN(const std::string text, textOf(node, "path"));
  KILN_ASSIGN(options.model, sourceOf(node, text, folder, "path"));
  return {};
}
Status takeParameters(const toml::node& node, const std::string& folder, BuildOptions& options) {
  KILN_ASSIGN(options.parameters, listOf(node, "it"));
  for (std::string& file : options.parameters) {
    KILN_ASSIGN(file, sourceOf(node, file, folder, "params"));
  }
  return {};
}
Status takeSignature(const toml::node& node, const std::string& folder, BuildOptions& options) {
  KILN_ASSIGN(const std::string text, textOf(node, "it"));
  KILN_ASSIGN(options.modelSignature, fileOf(node, text, folder));
  return {};
}
Status takeCheckPlan(const toml::node& node, const std::string& folder, BuildOptions& options) {
  KILN_ASSIGN(const std::string text, textOf(node, "it"));
  KILN_ASSIGN(options.checkPlan, fileOf(node, text, folder));
  return {};
}
Status takeBuilders(const toml::node& node, const std::string&, BuildOptions& options) {
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < 1 || *value > 16) return fail(at(node, "it must be 1 to 16"));
  options.delivery.builders = static_cast<int>(*value);
  return {};
}

struct Member {
  const char* name;
  Take take;
};
constexpr Member kMembers[] = {{"path", takeModel},
                               {"targets", takeList<&BuildOptions::targets>},
                               {"profiles", takeList<&BuildOptions::profiles>},
                               {"pins", takeList<&BuildOptions::pins>},
                               {"sequences", takeList<&BuildOptions::sequences>},
                               {"data", takeData},
                               {"params", takeParameters},
                               {"signature", takeSignature},
                               {"toolchain", takeText<&BuildOptions::toolchain>},
                               {"tune", takeText<&BuildOptions::tune>},
                               {"budget", takeText<&BuildOptions::budget>},
                               {"precision", takeText<&BuildOptions::precision>},
                               {"reassociation", takeText<&BuildOptions::reassociation>},
                               {"builders", takeBuilders},
                               {"check", takeFlag<&BuildOptions::check>},
                               {"check-plan", takeCheckPlan},
                               {"check-emulated", takeFlag<&BuildOptions::checkEmulated>}};

struct SignerMember {
  const char* name;
  std::vector<std::string> SignerOptions::* list;
  bool isFile;
};
constexpr SignerMember kSigners[] = {{"signed-by", &SignerOptions::keys, true},
                                     {"certificate-roots", &SignerOptions::roots, true},
                                     {"certificate-crls", &SignerOptions::revocations, true},
                                     {"certificate-identities", &SignerOptions::identities, false},
                                     {"trusted-roots", &SignerOptions::trustedRoots, true},
                                     {"certificate-oidc-issuers", &SignerOptions::issuers, false}};

// What [models] says; nobody where there is no such table.
Result<SignerOptions> readSigners(const toml::table& document, const std::string& folder) {
  SignerOptions out;
  out.words = {"signed-by", "certificate", "trusted-root"};
  const toml::node* node = document.get(kSignersTable);
  if (node == nullptr) return out;
  if (!node->is_table()) return fail(at(*node, "models must be a table; each model stands under [[model]]"));
  std::vector<std::string> known;
  for (const SignerMember& member : kSigners) known.emplace_back(member.name);
  for (const auto& [key, value] : *node->as_table()) {
    const auto member = std::ranges::find(kSigners, key.str(), &SignerMember::name);
    if (member == std::end(kSigners))
      return fail(
          at(value, inQuotes(key.str()) + " is not known" + orNearest(std::string(key.str()), known)));
    KILN_ASSIGN(std::vector<std::string> texts, listOf(value, member->name));
    for (std::string& text : texts)
      if (member->isFile) {
        KILN_ASSIGN(text, fileOf(value, text, folder));
      }
    out.*(member->list) = std::move(texts);
  }
  if (const Status good = checkSigners(out); !good) return fail(at(*node, "models: " + good.error().message));
  if (out.empty()) return fail(at(*node, "models names nobody who may have signed them"));
  return out;
}

// What is asked of all models, on one of them.
Status addSigners(const toml::node& node, const SignerOptions& signers, BuildOptions& options) {
  if (signers.empty() && !options.modelSignature.empty())
    return fail(at(node, "signature goes with a table [models] that says who may have made it"));
  if (!signers.empty() && source::isGitReference(options.model))
    return fail(at(node,
                   "[models] wants models signed, and a signature in a commit is not looked at; check the "
                   "commit out below this folder"));
  options.modelSigners = signers;
  return {};
}

Result<ProjectModel> readModel(const toml::table& table, const std::string& folder) {
  ProjectModel model;
  std::vector<std::string> known{"name"};
  for (const Member& member : kMembers) known.emplace_back(member.name);
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (name == "name") {
      KILN_ASSIGN(model.name, textOf(node, "name"));
      if (!isProjectName(model.name))
        return fail(
            at(node, inQuotes(model.name) + " can name no model: letters, digits and -._ do, at most 64"));
      continue;
    }
    const auto member = std::ranges::find(kMembers, name, &Member::name);
    if (member == std::end(kMembers))
      return fail(Code::kInvalidArgument,
                  fmt::format("{}:{}: {} is not known{}", kProjectFile, key.source().begin.line,
                              inQuotes(name), orNearest(name, known)));
    KILN_TRY(member->take(node, folder, model.options).map_error([&](Error error) {
      // "kiln.toml:3: it must be ..." says of which.
      if (const auto it = error.message.find(": it "); it != std::string::npos)
        error.message.replace(it + 2, 2, name);
      return error;
    }));
  }
  for (const char* needed : {"name", "path", "targets"})
    if (!table.contains(needed)) return fail(at(table, std::string("this model has no ") + needed));
  return model;
}

}  // namespace

bool isProjectName(const std::string& name) {
  const auto isFit = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_'; };
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::isalnum(static_cast<unsigned char>(name[0])) != 0 && std::ranges::all_of(name, isFit);
}

Result<std::vector<ProjectModel>> parseProject(const std::string& text, const std::string& folder) {
  if (std::ranges::count(text, '.') > kMaxDots)
    return fail(Code::kInvalidArgument, std::string(kProjectFile) + ": has more than 4096 dots");
  const toml::parse_result parsed = toml::parse(text);
  if (parsed.failed())
    return fail(Code::kInvalidArgument,
                fmt::format("{}:{}: {}", kProjectFile, parsed.error().source().begin.line,
                            printable(parsed.error().description())));
  const toml::table& document = parsed.table();
  for (const auto& [key, node] : document)
    if (key.str() != "model" && key.str() != kSignersTable)
      return fail(at(node, inQuotes(key.str()) + " is not known; models stand under [[model]]"));
  const toml::node* list = document.get("model");
  if (list == nullptr || !list->is_array_of_tables())
    return fail(Code::kInvalidArgument,
                std::string(kProjectFile) + ": names no model; each stands under a [[model]] of its own");
  const toml::array& models = *list->as_array();
  if (models.size() > kMaxModels) return fail(at(models, "more than 100 models"));
  KILN_ASSIGN(const SignerOptions signers, readSigners(document, folder));
  std::vector<ProjectModel> out;
  std::set<std::string> names;
  for (const toml::node& each : models) {
    KILN_ASSIGN(ProjectModel model, readModel(*each.as_table(), folder));
    KILN_TRY(addSigners(each, signers, model.options));
    if (!names.insert(model.name).second)
      return fail(at(each, "there are two models " + inQuotes(model.name)));
    out.push_back(std::move(model));
  }
  return out;
}

Result<std::vector<ProjectModel>> readProject(const std::string& folder) {
  const std::string path = (fs::path(folder) / kProjectFile).string();
  const auto text = readRegular(path, kMaxFileBytes);
  if (!text && text.error().code == Code::kNotFound)
    return fail(Code::kInvalidArgument, "there is no kiln.toml in " + inQuotes(folder) +
                                            ": name a MODEL with --target, or let kiln init write one");
  if (!text) return fail(text.error());
  return parseProject(*text, folder);
}

}  // namespace kiln::cli

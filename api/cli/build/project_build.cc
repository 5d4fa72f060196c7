#include "api/cli/build/project_build.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <set>

#include "api/cli/base/exit_code.h"
#include "api/cli/base/file_lock.h"
#include "api/cli/base/print.h"
#include "api/cli/build/project_file.h"
#include "api/cli/build/project_lock.h"
#include "api/cli/view/job_view.h"

namespace kiln::cli {
namespace {

Error differs(const std::string& what) {
  return withExit(kExitNotReproducible, Code::kFailedPrecondition,
                  what + "; kiln build without --locked brings kiln.lock up to date");
}

Status checkNames(const std::vector<ProjectModel>& models, const ProjectLock& lock) {
  std::set<std::string> names;
  for (const ProjectModel& model : models) {
    names.insert(model.name);
    if (!lock.contains(model.name)) return fail(differs("model " + model.name + " is not in kiln.lock"));
  }
  for (const auto& [name, model] : lock)
    if (!names.contains(name)) return fail(differs("model " + name + " of kiln.lock is not in kiln.toml"));
  return {};
}

// Why it came out otherwise than before, as far as what went in says.
void tellChanges(const std::string& name, const LockedModel& before, const LockedModel& now) {
  std::vector<std::string> why = changedInputs(before, now);
  if (auto toolchain = changedToolchain(before.toolchain, now.toolchain); !toolchain.empty())
    why.push_back(std::move(toolchain));
  for (const std::string& artifact : changedArtifacts(before, now)) note(name + " " + artifact);
  if (!why.empty()) note(fmt::format("{} changed: {}", name, fmt::join(why, ", ")));
}

Result<LockedModel> buildOne(const Context& context, const ProjectModel& model, const LockedModel* before,
                             bool locked) {
  BuildOptions options = model.options;
  if (locked && options.toolchain.empty()) options.toolchain = before->toolchain;
  const auto check = [&](const v1::SubmitJobRequest& request, const std::string& toolchain) -> Status {
    if (!locked) return {};
    auto changed = changedInputs(*before, lockedInputs(request));
    if (auto other = changedToolchain(before->toolchain, toolchain); !other.empty())
      changed.push_back(std::move(other));
    if (changed.empty()) return {};
    return fail(differs(fmt::format("differs from kiln.lock in {}", fmt::join(changed, ", "))));
  };
  KILN_ASSIGN(const BuiltJob built, buildModel(context, options, check));
  LockedModel now = lockedJob(built.request, built.job);
  if (const auto other = changedToolchain(locked ? before->toolchain : now.toolchain, now.toolchain);
      !other.empty())
    return fail(differs("was built otherwise than kiln.lock says: " + other));
  if (const auto changed = changedArtifacts(locked ? *before : now, now); !changed.empty())
    return fail(
        differs(fmt::format("came out otherwise than kiln.lock says for {}", fmt::join(changed, ", "))));
  if (before != nullptr) tellChanges(model.name, *before, now);
  return now;
}

void printModel(const std::string& name, const LockedModel& model) {
  for (const auto& [target, digest] : model.artifacts) {
    note(name + " " + target);
    printLine("artifact " + digest);
  }
}

}  // namespace

Status buildProject(const Context& context, const ProjectOptions& options) {
  const std::string path = (std::filesystem::path(options.folder) / kProjectLock).string();
  KILN_ASSIGN(const std::vector<ProjectModel> models, readProject(options.folder));
  KILN_ASSIGN(const UniqueFd only, lockForUpdate(path));
  KILN_ASSIGN(const ProjectLock before, readLockFile(path));
  if (options.locked) KILN_TRY(checkNames(models, before));
  ProjectLock now;  // without models that are no longer in the project
  for (const ProjectModel& model : models)
    if (const auto at = before.find(model.name); at != before.end()) now.insert(*at);
  Json all = Json::array();
  for (const ProjectModel& model : models) {
    const auto was = before.find(model.name);
    auto built = buildOne(context, model, was == before.end() ? nullptr : &was->second, options.locked);
    if (!built) return fail(std::move(built).error().in("model " + model.name));
    now[model.name] = std::move(*built);
    if (!options.locked) KILN_TRY(writeLockFile(path, now));
    if (!context.json) printModel(model.name, now[model.name]);
    all.push_back({{"name", model.name},
                   {"artifacts", Json(now[model.name].artifacts)},
                   {"toolchain", now[model.name].toolchain}});
  }
  if (context.json) printJson({{"models", std::move(all)}});
  return {};
}

}  // namespace kiln::cli

#include "worker/executor/workspace.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "storage/tree/materialise.h"
#include "worker/executor/foreign_root.h"
#include "worker/executor/input_root.h"

namespace kiln::executor {
namespace {

// A directory in the finished input root for the output to be mounted on.
Status addMountPoint(const std::string& root, const std::string& name) {
  if (chmod(root.c_str(), 0755) != 0) return fail(errnoError(errno, "slot directory"));
  if (access((root + "/" + name).c_str(), F_OK) == 0)
    return fail(Code::kInvalidArgument, "input tree: " + name + " is the output directory");
  KILN_TRY(makeDirectory(root + "/" + name, 0555));
  if (chmod(root.c_str(), 0555) != 0) return fail(errnoError(errno, "slot directory"));
  return setOldTime(root);
}

// The input root read-only, its large directory from the cache, and the output directory mounted on it.
Status fillForCompiler(const Place& place, const ActionPlan& plan, const std::string& root,
                       Workspace& workspace) {
  const std::string output = plan.outputs.front().inRoot;
  KILN_ASSIGN(const auto cached,
              writeInputRoot(place.store, place.instance, plan.inputRoot, plan.cached, root));
  KILN_TRY(addMountPoint(root, output));
  workspace.binds.push_back({root, kWork, false});
  if (cached) {
    KILN_ASSIGN(const auto tree, place.trees.get(place.store, place.instance, *cached));
    workspace.binds.push_back({tree->path, std::string(kWork) + "/" + plan.cached, false});
    workspace.held.push_back(tree);
  }
  workspace.outputs = PreparedSlot::outputOf(place.directory);
  workspace.binds.push_back({workspace.outputs, std::string(kWork) + "/" + output, true});
  return {};
}

// The input root as a private copy that belongs to the action, and the root tree's entries at /.
Status fillForForeign(const Place& place, const ActionPlan& plan, const std::string& root,
                      Workspace& workspace) {
  if (auto written = storage::materialiseTree(place.store, place.instance, plan.inputRoot, root); !written)
    return fail(written.error().in("input tree"));
  KILN_ASSIGN(workspace.before, makeOwn(root, plan, place.uid));
  if (plan.root) {
    const auto tree = place.trees.get(place.store, place.instance, *plan.root);
    if (!tree) return fail(tree.error().in("root tree"));
    KILN_TRY(addRootEntries((*tree)->path, workspace.binds, workspace.links));
    workspace.held.push_back(*tree);
  }
  workspace.outputs = root;
  workspace.binds.push_back({root, kWork, true});
  return {};
}

}  // namespace

Result<Workspace> Workspace::make(const Place& place, const ActionPlan& plan) {
  KILN_ASSIGN(auto slot, PreparedSlot::make(place.directory, place.uid));
  Workspace workspace{std::move(slot), {}, {}, {}, {}, {}};
  const std::string root = place.directory + "/root";
  KILN_TRY(plan.profile == Profile::kForeign ? fillForForeign(place, plan, root, workspace)
                                             : fillForCompiler(place, plan, root, workspace));
  return workspace;
}

}  // namespace kiln::executor

// Workspace: the files of one action where its plan wants them, fresh before and gone after.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "storage/blob/blob_store.h"
#include "worker/executor/action_plan.h"
#include "worker/executor/prepared_slot.h"
#include "worker/executor/tree_cache.h"
#include "worker/sandbox/sandbox.h"

namespace kiln::executor {

// Where an action is prepared. The references must outlive the call.
struct Place {
  storage::BlobStore& store;
  const std::string& instance;
  TreeCache& trees;
  std::string directory;  // of the slot; made anew
  uid_t uid = 0;          // of the action on the host
};

struct Workspace {
  PreparedSlot slot;
  std::vector<sandbox::Bind> binds;
  std::vector<sandbox::Link> links;
  std::string outputs;  // the host's directory below which the action may write
  sandbox::Use before;  // of it
  std::vector<std::shared_ptr<const TreeCache::Tree>> held;  // bound, so kept

  // kInvalidArgument names what of the input tree or the root tree is not served; other errors as of
  // storage::materialiseTree.
  static Result<Workspace> make(const Place& place, const ActionPlan& plan);
};

}  // namespace kiln::executor

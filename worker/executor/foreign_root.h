// What a foreign action has in front of it: an input root of its own, and the entries of a root tree at /.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "worker/executor/action_plan.h"
#include "worker/sandbox/sandbox.h"

namespace kiln::executor {

// Makes the working directory and those above the outputs below `root`, an input tree on disk, and gives
// everything there to `uid`, times as they were. Says what is there then. kInvalidArgument if something else
// stands where a directory should be: a link is not followed.
Result<sandbox::Use> makeOwn(const std::string& root, const ActionPlan& plan, uid_t uid);

// Adds what makes the entries of `tree`, a tree on disk, stand at /: read-only binds, and its links as links.
// Where the sandbox has directories of its own (dev, proc, tmp, work) the tree may have empty ones.
// kInvalidArgument names an entry that cannot stand there; at most 24 can.
Status addRootEntries(const std::string& tree, std::vector<sandbox::Bind>& binds,
                      std::vector<sandbox::Link>& links);

}  // namespace kiln::executor

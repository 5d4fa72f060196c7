// The state of a CommitTree, shared by the files that make one.
#pragma once

#include <string>

#include "storage/source/git_library.h"
#include "storage/source/git_repository.h"

namespace kiln::source {

struct CommitTree::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  GitLibrary library;              // outlives the handles
  std::string temporaryDirectory;  // removed at the end; empty for a local repository
  RepositoryHandle repository;
  CommitHandle commit;
};

// The error for a commit that was not given in full; `kind` with its article ("a tag"). `resolved` is the
// commit it stands for, empty if that is not known.
Error notAFullCommit(const std::string& given, const std::string& kind, const std::string& resolved);

}  // namespace kiln::source

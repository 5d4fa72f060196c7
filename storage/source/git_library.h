// libgit2: its life time, its owned handles and its errors.
#pragma once

#include <git2.h>

#include <memory>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::source {

// Keeps libgit2 initialised while one lives; counted by the library itself.
class GitLibrary {
 public:
  GitLibrary() { git_libgit2_init(); }
  ~GitLibrary() { git_libgit2_shutdown(); }
  GitLibrary(const GitLibrary&) = delete;
  GitLibrary& operator=(const GitLibrary&) = delete;
};

template <auto Free>
struct GitFree {
  template <class T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
template <class T, auto Free>
using GitHandle = std::unique_ptr<T, GitFree<Free>>;
using RepositoryHandle = GitHandle<git_repository, git_repository_free>;
using RemoteHandle = GitHandle<git_remote, git_remote_free>;
using CommitHandle = GitHandle<git_commit, git_commit_free>;
using ObjectHandle = GitHandle<git_object, git_object_free>;
using TreeHandle = GitHandle<git_tree, git_tree_free>;
using TreeEntryHandle = GitHandle<git_tree_entry, git_tree_entry_free>;
using BlobHandle = GitHandle<git_blob, git_blob_free>;
using OdbHandle = GitHandle<git_odb, git_odb_free>;

// The error of the call that just returned `code` (< 0): kNotFound, kUnauthenticated, kPermissionDenied for a
// bad certificate or host key and a file that may not be read, kUnavailable for the network, kDataLoss for
// what is malformed or is not its hash, kUnimplemented for a kind of repository that libgit2 does not know,
// kResourceExhausted where memory ran out, else kInternal.
Error gitError(int code, std::string_view what);

}  // namespace kiln::source

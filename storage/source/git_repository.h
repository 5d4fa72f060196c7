// CommitTree: the files of one commit, read without a checkout.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manifest/base/result.h"
#include "storage/source/git_files.h"

struct git_commit;
struct git_repository;

namespace kiln::source {

// Not thread safe.
class CommitTree {
 public:
  // Called when the configuration has been read and before any object is: here a process can give up what it
  // does not need for them.
  using BeforeObjects = std::function<Status(const RepositoryFiles& files)>;
  // A repository on this machine, for git+file://. `directory` is a working tree's root or a bare repository.
  // It may be hostile: give it to a process of its own, since libgit2 reads its packs and may not end.
  // kInvalidArgument if `commit` is not a full commit id; the message names the commit that a branch, tag or
  // abbreviation stands for. kNotFound if there is no such repository or commit; kPermissionDenied if it
  // belongs to another user; checkRepositoryFiles()'s errors.
  static Result<CommitTree> openLocal(const std::string& directory, const std::string& commit,
                                      const BeforeObjects& beforeObjects = {});

  CommitTree(CommitTree&&) noexcept;
  CommitTree& operator=(CommitTree&&) noexcept;
  ~CommitTree();

  // The bytes of a regular file, which may be a Git LFS pointer (storage/lfs). kNotFound names what is
  // missing; kInvalidArgument for a symlink, a submodule or a directory on the way or at the end; kOutOfRange
  // if it has more than `limit` bytes; kDataLoss for what is malformed or is not its hash; kResourceExhausted
  // without memory.
  Result<std::string> read(const std::string& path, std::uint64_t limit) const;

  // The names in a folder, sorted.
  struct Listing {
    std::vector<std::string> files, folders;
  };
  // What lies directly in the folder at `path`, kWholeCommit for the top; nothing if `path` names a regular
  // file. kInvalidArgument names a symlink or a submodule on the way or in it; kResourceExhausted beyond
  // `most` entries; kNotFound and kDataLoss as read(), the latter also for names that no file can have.
  Result<std::optional<Listing>> list(const std::string& path, std::size_t most) const;

  // 40 hex digits.
  const std::string& commit() const { return commit_; }

 private:
  friend class GitFetcher;
  struct State;
  explicit CommitTree(std::unique_ptr<State> state);
  // Finds the commit in a repository that is open.
  Status select(const std::string& commit);

  std::unique_ptr<State> state_;
  std::string commit_;
};

}  // namespace kiln::source

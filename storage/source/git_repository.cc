#include "storage/source/git_repository.h"

#include <fmt/core.h>
#include <git2/sys/repository.h>

#include <algorithm>
#include <filesystem>

#include "manifest/base/printable.h"
#include "storage/source/fetched_model.h"
#include "storage/source/git_loose.h"
#include "storage/source/git_reference.h"
#include "storage/source/git_state.h"

namespace kiln::source {
namespace {

std::string hexOf(const git_oid* id) {
  char text[GIT_OID_HEXSZ + 1];
  return git_oid_tostr(text, sizeof text, id);
}

// What a branch, tag or abbreviation stands for in a repository that is here.
Error explainName(git_repository* repository, const std::string& name) {
  git_reference* found = nullptr;
  std::string kind = "a name";
  if (git_reference_dwim(&found, repository, name.c_str()) == 0) {
    kind = git_reference_is_tag(found) ? "a tag" : "a branch";
    git_reference_free(found);
  }
  git_object* raw = nullptr;
  if (git_revparse_single(&raw, repository, name.c_str()) != 0) return notAFullCommit(name, kind, "");
  ObjectHandle object(raw);
  git_object* peeled = nullptr;
  if (git_object_peel(&peeled, object.get(), GIT_OBJECT_COMMIT) != 0) return notAFullCommit(name, kind, "");
  ObjectHandle commit(peeled);
  bool isHex = std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isxdigit(c); });
  if (kind == "a name" && isHex) kind = "an abbreviated commit";
  return notAFullCommit(name, kind, hexOf(git_object_id(commit.get())));
}

// Commits, tags and trees are parsed in memory; those of real repositories are smaller by far.
constexpr std::size_t kMaxParsed = 64 << 20;
constexpr int kLoosePriority = 2, kPackPriority = 1;

// What the header of an object tells before anything of it is inflated.
Status checkSize(git_repository* repository, const git_oid& id, const std::string& what,
                 std::uint64_t limit) {
  git_odb* raw = nullptr;
  if (int code = git_repository_odb(&raw, repository); code < 0) return fail(gitError(code, what));
  OdbHandle odb(raw);
  std::size_t size = 0;
  git_object_t type{};
  if (int code = git_odb_read_header(&size, &type, odb.get(), &id); code < 0)
    return fail(gitError(code, what));
  if (size <= limit) return {};
  return fail(Code::kOutOfRange, fmt::format("'{}' has {} bytes; at most {} are fetched", what, size, limit));
}

// The repository's objects without those of others, and the loose ones by a reader of our own.
Status readObjectsFrom(const std::string& objects, git_repository* repository) {
  git_odb* raw = nullptr;
  if (int code = git_odb_new(&raw); code < 0) return fail(gitError(code, objects));
  OdbHandle odb(raw);
  if (int code = git_odb_add_backend(odb.get(), makeLooseBackend(objects), kLoosePriority); code < 0)
    return fail(gitError(code, objects));
  git_odb_backend* packs = nullptr;
  if (int code = git_odb_backend_pack(&packs, objects.c_str()); code < 0)
    return fail(gitError(code, objects));
  if (int code = git_odb_add_backend(odb.get(), packs, kPackPriority); code < 0)
    return fail(gitError(code, objects));
  if (int code = git_repository_set_odb(repository, odb.get()); code < 0)
    return fail(gitError(code, objects));
  return {};
}

bool isAt(const char* path, const std::string& expected) {
  std::error_code error;
  return path != nullptr && std::filesystem::canonical(path, error) == expected;
}

Error wrongKind(const std::string& path, std::string_view what) {
  return {Code::kInvalidArgument, fmt::format("'{}' in the repository is {}", path, what), {}};
}

Status checkNoLink(const std::string& path, git_filemode_t mode) {
  if (mode == GIT_FILEMODE_LINK)
    return fail(wrongKind(path, "a symbolic link, which is not followed; name a regular file"));
  if (mode == GIT_FILEMODE_COMMIT)
    return fail(wrongKind(path, "a submodule, which is not fetched; name a regular file"));
  return {};
}

Result<TreeHandle> treeOf(git_repository* repository, const git_oid& id, const std::string& what) {
  KILN_TRY(checkSize(repository, id, what, kMaxParsed));
  git_tree* raw = nullptr;
  if (int code = git_tree_lookup(&raw, repository, &id); code < 0) return fail(gitError(code, what));
  return TreeHandle(raw);
}

struct Entry {
  git_oid id;
  git_filemode_t mode;
};

// What `path` names: a regular file or a directory.
Result<Entry> entryAt(git_repository* repository, const git_commit* commit, const std::string& path) {
  const std::string name = "commit " + hexOf(git_commit_id(commit));
  KILN_ASSIGN(TreeHandle tree, treeOf(repository, *git_commit_tree_id(commit), name));
  for (std::size_t start = 0;;) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string here = path.substr(0, end);
    const git_tree_entry* found = git_tree_entry_byname(tree.get(), path.substr(start, end - start).c_str());
    if (!found) return fail(Code::kNotFound, fmt::format("'{}' is not in {}", here, name));
    const Entry entry{*git_tree_entry_id(found), git_tree_entry_filemode(found)};
    KILN_TRY(checkNoLink(here, entry.mode));
    if (end == path.size()) return entry;
    if (entry.mode != GIT_FILEMODE_TREE)
      return fail(wrongKind(here, "a file, not a directory; name a regular file"));
    KILN_ASSIGN(tree, treeOf(repository, entry.id, here));
    start = end + 1;
  }
}

}  // namespace

Error notAFullCommit(const std::string& given, const std::string& kind, const std::string& resolved) {
  std::string next = resolved.empty() ? "give the full commit id of 40 lowercase hex digits"
                                      : fmt::format("it is commit {} now: write @{}", resolved, resolved);
  if (given.size() == 64 && resolved.empty()) next = "SHA-256 repositories are not supported";
  return {Code::kInvalidArgument,
          fmt::format("'{}' is {}, which can come to mean other bytes; {}", given, kind, next)};
}

CommitTree::State::~State() {
  commit.reset();
  repository.reset();
  if (temporaryDirectory.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(temporaryDirectory, ignored);
}

CommitTree::CommitTree(std::unique_ptr<State> state) : state_(std::move(state)) {}
CommitTree::CommitTree(CommitTree&&) noexcept = default;
CommitTree& CommitTree::operator=(CommitTree&&) noexcept = default;
CommitTree::~CommitTree() = default;

Result<CommitTree> CommitTree::openLocal(const std::string& directory, const std::string& commit,
                                         const BeforeObjects& beforeObjects) {
  KILN_ASSIGN(const RepositoryFiles files, checkRepositoryFiles(directory));
  auto state = std::make_unique<State>();
  git_repository* repository = nullptr;
  int code = git_repository_open_ext(&repository, directory.c_str(), GIT_REPOSITORY_OPEN_NO_SEARCH, nullptr);
  // libgit2 1.5 reports a foreign owner as a missing setting, and newer ones with a code of their own.
  const git_error* last = code < 0 ? git_error_last() : nullptr;
  bool foreign = code == GIT_EOWNER ||
                 (last && last->message &&
                  std::string_view(last->message).find("safe.directory") != std::string_view::npos);
  if (foreign)
    return fail(
        Code::kPermissionDenied,
        fmt::format(
            "the repository {} belongs to another user; if you trust it, run: git config --global --add "
            "safe.directory {}",
            directory, directory));
  if (code < 0) return fail(gitError(code, "no git repository can be opened at " + directory));
  state->repository.reset(repository);
  if (!isAt(git_repository_path(repository), files.git) ||
      !isAt(git_repository_commondir(repository), files.common))
    return fail(Code::kDataLoss,
                directory + ": its git directory is not where it seems to be; name it itself");
  if (beforeObjects) KILN_TRY(beforeObjects(files));
  KILN_TRY(readObjectsFrom(files.objects, repository));
  CommitTree tree(std::move(state));
  KILN_TRY(tree.select(commit));
  return tree;
}

Status CommitTree::select(const std::string& commit) {
  git_repository* repository = state_->repository.get();
  if (!isFullCommit(commit)) return fail(explainName(repository, commit));
  git_oid id;
  git_oid_fromstr(&id, commit.c_str());
  KILN_TRY(checkSize(repository, id, "commit " + commit, kMaxParsed));
  git_commit* found = nullptr;
  if (int code = git_commit_lookup(&found, repository, &id); code < 0) {
    git_object* object = nullptr;
    if (git_object_lookup(&object, repository, &id, GIT_OBJECT_TAG) == 0) {
      git_object_free(object);
      return fail(explainName(repository, commit));
    }
    return fail(gitError(code, "commit " + commit));
  }
  state_->commit.reset(found);
  commit_ = commit;
  return {};
}

Result<std::string> CommitTree::read(const std::string& path, std::uint64_t limit) const {
  KILN_TRY(checkSourcePath(path));
  git_repository* const repository = state_->repository.get();
  KILN_ASSIGN(const Entry entry, entryAt(repository, state_->commit.get(), path));
  if (entry.mode == GIT_FILEMODE_TREE) return fail(wrongKind(path, "a directory; name a regular file"));
  KILN_TRY(checkSize(repository, entry.id, path, limit));
  git_blob* rawBlob = nullptr;
  if (int code = git_blob_lookup(&rawBlob, repository, &entry.id); code < 0)
    return fail(gitError(code, path));
  BlobHandle blob(rawBlob);
  return std::string(static_cast<const char*>(git_blob_rawcontent(blob.get())),
                     static_cast<std::size_t>(git_blob_rawsize(blob.get())));
}

Result<std::optional<CommitTree::Listing>> CommitTree::list(const std::string& path, std::size_t most) const {
  git_repository* const repository = state_->repository.get();
  Entry folder{*git_commit_tree_id(state_->commit.get()), GIT_FILEMODE_TREE};
  if (path != kWholeCommit) {
    KILN_TRY(checkSourcePath(path));
    KILN_ASSIGN(folder, entryAt(repository, state_->commit.get(), path));
  }
  if (folder.mode != GIT_FILEMODE_TREE) return std::optional<Listing>();
  KILN_ASSIGN(const TreeHandle tree, treeOf(repository, folder.id, path));
  const std::size_t count = git_tree_entrycount(tree.get());
  if (count > most)
    return fail(Code::kResourceExhausted,
                fmt::format("'{}' in the repository has {} entries; at most {} are looked at, name a file",
                            path, count, most));
  Listing out;
  for (std::size_t i = 0; i < count; ++i) {
    const git_tree_entry* const entry = git_tree_entry_byindex(tree.get(), i);
    const std::string name = git_tree_entry_name(entry);
    const std::string here = path == kWholeCommit ? name : path + "/" + name;
    if (name.find('/') != std::string::npos || !checkSourcePath(name))
      return fail(Code::kDataLoss, fmt::format("{} in the repository is no name of a file", inQuotes(here)));
    const git_filemode_t mode = git_tree_entry_filemode(entry);
    KILN_TRY(checkNoLink(here, mode));
    (mode == GIT_FILEMODE_TREE ? out.folders : out.files).push_back(name);
  }
  std::ranges::sort(out.files);
  std::ranges::sort(out.folders);
  if (const auto twice = std::ranges::adjacent_find(out.files); twice != out.files.end())
    return fail(Code::kDataLoss, fmt::format("'{}' in the repository is there twice", *twice));
  return std::optional(std::move(out));
}

}  // namespace kiln::source

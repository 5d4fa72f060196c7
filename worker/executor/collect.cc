#include "worker/executor/collect.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "manifest/base/printable.h"
#include "storage/tree/directory.h"
#include "worker/executor/output_upload.h"
#include "worker/sandbox/output_walk.h"

namespace kiln::executor {
namespace {

using sandbox::OutputEntry;
using sandbox::OutputKind;
using storage::UploadItem;
using Wanted = PlannedOutput::Wanted;

// What stands in front of the last name of a path, and that name.
std::pair<std::string, std::string> splitName(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

// The Directory messages of one output directory, which is walked from above.
class DirectoryTree {
 public:
  // What `entry` becomes in the message of the directory that it stands in. `path` is relative to the output
  // directory, `digest` a file's.
  void add(const std::string& path, const OutputEntry& entry, const Digest& digest) {
    const auto [above, name] = splitName(path);
    reapi::Directory& directory = messages_[above];
    if (entry.kind == OutputKind::kDirectory) {
      order_.push_back(path);
      messages_[path];
    } else if (entry.kind == OutputKind::kSymlink) {
      auto* link = directory.add_symlinks();
      link->set_name(name);
      link->set_target(entry.target);
    } else {
      auto* file = directory.add_files();
      file->set_name(name);
      file->set_is_executable(entry.executable);
      *file->mutable_digest() = toProto(digest);
    }
  }

  // The messages in the forms asked for, added to `items` and named in `output`.
  void finish(reapi::Command::OutputDirectoryFormat format, std::vector<UploadItem>& items,
              reapi::OutputDirectory& output) {
    const bool wantsTree = format != reapi::Command::DIRECTORY_ONLY;
    const bool wantsDirectories = format != reapi::Command::TREE_ONLY;
    reapi::Tree tree;
    std::set<Digest> seen;
    // Whatever is in a directory was found after it.
    for (auto path = order_.rbegin(); path != order_.rend(); ++path) {
      const std::string bytes = storage::serialiseDirectory(std::move(messages_[*path]));
      const Digest digest = digestOf(bytes);
      const bool isRoot = path->empty();
      if (!isRoot) {
        const auto [above, name] = splitName(*path);
        auto* node = messages_[above].add_directories();
        node->set_name(name);
        *node->mutable_digest() = toProto(digest);
      } else if (wantsDirectories) {
        *output.mutable_root_directory_digest() = toProto(digest);
      }
      const bool isNew = seen.insert(digest).second;
      if (wantsTree && (isRoot || isNew))
        (isRoot ? tree.mutable_root() : tree.add_children())->ParseFromString(bytes);
      if (wantsDirectories && isNew) items.push_back({digest, "", bytes});
    }
    if (!wantsTree) return;
    std::string bytes = tree.SerializeAsString();
    *output.mutable_tree_digest() = toProto(digestOf(bytes));
    items.push_back({digestOf(bytes), "", std::move(bytes)});
  }

 private:
  std::map<std::string, reapi::Directory> messages_;
  std::vector<std::string> order_{""};
};

class Collector {
 public:
  Collector(const ActionPlan& plan, std::string root, sandbox::OutputWalk walk, reapi::ActionResult* result)
      : plan_(plan), root_(std::move(root)), walk_(std::move(walk)), result_(result) {}

  Status collect(const PlannedOutput& output) {
    std::optional<DirectoryTree> tree;
    const std::size_t above = output.inRoot.empty() ? 0 : output.inRoot.size() + 1;
    const auto found = walk_.at(output.inRoot, [&](const OutputEntry& entry) -> Status {
      KILN_ASSIGN(const Digest digest, digestOfFile(entry));
      if (entry.kind == OutputKind::kSymlink) KILN_TRY(checkLink(entry, tree ? above : 0));
      if (tree) {
        tree->add(entry.path.substr(above), entry, digest);
      } else if (entry.kind == OutputKind::kDirectory) {
        if (output.wanted == Wanted::kFile) return mismatch(output, "is a directory; a file was wanted");
        tree.emplace();
      } else {
        return addAlone(output, entry, digest);
      }
      return {};
    });
    if (!found) return fail(found.error());
    if (!tree) return {};
    reapi::OutputDirectory* directory = result_->add_output_directories();
    directory->set_path(output.path);
    tree->finish(plan_.directories, items_, *directory);
    return {};
  }

  const std::vector<UploadItem>& items() const { return items_; }

 private:
  static tl::unexpected<Error> mismatch(const PlannedOutput& output, const char* what) {
    return fail(Code::kInvalidArgument, "output " + printable(output.path, 80) + " " + what);
  }

  // A link of an output directory, whose path has so many bytes in front of the names within it, stays inside
  // that directory; any other one inside the input root. Nobody takes another one from the store.
  static Status checkLink(const OutputEntry& entry, std::size_t above) {
    const auto depth = static_cast<std::size_t>(std::ranges::count(entry.path.substr(above), '/'));
    if (const Status inside = storage::checkSymlinkTarget(entry.target, depth); !inside)
      return fail(Code::kInvalidArgument,
                  "output " + printable(entry.path, 80) + " is a link: " + inside.error().message);
    return {};
  }

  // Of a file, which is then one to upload.
  Result<Digest> digestOfFile(const OutputEntry& entry) {
    if (entry.kind != OutputKind::kFile) return Digest{};
    KILN_ASSIGN(const Digest digest, digestOfOutput({entry.path, entry.fd, entry.size, entry.executable}));
    items_.push_back({digest, root_ + "/" + entry.path, ""});
    return digest;
  }

  // A file or a link that is an output by itself.
  Status addAlone(const PlannedOutput& output, const OutputEntry& entry, const Digest& digest) {
    if (entry.kind == OutputKind::kSymlink) {
      reapi::OutputSymlink* link = output.wanted == Wanted::kAnything ? result_->add_output_symlinks()
                                   : output.wanted == Wanted::kFile
                                       ? result_->add_output_file_symlinks()
                                       : result_->add_output_directory_symlinks();
      link->set_path(output.path);
      link->set_target(entry.target);
      return {};
    }
    if (output.wanted == Wanted::kDirectory) return mismatch(output, "is a file; a directory was wanted");
    reapi::OutputFile* file = result_->add_output_files();
    file->set_path(output.path);
    file->set_is_executable(entry.executable);
    *file->mutable_digest() = toProto(digest);
    return {};
  }

  const ActionPlan& plan_;
  const std::string root_;
  sandbox::OutputWalk walk_;
  reapi::ActionResult* const result_;
  std::vector<UploadItem> items_;
};

}  // namespace

Status collectOutputs(storage::BlobStore& store, const std::string& instance, const ActionPlan& plan,
                      const std::string& root, const sandbox::Limits& limits, reapi::ActionResult* result) {
  KILN_ASSIGN(auto walk, sandbox::OutputWalk::open(root, limits, sandbox::OutputForm::kForeign));
  Collector collector(plan, root, std::move(walk), result);
  for (const PlannedOutput& output : plan.outputs) KILN_TRY(collector.collect(output));
  return uploadItems(store, instance, collector.items());
}

}  // namespace kiln::executor

#include "coordinator/jobs/directory_tree.h"

#include "manifest/spec/path.h"

namespace kiln::jobs {
namespace {

struct Node {
  std::map<std::string, Node> directories;
  std::map<std::string, TreeFile> files;
  std::map<std::string, Digest> mounts;
};

Digest serialise(const Node& node, Tree& tree) {
  reapi::Directory directory;
  for (const auto& [name, file] : node.files) {
    reapi::FileNode* out = directory.add_files();
    out->set_name(name);
    *out->mutable_digest() = toProto(file.digest);
    out->set_is_executable(file.executable);
  }
  std::map<std::string, Digest> children = node.mounts;
  for (const auto& [name, child] : node.directories) children[name] = serialise(child, tree);
  for (const auto& [name, digest] : children) {
    reapi::DirectoryNode* out = directory.add_directories();
    out->set_name(name);
    *out->mutable_digest() = toProto(digest);
  }
  std::string bytes = directory.SerializeAsString();
  Digest digest = digestOf(bytes);
  tree.directories.emplace(digest, std::move(bytes));
  return digest;
}

Status twice(const std::string& path) {
  return fail(Code::kInvalidArgument, "\"" + path + "\" is given twice, or as a file and as a directory");
}

}  // namespace

Result<Tree> buildTree(const std::vector<TreeFile>& files, const std::vector<TreeMount>& mounts) {
  Node root;
  for (const TreeFile& file : files) {
    KILN_TRY(checkRelativePath(file.path));
    Node* node = &root;
    std::size_t start = 0;
    for (std::size_t slash; (slash = file.path.find('/', start)) != std::string::npos; start = slash + 1) {
      std::string name = file.path.substr(start, slash - start);
      if (node->files.contains(name)) KILN_TRY(twice(file.path));
      node = &node->directories[name];
    }
    std::string name = file.path.substr(start);
    if (node->directories.contains(name) || !node->files.emplace(name, file).second)
      KILN_TRY(twice(file.path));
  }
  for (const TreeMount& mount : mounts) {
    KILN_TRY(checkRelativePath(mount.path));
    if (mount.path.find('/') != std::string::npos || root.files.contains(mount.path) ||
        root.directories.contains(mount.path) || !root.mounts.emplace(mount.path, mount.directory).second)
      KILN_TRY(twice(mount.path));
  }
  Tree tree;
  tree.root = serialise(root, tree);
  return tree;
}

}  // namespace kiln::jobs

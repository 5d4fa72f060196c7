#include "storage/tree/tree_builder.h"

#include "storage/tree/directory.h"

namespace kiln::storage {

struct TreeBuilder::Node {
  reapi::Directory directory;  // everything but the children below
  std::map<std::string, std::unique_ptr<Node>> children;
  std::map<std::string, bool> taken;  // names; true: a child that may be entered
  std::size_t depth = 0;

  Digest build(BuiltTree& out) const {
    reapi::Directory complete = directory;
    for (const auto& [name, child] : children) {
      auto* node = complete.add_directories();
      node->set_name(name);
      *node->mutable_digest() = toProto(child->build(out));
    }
    std::string bytes = serialiseDirectory(std::move(complete));
    Digest digest = digestOf(bytes);
    out.directories.push_back({digest, "", std::move(bytes)});
    return digest;
  }
};

TreeBuilder::TreeBuilder() : root_(std::make_unique<Node>()) {}
TreeBuilder::~TreeBuilder() = default;
TreeBuilder::TreeBuilder(TreeBuilder&&) noexcept = default;
TreeBuilder& TreeBuilder::operator=(TreeBuilder&&) noexcept = default;

Result<std::pair<TreeBuilder::Node*, std::string>> TreeBuilder::place(const std::string& path) {
  Node* node = root_.get();
  std::size_t start = 0;
  for (;;) {
    std::size_t end = path.find('/', start);
    std::string name = path.substr(start, end == std::string::npos ? end : end - start);
    if (Status good = checkName(name); !good) return fail(good.error().in("path '" + path + "'"));
    auto taken = node->taken.find(name);
    bool isLast = end == std::string::npos;
    if (taken != node->taken.end() && (isLast || !taken->second))
      return fail(Code::kAlreadyExists, "path '" + path + "': '" + name + "' is there already");
    if (isLast) return std::pair(node, std::move(name));
    if (taken == node->taken.end()) {
      node->taken[name] = true;
      node->children[name] = std::make_unique<Node>();
      node->children[name]->depth = node->depth + 1;
    }
    node = node->children[name].get();
    start = end + 1;
  }
}

Status TreeBuilder::addFile(const std::string& path, const Digest& digest, bool executable) {
  KILN_ASSIGN(auto spot, place(path));
  auto& [node, name] = spot;
  auto* file = node->directory.add_files();
  file->set_name(name);
  *file->mutable_digest() = toProto(digest);
  file->set_is_executable(executable);
  node->taken[name] = false;
  return {};
}

Status TreeBuilder::addSymlink(const std::string& path, const std::string& target) {
  KILN_ASSIGN(auto spot, place(path));
  auto& [node, name] = spot;
  if (Status good = checkSymlinkTarget(target, node->depth); !good)
    return fail(good.error().in("path '" + path + "'"));
  auto* link = node->directory.add_symlinks();
  link->set_name(name);
  link->set_target(target);
  node->taken[name] = false;
  return {};
}

Status TreeBuilder::addDirectory(const std::string& path) {
  KILN_ASSIGN(auto spot, place(path));
  auto& [node, name] = spot;
  node->taken[name] = true;
  node->children[name] = std::make_unique<Node>();
  node->children[name]->depth = node->depth + 1;
  return {};
}

Status TreeBuilder::addTree(const std::string& path, const Digest& directory) {
  KILN_ASSIGN(auto spot, place(path));
  auto& [node, name] = spot;
  auto* child = node->directory.add_directories();
  child->set_name(name);
  *child->mutable_digest() = toProto(directory);
  node->taken[name] = false;
  return {};
}

BuiltTree TreeBuilder::build() const {
  BuiltTree out;
  out.root = root_->build(out);
  return out;
}

}  // namespace kiln::storage

// TreeBuilder: puts a Merkle tree together from paths, files and trees that exist already.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/blob/upload.h"
#include "storage/tree/digest_proto.h"

namespace kiln::storage {

// A tree as blobs: all of its Directory messages that the builder made (not those of addTree()).
struct BuiltTree {
  Digest root;
  std::vector<UploadItem> directories;  // for uploadMissing()
};

// Not thread safe. Paths are relative with '/' between names; directories come into being as needed.
// kInvalidArgument for a bad name or an escaping symlink, kAlreadyExists for a path given twice.
class TreeBuilder {
 public:
  TreeBuilder();
  ~TreeBuilder();
  TreeBuilder(TreeBuilder&&) noexcept;
  TreeBuilder& operator=(TreeBuilder&&) noexcept;

  Status addFile(const std::string& path, const Digest& digest, bool executable);
  Status addSymlink(const std::string& path, const std::string& target);
  Status addDirectory(const std::string& path);                      // possibly empty
  Status addTree(const std::string& path, const Digest& directory);  // a Directory blob made elsewhere

  // The same content in any order of calls gives the same root.
  BuiltTree build() const;

 private:
  struct Node;
  // The node of the path's parent, and the path's last name; fails if that name is taken.
  Result<std::pair<Node*, std::string>> place(const std::string& path);

  std::unique_ptr<Node> root_;
};

}  // namespace kiln::storage

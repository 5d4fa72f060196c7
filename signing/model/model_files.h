// The files of a model on disk, as a model signature counts them: a folder with all below it, or one file.
// Whoever wrote the folder may have planted links and special files. Source: OpenSSF Model Signing 1.0,
// sections 6.1 and 6.2.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/file.h"
#include "manifest/base/result.h"

namespace kiln::signing {

struct ModelRules {
  bool followLinks = false;          // else a symbolic link is refused
  std::vector<std::string> ignored;  // relative paths, left out with all below them
};

// What no signature counts: what git keeps at the top of a folder.
const std::vector<std::string>& alwaysIgnored();

struct FileDigests {
  Digest whole;
  std::vector<Digest> shards;
};

// Thread safe.
class ModelFiles {
 public:
  // Lists what is there but for alwaysIgnored() and rules.ignored; entries of these that lead out of the
  // folder name nothing in it. kNotFound if nothing is at `path`. kDataLoss for a link where none is
  // followed, for what is neither file nor folder, for a name that is not UTF-8, and for more than 65,536
  // files or 64 folders inside each other (or links in a circle).
  static Result<ModelFiles> open(const std::string& path, const ModelRules& rules);

  // The model's own name, of its folder or file.
  const std::string& name() const { return name_; }
  // Whether the model is one file: then names() holds its name.
  bool isFile() const { return isFile_; }
  // Sorted.
  const std::vector<std::string>& names() const { return names_; }
  // What was left out, normalised ("./a//b" as "a/b"): sorted, each once.
  const std::vector<std::string>& ignored() const { return ignored_; }
  // Reads one of names(); the size is that of the file.
  Result<Digest> digest(const std::string& name) const;
  // The same with the digests of its shards of `shardBytes`: none of a file without bytes. kDataLoss for more
  // than kMaxModelFiles of them.
  Result<FileDigests> digests(const std::string& name, std::uint64_t shardBytes) const;
  // The size of one of names(), which is not read.
  Result<std::uint64_t> size(const std::string& name) const;

 private:
  ModelFiles() = default;
  // A regular file, and its size.
  Result<std::pair<UniqueFd, std::uint64_t>> openFileAt(const std::string& name) const;

  UniqueFd root_;  // the folder, or that in which the file lies
  bool followLinks_ = false, isFile_ = false;
  std::string name_;
  std::vector<std::string> names_, ignored_;
};

}  // namespace kiln::signing

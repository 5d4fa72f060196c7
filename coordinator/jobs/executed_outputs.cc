#include "coordinator/jobs/executed_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "coordinator/jobs/foreign_action.h"
#include "manifest/base/printable.h"
#include "manifest/spec/path.h"
#include "storage/tree/directory.h"

namespace kiln::jobs {
namespace {

constexpr int kMaxOutputs = 20'000;
constexpr std::size_t kMaxDepth = 64, kMaxEntries = 100'000;
// Of Directories, each time that one is entered.
constexpr std::size_t kMaxWalkedBytes = 128 << 20;

tl::unexpected<Error> bad(const std::string& why) {
  return fail(Code::kInvalidArgument, why);
}

// Every link of the result, of either form of the API.
std::vector<const reapi::OutputSymlink*> linksOf(const reapi::ActionResult& result) {
  std::vector<const reapi::OutputSymlink*> out;
  for (const auto* list :
       {&result.output_symlinks(), &result.output_file_symlinks(), &result.output_directory_symlinks()})
    for (const auto& link : *list) out.push_back(&link);
  return out;
}

Status addLog(const std::string& raw, bool inStore, const reapi::Digest& digest, std::vector<Digest>& logs) {
  if (raw.size() > kMaxInlineLog) return bad("a log of more than 64 KiB stands in the report");
  if (!inStore) return {};
  KILN_ASSIGN(const Digest log, fromProto(digest));
  logs.push_back(log);
  return {};
}

std::size_t segments(std::string_view path) {
  return path.empty() ? 0 : static_cast<std::size_t>(std::ranges::count(path, '/')) + 1;
}

// The walk through one Tree. Each Directory is read once, however often it is named.
class TreeWalk {
 public:
  TreeWalk(const reapi::Tree& tree, WalkedTrees& walked) : walked_(walked) {
    for (const reapi::Directory& child : tree.children()) {
      const std::string bytes = child.SerializeAsString();
      children_.emplace(digestOf(bytes), Node{child, bytes.size()});
    }
  }

  Status enterRoot(const reapi::Directory& root) {
    Node node{root, root.ByteSizeLong()};
    return enter(node, 0);
  }
  bool enteredAll() const {
    return std::ranges::all_of(children_, [](const auto& child) { return child.second.read; });
  }

  std::set<Digest> files;

 private:
  struct Node {
    const reapi::Directory& message;
    std::size_t bytes;
    bool read = false;  // and found canonical
  };

  Status enter(Node& node, std::size_t depth) {
    if (depth > kMaxDepth) return bad("a Tree is deeper than 64 directories");
    if (node.bytes > kMaxWalkedBytes - walked_.bytes)
      return bad("its Trees have more than 128 MiB of directories, those that they name again included");
    walked_.bytes += node.bytes;
    const reapi::Directory& directory = node.message;
    if (!node.read) KILN_TRY(read(node, depth));
    walked_.entries += static_cast<std::size_t>(directory.files_size() + directory.directories_size() +
                                                directory.symlinks_size());
    if (walked_.entries > kMaxEntries) return bad("its Trees have more than 100,000 entries");
    // What a link may say depends on where its directory stands.
    for (const auto& link : directory.symlinks()) KILN_TRY(storage::checkSymlinkTarget(link.target(), depth));
    for (const auto& below : directory.directories()) {
      KILN_ASSIGN(const Digest digest, fromProto(below.digest()));
      const auto child = children_.find(digest);
      if (child == children_.end()) return bad("a Tree lacks a Directory that it names");
      KILN_TRY(enter(child->second, depth + 1));
    }
    return {};
  }

  Status read(Node& node, std::size_t depth) {
    KILN_TRY(storage::parseDirectory(node.message.SerializeAsString(), depth));
    for (const auto& file : node.message.files()) {
      KILN_ASSIGN(const Digest digest, fromProto(file.digest()));
      files.insert(digest);
    }
    node.read = true;
    return {};
  }

  std::map<Digest, Node> children_;
  WalkedTrees& walked_;
};

}  // namespace

Result<ExecutedOutputs> readExecuted(const reapi::ActionResult& result) {
  if (result.ByteSizeLong() > kMaxExecutedResult) return bad("the result has more than 4 MiB");
  const auto links = linksOf(result);
  if (result.output_files_size() + result.output_directories_size() + static_cast<int>(links.size()) >
      kMaxOutputs)
    return bad(fmt::format("the result holds more than {} outputs", kMaxOutputs));
  ExecutedOutputs out;
  for (const auto& file : result.output_files()) {
    if (!file.contents().empty()) return bad("an output file stands in the report; it belongs in the store");
    KILN_ASSIGN(const Digest digest, fromProto(file.digest()));
    out.blobs.push_back({file.path(), digest});
  }
  for (const auto& directory : result.output_directories()) {
    KILN_ASSIGN(const Digest name, nameOf(directory));
    out.blobs.push_back({directory.path(), name});
    OutputDirectory& read = out.directories.emplace_back();
    read.path = directory.path();
    if (directory.has_tree_digest()) read.tree = name;
    if (directory.has_root_directory_digest()) {
      KILN_ASSIGN(read.root, fromProto(directory.root_directory_digest()));
    }
  }
  out.named.files = out.blobs;
  for (const reapi::OutputSymlink* link : links)
    out.named.files.push_back({link->path(), digestOf(link->target())});
  std::ranges::sort(out.named.files, {}, &OutputFile::path);
  for (std::size_t i = 0; i < out.named.files.size(); ++i) {
    const std::string& path = out.named.files[i].path;
    KILN_TRY(checkRelativePath(path));
    if (i > 0 && path == out.named.files[i - 1].path)
      return bad("the output " + inQuotes(path) + " is reported twice");
  }
  KILN_TRY(addLog(result.stdout_raw(), result.has_stdout_digest(), result.stdout_digest(), out.logs));
  KILN_TRY(addLog(result.stderr_raw(), result.has_stderr_digest(), result.stderr_digest(), out.logs));
  return out;
}

Status checkDeclared(const reapi::ActionResult& result, const reapi::Command& command) {
  const std::set<std::string> declared = declaredOutputs(command);
  const auto isDeclared = [&](const std::string& path) -> Status {
    if (declared.contains(path)) return {};
    return bad("the result holds " + inQuotes(path) + ", which is no output of the command");
  };
  for (const auto& file : result.output_files()) KILN_TRY(isDeclared(file.path()));
  const auto format = command.output_directory_format();
  for (const auto& directory : result.output_directories()) {
    KILN_TRY(isDeclared(directory.path()));
    if (directory.has_tree_digest() != (format != reapi::Command::DIRECTORY_ONLY) ||
        directory.has_root_directory_digest() != (format != reapi::Command::TREE_ONLY))
      return bad("the directory " + inQuotes(directory.path()) + " is not in the form that was asked for");
  }
  for (const reapi::OutputSymlink* link : linksOf(result)) {
    KILN_TRY(isDeclared(link->path()));
    const std::size_t depth = segments(command.working_directory()) + segments(link->path()) - 1;
    KILN_TRY(storage::checkSymlinkTarget(link->target(), depth));
  }
  return {};
}

Result<TreeContent> contentOfTree(std::string_view bytes, WalkedTrees& walked) {
  reapi::Tree tree;
  if (bytes.size() > kMaxTreeBytes || !tree.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return bad("an output directory has no Tree of at most 16 MiB");
  TreeWalk walk(tree, walked);
  KILN_TRY(walk.enterRoot(tree.root()));
  if (!walk.enteredAll()) return bad("a Tree holds Directories that are not in it");
  return TreeContent{digestOf(tree.root().SerializeAsString()), {walk.files.begin(), walk.files.end()}};
}

}  // namespace kiln::jobs

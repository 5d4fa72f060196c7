// libFuzzer: results of actions, as workers report and clients write them, and the Trees of directories. The
// input is an ActionResult on the wire; or, after '#', a program that makes Directories of each other, so
// that what is read of a Tree is compared with a walk through the same Directories in a store.
#include <google/protobuf/stubs/logging.h>

#include <cstdlib>
#include <set>

#include "coordinator/jobs/executed_outputs.h"
#include "coordinator/reapi/client_result.h"
#include "manifest/spec/path.h"
#include "storage/tree/directory.h"
#include "storage/tree/tree_walk.h"
#include "tests/support/memory_blob_store.h"

namespace {

using kiln::Digest;
namespace jobs = kiln::jobs;
namespace reapi = kiln::reapi;
namespace storage = kiln::storage;

constexpr std::size_t kMaxDirectories = 10;

void require(bool holds) {
  if (!holds) std::abort();
}

void checkResult(const reapi::ActionResult& result) {
  if (const auto read = jobs::readExecuted(result)) {
    for (const jobs::OutputFile& output : read->named.files)
      require(kiln::checkRelativePath(output.path).has_value());
    require(read->trees.size() <= read->blobs.size() && read->blobs.size() <= read->named.files.size());
    reapi::Command command;
    (void)jobs::checkDeclared(result, command);
    for (const jobs::OutputFile& output : read->named.files) command.add_output_paths(output.path);
    (void)jobs::checkDeclared(result, command);
  }
  if (const auto kept = kiln::reapi_cache::readClientResult(result)) {
    const auto again = kiln::reapi_cache::readClientResult(*kept);
    require(again.has_value() && again->SerializeAsString() == kept->SerializeAsString());
  }
}

// Directories, each made of those before it. Two bytes an instruction: what is done, and to what.
std::vector<reapi::Directory> directoriesOf(std::string_view program) {
  std::vector<reapi::Directory> all(1);
  std::vector<Digest> made;
  for (std::size_t at = 0; at + 1 < program.size() && made.size() < kMaxDirectories; at += 2) {
    const auto operand = static_cast<unsigned char>(program[at + 1]);
    const std::string name(1, static_cast<char>(operand));
    reapi::Directory& directory = all.back();
    switch (program[at]) {
      case 'f': {
        auto& file = *directory.add_files();
        file.set_name(name);
        *file.mutable_digest() = toProto(kiln::digestOf(name));
        break;
      }
      case 'l': {
        auto& link = *directory.add_symlinks();
        link.set_name(name);
        link.set_target(operand % 2 == 0 ? "../" + name : name);
        break;
      }
      case 'd': {
        if (made.empty()) break;
        auto& node = *directory.add_directories();
        node.set_name(name);
        *node.mutable_digest() = toProto(made[operand % made.size()]);
        break;
      }
      case 'p':
        directory.mutable_node_properties()->add_properties()->set_value(name);
        break;
      case 'n':
        made.push_back(kiln::digestOf(directory.SerializeAsString()));
        all.emplace_back();
        break;
      default:
        break;
    }
  }
  return all;
}

void checkTree(std::string_view program) {
  const std::vector<reapi::Directory> directories = directoriesOf(program);
  kiln::testing_support::MemoryBlobStore store;
  reapi::Tree tree;
  *tree.mutable_root() = directories.back();
  std::set<Digest> children;
  for (std::size_t i = 0; i + 1 < directories.size(); ++i) {
    *tree.add_children() = directories[i];
    children.insert(kiln::digestOf(directories[i].SerializeAsString()));
  }
  for (const reapi::Directory& directory : directories)
    require(storage::putBlob(store, "a", kiln::asBytes(directory.SerializeAsString())).has_value());
  const auto walked = storage::walkTree(store, "a", kiln::digestOf(directories.back().SerializeAsString()));
  jobs::WalkedTrees trees;
  const auto read = jobs::contentOfTree(tree.SerializeAsString(), trees);
  if (!walked) {
    // The paths of a Tree are bounded where it is written out.
    require(!read.has_value() || walked.error().message.find("path of more than") != std::string::npos);
    return;
  }
  std::set<Digest> files, entered;
  for (const storage::TreeEntry& entry : *walked) {
    if (entry.kind == storage::EntryKind::kFile) files.insert(entry.digest);
    if (entry.kind == storage::EntryKind::kDirectory) entered.insert(entry.digest);
  }
  require(read.has_value() == (entered == children));
  if (read) require(std::set<Digest>(read->files.begin(), read->files.end()) == files);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static google::protobuf::LogSilencer quiet;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.starts_with('#')) {
    checkTree(bytes.substr(1));
    return 0;
  }
  jobs::WalkedTrees trees;
  (void)jobs::contentOfTree(bytes, trees);
  if (reapi::ActionResult result; result.ParseFromArray(data, static_cast<int>(size))) checkResult(result);
  return 0;
}

#include "signing/server/toolchain_check.h"

#include <map>
#include <set>

#include "manifest/toolchain/description.h"
#include "manifest/toolchain/lock.h"
#include "signing/server/closure.h"
#include "storage/tree/directory.h"

namespace kiln::signing {
namespace {

constexpr std::uint64_t kMaxDirectoryBytes = 4u << 20;
constexpr std::uint64_t kMaxDescriptionBytes = 1u << 20;
constexpr std::size_t kMaxDepth = 32;
// A shared subtree counts each time.
constexpr std::size_t kMaxEntries = 100'000;
constexpr std::size_t kMaxWalkedBytes = 128u << 20;  // of Directory messages and of paths

tl::unexpected<Error> refused(const std::string& why) {
  return fail(Code::kFailedPrecondition, "toolchain: " + why);
}

// Collects a tree's files by path, and rehashes each.
class Tree {
 public:
  Tree(storage::BlobStore& store, const std::string& instance) : store_(store), instance_(instance) {}

  Status enter(const Digest& digest, const std::string& prefix, std::size_t depth) {
    if (depth > kMaxDepth) return refused("its tree is deeper than 32 directories");
    KILN_ASSIGN(std::string bytes, loadBlob(store_, instance_, digest, kMaxDirectoryBytes,
                                            "toolchain directory " + (prefix.empty() ? "/" : prefix)));
    auto listed = storage::parseDirectory(bytes, depth);
    if (!listed) return refused("directory /" + prefix + ": " + listed.error().message);
    const auto entries = static_cast<std::size_t>(listed->files_size() + listed->directories_size());
    entries_ += entries;
    if (entries_ > kMaxEntries) return refused("its tree has more than 100000 entries");
    walkedBytes_ += bytes.size() + entries * prefix.size();
    if (walkedBytes_ > kMaxWalkedBytes)
      return refused("its tree has directories and paths of more than 128 MiB");
    for (const auto& file : listed->files()) {
      KILN_ASSIGN(const Digest content, fromProto(file.digest()));
      const std::string path = prefix + file.name();
      if (rehashed_.insert(content).second)
        KILN_TRY(checkBlob(store_, instance_, content, "toolchain file " + path));
      files_.emplace(path, content);
    }
    for (const auto& child : listed->directories()) {
      KILN_ASSIGN(const Digest below, fromProto(child.digest()));
      KILN_TRY(enter(below, prefix + child.name() + "/", depth + 1));
    }
    return {};
  }

  // Null if the tree has no such file.
  const Digest* find(const std::string& path) const {
    const auto found = files_.find(path);
    return found == files_.end() ? nullptr : &found->second;
  }

 private:
  storage::BlobStore& store_;
  const std::string& instance_;
  std::map<std::string, Digest> files_;
  std::set<Digest> rehashed_;
  std::size_t entries_ = 0, walkedBytes_ = 0;
};

Status checkLock(storage::BlobStore& store, const std::string& instance, const Digest& digest) {
  KILN_ASSIGN(std::string text, loadBlob(store, instance, digest, kMaxToolchainLockBytes, "toolchain lock"));
  if (auto lock = readToolchainLock(text); !lock) return refused(lock.error().message);
  return {};
}

}  // namespace

Status checkAdmission(storage::BlobStore& store, const std::string& instance,
                      const ToolchainAdmission& admission, const Digest& root) {
  if (admission.instance && *admission.instance != instance)
    return refused("its admission is for another instance than the one it is asked for in");
  Tree tree(store, instance);
  KILN_TRY(tree.enter(root, "", 0));
  const Digest* file = tree.find("toolchain.json");
  if (!file) return refused("its tree has no toolchain.json");
  KILN_ASSIGN(std::string text, loadBlob(store, instance, *file, kMaxDescriptionBytes, "toolchain.json"));
  auto description = readToolchainDescription(text);
  if (!description) return refused("toolchain.json: " + description.error().message);
  if (description->label != admission.label)
    return refused("its toolchain.json says that it is " + description->label + ", not " + admission.label);
  for (const ToolchainComponent& component : description->components) {
    const Digest* there = tree.find(component.path);
    if (!there || *there != component.digest)
      return refused("component " + component.path +
                     " is not in the tree with the digest that toolchain.json gives");
  }
  return admission.lock ? checkLock(store, instance, *admission.lock) : Status();
}

}  // namespace kiln::signing

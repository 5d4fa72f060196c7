#include "coordinator/tuning/action_input.h"

#include <algorithm>

#include "storage/tree/digest_proto.h"
#include "storage/tree/directory.h"

namespace kiln::service {
namespace {

constexpr std::uint64_t kMaxMessage = 4u << 20;

Result<reapi::Directory> readDirectory(storage::BlobStore& blobs, const std::string& instance,
                                       const Digest& digest, std::size_t depth) {
  KILN_ASSIGN(const std::string text, storage::getBlob(blobs, instance, digest, kMaxMessage));
  return storage::parseDirectory(text, depth);
}

}  // namespace

Result<Digest> findInput(storage::BlobStore& blobs, const std::string& instance, const Digest& action,
                         std::string_view path) {
  KILN_ASSIGN(const std::string text, storage::getBlob(blobs, instance, action, kMaxMessage));
  reapi::Action message;
  if (!message.ParseFromString(text))
    return fail(Code::kDataLoss, "action " + action.text() + " does not parse");
  KILN_ASSIGN(Digest at, fromProto(message.input_root_digest()));
  const auto none = [&] {
    return fail(Code::kNotFound, "action " + action.text() + " has no input " + std::string(path));
  };
  std::string_view rest = path;
  for (std::size_t depth = 0;; ++depth) {
    KILN_ASSIGN(const reapi::Directory directory, readDirectory(blobs, instance, at, depth));
    const std::string_view name = rest.substr(0, rest.find('/'));
    const auto named = [&](const auto& node) { return node.name() == name; };
    if (name.size() == rest.size()) {
      const auto file = std::ranges::find_if(directory.files(), named);
      if (file == directory.files().end()) return none();
      return fromProto(file->digest());
    }
    const auto child = std::ranges::find_if(directory.directories(), named);
    if (child == directory.directories().end()) return none();
    KILN_ASSIGN(at, fromProto(child->digest()));
    rest.remove_prefix(name.size() + 1);
  }
}

}  // namespace kiln::service

#include "api/client/toolchain_lock.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "manifest/base/file.h"
#include "storage/tree/digest_proto.h"

namespace kiln::client {
namespace {

namespace fs = std::filesystem;

std::string placeOf(const std::string& folder, const Digest& digest) {
  return folder + "/" + digest.hex();
}

}  // namespace

Result<Digest> readLockFile(const std::string& path, std::string& text, ToolchainLock& lock) {
  KILN_ASSIGN(text, readRegular(path, kMaxToolchainLockBytes));
  auto read = readToolchainLock(text);
  if (!read)
    return fail(Code::kInvalidArgument,
                path + ": " + read.error().message +
                    "; the lock of a tree is what infra/toolchain/build --lock leaves beside it");
  lock = std::move(*read);
  return digestOf(text);
}

Result<std::vector<storage::UploadItem>> findInputs(const ToolchainLock& lock, const std::string& inputs) {
  std::vector<storage::UploadItem> items;
  std::string lacking;
  for (const LockedInput& input : lock.inputs) {
    const std::string path = placeOf(inputs, input.digest);
    std::error_code error;
    const bool there = fs::is_regular_file(path, error) && fs::file_size(path, error) == input.digest.size;
    if (there)
      items.push_back({input.digest, path, ""});
    else
      lacking += "\n  " + input.what + " (" + input.digest.text() + ")";
  }
  if (!lacking.empty())
    return fail(Code::kNotFound,
                "of what the lock names, " + inputs + " has no file called by its SHA-256 for" + lacking +
                    "\nWithout --inputs the toolchain is added as not rebuildable from source");
  return items;
}

Result<KeptLock> keptLock(Client& client, const v1::Toolchain& toolchain) {
  if (!toolchain.has_lock())
    return fail(Code::kNotFound, "toolchain " + toolchain.label() + " was added without a lock");
  const auto digest = fromProto(toolchain.lock());
  if (!digest) return fail(client.unreadable(digest.error()));
  auto text = storage::getBlob(client.blobs(), client.instance(), *digest, kMaxToolchainLockBytes);
  if (!text && text.error().code == Code::kNotFound)
    return fail(Code::kNotFound, "the farm has lost the lock " + digest->text());
  if (!text) return fail(client.explain(text.error()).in("lock"));
  KeptLock out{std::move(*text), {}, {}};
  auto lock = readToolchainLock(out.text);
  if (!lock) return fail(client.unreadable(lock.error().in("lock")));
  out.lock = std::move(*lock);
  std::vector<Digest> digests;
  for (const LockedInput& input : out.lock.inputs) digests.push_back(input.digest);
  auto missing = client.blobs().findMissing(client.instance(), digests);
  if (!missing) return fail(client.explain(missing.error()));
  const std::set<Digest> gone(missing->begin(), missing->end());
  std::ranges::copy_if(out.lock.inputs, std::back_inserter(out.lacking),
                       [&](const LockedInput& input) { return gone.contains(input.digest); });
  return out;
}

Status saveInputs(Client& client, const KeptLock& kept, const std::string& inputs) {
  std::error_code error;
  fs::create_directories(inputs, error);
  if (error) return fail(errnoError(error.value(), inputs));
  std::set<Digest> skip;
  for (const LockedInput& input : kept.lacking) skip.insert(input.digest);
  for (const LockedInput& input : kept.lock.inputs) {
    if (!skip.insert(input.digest).second) continue;
    const std::string path = placeOf(inputs, input.digest);
    if (fs::exists(path, error)) {
      KILN_ASSIGN(const Digest there, digestOfFile(path));
      if (there == input.digest) continue;
      return fail(Code::kAlreadyExists, path + ": is not " + input.what + "; move it away");
    }
    const auto got = storage::getFile(client.blobs(), client.instance(), input.digest, path);
    if (!got) return fail(client.explain(got.error()).in(input.what));
  }
  return {};
}

}  // namespace kiln::client

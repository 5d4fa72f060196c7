#include "signing/server/legacy_records.h"

#include "signing/bundle/bundle.h"
#include "signing/keys/files.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxBundleBytes = 12u << 20;

}  // namespace

Result<std::optional<std::string>> LegacyRecords::find(const Digest& payload) const {
  if (directory_.empty()) return std::optional<std::string>();
  const std::string path = directory_ + "/" + payload.hex() + ".json";
  auto text = readTextFile(path, kMaxBundleBytes);
  if (!text && text.error().code == Code::kNotFound) return std::optional<std::string>();
  if (!text) return fail(text.error());
  auto bundle = parseBundle(*text);
  if (!bundle || digestOf(bundle->envelope.payload).hash != payload.hash)
    return fail(Code::kDataLoss, path + ": the record is damaged; restore it from a backup");
  return std::optional<std::string>(std::move(*text));
}

}  // namespace kiln::signing

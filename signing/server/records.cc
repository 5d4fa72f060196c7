#include "signing/server/records.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "manifest/base/file.h"
#include "signing/bundle/bundle.h"
#include "signing/keys/files.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxBundleBytes = 12u << 20;

}  // namespace

Result<Records> Records::open(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return fail(errnoError(errno, directory));
  struct stat status{};
  if (::stat(directory.c_str(), &status) != 0) return fail(errnoError(errno, directory));
  if (!S_ISDIR(status.st_mode)) return fail(Code::kInvalidArgument, directory + ": not a directory");
  if (::access(directory.c_str(), W_OK | X_OK) != 0) return fail(errnoError(errno, directory));
  return Records(directory);
}

std::string Records::pathOf(const Digest& payload) const {
  return directory_ + "/" + payload.hex() + ".json";
}

Result<std::optional<std::string>> Records::find(std::string_view payload) const {
  return find(digestOf(payload));
}

Result<std::optional<std::string>> Records::find(const Digest& payload) const {
  std::string path = pathOf(payload);
  auto text = readTextFile(path, kMaxBundleBytes);
  if (!text && text.error().code == Code::kNotFound) return std::optional<std::string>();
  if (!text) return fail(text.error());
  auto bundle = parseBundle(*text);
  if (!bundle || digestOf(bundle->envelope.payload).hash != payload.hash)
    return fail(Code::kDataLoss, path + ": the record is damaged; restore it from a backup");
  return std::optional<std::string>(std::move(*text));
}

Result<std::string> Records::add(std::string_view payload, const std::string& bundle) const {
  static std::atomic<unsigned> counter{0};
  std::string path = pathOf(digestOf(payload));
  std::string temp = path + "." + std::to_string(::getpid()) + "." + std::to_string(counter++) + ".new";
  ::unlink(temp.c_str());  // of an earlier process with our id
  if (auto written = writeSecretFile(temp, bundle); !written) {
    ::unlink(temp.c_str());
    return fail(written.error());
  }
  int failed = ::link(temp.c_str(), path.c_str()) != 0 ? errno : 0;  // unlike rename, never replaces
  ::unlink(temp.c_str());
  if (failed && failed != EEXIST) return fail(errnoError(failed, path));
  KILN_TRY(syncDirectory(directory_));
  if (!failed) return bundle;
  KILN_ASSIGN(auto first, find(payload));
  if (!first) return fail(Code::kAborted, path + ": vanished while it was written; try again");
  return *first;
}

}  // namespace kiln::signing

#include "worker/fetcher/fetch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "manifest/base/file.h"
#include "manifest/spec/external_path.h"
#include "storage/source/onnx_external.h"

namespace kiln::fetcher {
namespace {

Error invalidModel(const std::string& path, const std::string& why) {
  return {Code::kInvalidArgument, path + ": " + why, R"({"exitCode":3})"};
}

// The directories above `name` below `out`, then the file; none of them was there before this program ran.
Status writeFile(const std::string& out, const std::string& name, const std::string& bytes) {
  for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    KILN_TRY(makeDirectory(out + "/" + name.substr(0, slash), 0755));
  }
  KILN_ASSIGN(const auto file,
              openFile(out + "/" + name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644, name));
  return writeAll(file.get(), asBytes(bytes), name);
}

// A full disk is this machine's, and no limit that the source exceeds.
Status writeOutput(const std::string& out, const std::string& name, const std::string& bytes) {
  Status written = writeFile(out, name, bytes);
  if (!written && written.error().code == Code::kResourceExhausted) written.error().code = Code::kUnavailable;
  return written;
}

}  // namespace

Status writeModel(const ReadFile& read, const std::string& path, const std::string& out,
                  const Limits& limits) {
  const std::size_t slash = path.rfind('/');
  const std::string home = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string name = path.substr(home.size());
  KILN_ASSIGN(std::string model, read(path, limits.fileBytes));
  KILN_TRY(writeOutput(out, name, model));
  KILN_ASSIGN(const auto locations, source::externalLocations(asBytes(model)));
  if (locations.size() > limits.files) {
    return fail(Code::kResourceExhausted,
                path + ": names more than " + std::to_string(limits.files) + " data files");
  }
  std::uint64_t left = limits.totalBytes - std::min<std::uint64_t>(limits.totalBytes, model.size());
  std::string().swap(model);  // large files are in memory one at a time
  for (const std::string& location : locations) {
    if (const auto plain = externalPath(location); !plain)
      return fail(invalidModel(path, plain.error().message));
    if (location == name) return fail(invalidModel(path, "names itself as external data"));
    auto data = read(home + location, std::min(limits.fileBytes, left));
    if (!data) return fail(data.error().in("external data of " + path));
    left -= std::min<std::uint64_t>(left, data->size());
    KILN_TRY(writeOutput(out, location, *data));
  }
  return {};
}

}  // namespace kiln::fetcher

#include "worker/fetcher/fetch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "manifest/base/file.h"
#include "manifest/spec/external_path.h"
#include "storage/lfs/pointer.h"
#include "storage/source/onnx_external.h"

namespace kiln::fetcher {
namespace {

Error invalidModel(const std::string& path, const std::string& why) {
  return {Code::kInvalidArgument, path + ": " + why, R"({"exitCode":3})"};
}

// The directories above `name` below `out`; none of them was there before this program ran.
Status makeDirectoriesAbove(const std::string& out, const std::string& name) {
  for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
    KILN_TRY(makeDirectory(out + "/" + name.substr(0, slash), 0755));
  return {};
}

Status writeFile(const std::string& out, const std::string& name, const std::string& bytes) {
  KILN_TRY(makeDirectoriesAbove(out, name));
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

// The files of one model on their way from a commit to a directory.
class Writer {
 public:
  Writer(const Commit& commit, const std::string& out, const Limits& limits)
      : commit_(commit), out_(out), limits_(limits), left_(limits.totalBytes) {}

  // Writes the file at `path` as `name`, or keeps for fetch() what its pointer stands for, of at most
  // `largeBytes`.
  Status add(const std::string& path, const std::string& name, std::uint64_t largeBytes) {
    KILN_ASSIGN(const std::string bytes, commit_.read(path, std::min(limits_.fileBytes, left_)));
    const auto object = lfs::readPointer(bytes);
    if (!object) return fail(object.error().in(path));
    if (!*object) {
      left_ -= std::min<std::uint64_t>(left_, bytes.size());
      return writeOutput(out_, name, bytes);
    }
    const lfs::LargeFile file{path, **object, out_ + "/" + name};
    const std::uint64_t most = std::min(largeBytes, left_);
    if (file.object.size > most)
      return fail(Code::kOutOfRange, lfs::describe(file) + " has " + std::to_string(file.object.size) +
                                         " bytes; at most " + std::to_string(most) + " are fetched");
    left_ -= file.object.size;
    large_.push_back(file);
    return makeDirectoriesAbove(out_, name);
  }

  // What was kept.
  Status fetch() {
    if (large_.empty()) return {};
    KILN_TRY(commit_.fetchLarge(large_));
    large_.clear();
    return {};
  }

 private:
  const Commit& commit_;
  const std::string& out_;
  const Limits& limits_;
  std::uint64_t left_;
  std::vector<lfs::LargeFile> large_;
};

}  // namespace

Status writeModel(const Commit& commit, const std::string& path, const std::string& out,
                  const Limits& limits) {
  const std::size_t slash = path.rfind('/');
  const std::string home = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string name = path.substr(home.size());
  Writer writer(commit, out, limits);
  KILN_TRY(writer.add(path, name, limits.fileBytes));
  KILN_TRY(writer.fetch());
  KILN_ASSIGN(const auto locations, source::externalLocationsOfFile(out + "/" + name));
  if (locations.size() > limits.files) {
    return fail(Code::kResourceExhausted,
                path + ": names more than " + std::to_string(limits.files) + " data files");
  }
  for (const std::string& location : locations) {
    if (const auto plain = externalPath(location); !plain)
      return fail(invalidModel(path, plain.error().message));
    if (location == name) return fail(invalidModel(path, "names itself as external data"));
    if (Status added = writer.add(home + location, location, limits.totalBytes); !added)
      return fail(added.error().in("external data of " + path));
  }
  if (Status fetched = writer.fetch(); !fetched) return fail(fetched.error().in("external data of " + path));
  return {};
}

}  // namespace kiln::fetcher

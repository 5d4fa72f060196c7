#include "worker/fetcher/fetch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "compiler_core/frontend/folder/model_folder.h"
#include "compiler_core/frontend/parameters/shard_index.h"
#include "manifest/base/file.h"
#include "manifest/base/mapped_file.h"
#include "manifest/base/printable.h"
#include "manifest/spec/compile_spec.h"
#include "manifest/spec/external_path.h"
#include "manifest/spec/model_name.h"
#include "manifest/spec/path.h"
#include "storage/lfs/pointer.h"
#include "storage/source/fetched_model.h"
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
      : commit_(commit), out_(out), limits_(limits), left_(limits.totalBytes), look_(limits.totalBytes) {}

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

  // Counts the bytes of a file that is looked at and not written.
  Result<std::string> look(const std::string& path) {
    KILN_ASSIGN(std::string bytes, commit_.read(path, std::min(limits_.fileBytes, look_)));
    look_ -= std::min<std::uint64_t>(look_, bytes.size());
    return bytes;
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
  std::uint64_t left_, look_;
  std::vector<lfs::LargeFile> large_;
};

// The external data of the model that was written as `output`, at `path` of the commit, below `data`.
Status addExternalData(Writer& writer, const std::string& path, const std::string& output,
                       const std::string& data, const Limits& limits) {
  const std::string home = path.substr(0, path.rfind('/') + 1);
  const std::string name = path.substr(home.size());
  KILN_ASSIGN(const auto locations, source::externalLocationsOfFile(output));
  if (locations.size() > limits.files) {
    return fail(Code::kResourceExhausted,
                path + ": names more than " + std::to_string(limits.files) + " data files");
  }
  for (const std::string& location : locations) {
    if (const auto plain = externalPath(location); !plain)
      return fail(invalidModel(path, plain.error().message));
    if (location == name) return fail(invalidModel(path, "names itself as external data"));
    if (isModelFileName(location) || location == "spec.json")
      return fail(invalidModel(path, "its external data is called " + inQuotes(location) +
                                         ", which a build uses for a file of its own; save the data under "
                                         "another name"));
    if (Status added = writer.add(home + location, data + location, limits.totalBytes); !added)
      return fail(added.error().in("external data of " + path));
  }
  if (Status fetched = writer.fetch(); !fetched) return fail(fetched.error().in("external data of " + path));
  return {};
}

// By its bytes; by its name where Git LFS keeps it.
Result<bool> isModel(Writer& writer, const std::string& path) {
  KILN_ASSIGN(const std::string bytes, writer.look(path));
  const auto object = lfs::readPointer(bytes);
  if (!object || *object) return modelFileName(path) == "model.mlir";
  return frontend::formatOf(asBytes(bytes)) != frontend::Format::kOther;
}

Result<frontend::ChosenModel> chooseModel(const Commit& commit, Writer& writer, const std::string& folder) {
  const std::string home = folder == source::kWholeCommit ? "" : folder + "/";
  const auto pathOf = [&](const std::string& below) { return below.empty() ? folder : home + below; };
  const auto files = [&](const std::string& below) -> Result<std::vector<std::string>> {
    if (!below.empty()) {
      KILN_ASSIGN(const auto above, commit.list(folder));
      if (!above || !std::ranges::binary_search(above->folders, below)) return std::vector<std::string>();
    }
    KILN_ASSIGN(auto listing, commit.list(pathOf(below)));
    return listing ? std::move(listing->files) : std::vector<std::string>();
  };
  const frontend::FolderView view{files,
                                  [&](const std::string& file) { return isModel(writer, home + file); }};
  KILN_ASSIGN(frontend::ChosenModel chosen, frontend::chooseModel(folder, view));
  if (const Status named = checkRelativePath(home + chosen.model); !named)
    return fail(named.error().in(inQuotes(home + chosen.model)));
  return chosen;
}

// The files that the weights called `name` lie in.
Result<std::vector<std::string>> weightFiles(Writer& writer, const std::string& home, const std::string& name,
                                             const Limits& limits) {
  if (name != frontend::kWeightsIndex) return std::vector<std::string>{name};
  KILN_ASSIGN(const std::string text, writer.look(home + name));
  if (const auto object = lfs::readPointer(text); !object || *object)
    return fail(Code::kUnimplemented,
                home + name + ": Git LFS keeps this index; name the shards by --params");
  auto index = parameters::readShardIndex(asBytes(text));
  if (!index) return fail(invalidModel(home + name, index.error().message));
  if (index->shards.size() > limits.files)
    return fail(Code::kResourceExhausted,
                home + name + ": names more than " + std::to_string(limits.files) + " files");
  return std::move(index->shards);
}

Status writeFolder(const Commit& commit, const std::string& folder, const std::string& out,
                   const Limits& limits) {
  Writer writer(commit, out, limits);
  KILN_ASSIGN(const frontend::ChosenModel chosen, chooseModel(commit, writer, folder));
  const std::string home = folder == source::kWholeCommit ? "" : folder + "/";
  const std::string path = home + chosen.model, name = source::kFetchedModel + chosen.model;
  KILN_TRY(writer.add(path, name, limits.fileBytes));
  KILN_TRY(writer.fetch());
  KILN_ASSIGN(const auto map, MappedFile::open(out + "/" + name));
  const frontend::Format format = frontend::formatOf(map->bytes());
  if (format == frontend::Format::kOther)
    return addExternalData(writer, path, out + "/" + name, source::kFetchedData, limits);
  if (chosen.weights.empty() || !frontend::takesWeights(format)) return {};
  KILN_ASSIGN(const auto files, weightFiles(writer, home, chosen.weights, limits));
  for (const std::string& file : files)
    if (Status added = writer.add(home + file, source::kFetchedWeights + file, limits.totalBytes); !added)
      return fail(added.error().in("weights of " + path));
  if (Status fetched = writer.fetch(); !fetched) return fail(fetched.error().in("weights of " + path));
  return {};
}

}  // namespace

Status writeModel(const Commit& commit, const std::string& path, const std::string& out,
                  const Limits& limits) {
  KILN_ASSIGN(const auto folder, commit.list(path));
  if (folder) return writeFolder(commit, path, out, limits);
  const std::string name = path.substr(path.rfind('/') + 1);
  Writer writer(commit, out, limits);
  KILN_TRY(writer.add(path, name, limits.fileBytes));
  KILN_TRY(writer.fetch());
  return addExternalData(writer, path, out + "/" + name, "", limits);
}

}  // namespace kiln::fetcher

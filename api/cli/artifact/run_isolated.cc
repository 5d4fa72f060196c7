#include "api/cli/artifact/run_isolated.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "api/cli/base/program_directory.h"
#include "manifest/base/run_program.h"
#include "manifest/base/scratch_directory.h"
#include "manifest/json/error_line.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;
using runtime::Tensors;

// As long as the clock of a poll() goes. Whoever wants it shorter ends the command.
constexpr auto kLongest = std::chrono::hours(24 * 24);

// For what goes in and comes out. Under root the program is another user, whatever this one's umask.
Result<ScratchDirectory> makeScratch() {
  KILN_ASSIGN(auto scratch, ScratchDirectory::makeTemporary("kiln-run-"));
  for (const char* name : {"/inputs", "/outputs"}) {
    const std::string path = scratch.path() + name;
    if (::mkdir(path.c_str(), 0755) != 0 || ::chmod(path.c_str(), 0755) != 0)
      return fail(errnoError(errno, path));
  }
  return scratch;
}

// Under root the program runs as a user who may not read the artifact: then it gets a copy.
Result<std::string> readableArtifact(const node::VerifiedArtifact& artifact, const std::string& scratch) {
  std::error_code error;
  if (::geteuid() != 0) return fs::absolute(artifact.directory, error).string();
  const std::string copy = scratch + "/artifact";
  std::vector<std::string> paths = {"manifest.json"};
  for (const ArtifactFile& file : artifact.manifest().files()) paths.push_back(file.path);
  constexpr auto kDirectory = static_cast<fs::perms>(0755), kFile = static_cast<fs::perms>(0444);
  for (const std::string& path : paths) {
    const fs::path to = fs::path(copy) / path;
    fs::create_directories(to.parent_path(), error);
    if (!error) fs::copy_file(fs::path(artifact.directory) / path, to, error);
    if (!error) fs::permissions(to, kFile, error);
    for (fs::path at = to.parent_path(); !error && at.string().size() >= copy.size(); at = at.parent_path())
      fs::permissions(at, kDirectory, error);
    if (error) return fail(errnoError(error.value(), to.string()));
  }
  return copy;
}

std::string numbered(const std::string& directory, std::size_t i) {
  return directory + "/" + std::to_string(i) + ".npy";
}

Status writeInputs(const std::string& directory, const std::vector<TensorInfo>& wanted,
                   const Tensors& inputs) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    for (const auto& input : inputs) {
      if (input.name != wanted[i].name) continue;
      KILN_TRY(npy::write(numbered(directory, i), input.tensor));
      if (::chmod(numbered(directory, i).c_str(), 0444) != 0) return fail(errnoError(errno, directory));
    }
  return {};
}

// What lies there was written by whoever controls the program: it is believed no more than the artifact's
// manifest allows. kiln-isolated has seen to it that there are plain files alone.
Result<Tensors> readOutputs(const std::string& directory, const Manifest& manifest, bool each) {
  Tensors outputs;
  for (std::size_t i = 0; i < manifest.outputs.size(); ++i) {
    const TensorInfo& info = manifest.outputs[i];
    auto tensor = npy::read(numbered(directory, i), info.dtype);
    if (!tensor) return fail(Code::kInternal, "output \"" + info.name + "\": " + tensor.error().message);
    const std::size_t rank = tensor->shape.size(), wanted = info.shape.size();
    if (tensor->dtype != info.dtype || (rank != wanted && !(each && rank == wanted + 1)))
      return fail(Code::kInternal, "output \"" + info.name + "\" came back in another type or shape");
    outputs.push_back({info.name, std::move(*tensor)});
  }
  return outputs;
}

}  // namespace

Result<Tensors> runIsolated(const node::VerifiedArtifact& artifact, const Tensors& inputs,
                            const IsolatedOptions& options) {
  const Manifest& manifest = artifact.manifest();
  if (!manifest.devices.empty())
    return fail(Code::kUnimplemented, "--isolated: the artifact has kernels for " +
                                          manifest.devices.front().target +
                                          "; only programs for processors run in there");
  KILN_ASSIGN(const ScratchDirectory scratch, makeScratch());
  const std::string in = scratch.path() + "/inputs", out = scratch.path() + "/outputs";
  KILN_TRY(writeInputs(in, manifest.inputs, inputs));
  KILN_ASSIGN(const std::string directory, readableArtifact(artifact, scratch.path()));
  std::vector<std::string> arguments = {programDirectory() + "/kiln-isolated",
                                        "--artifact",
                                        directory,
                                        "--inputs",
                                        in,
                                        "--outputs",
                                        out,
                                        "--threads",
                                        std::to_string(options.threads)};
  if (options.each) arguments.emplace_back("--each");
  if (options.checked) arguments.emplace_back("--checked");
  KILN_ASSIGN(const auto ended, runProgram(arguments, {.limit = kLongest}));
  if (ended.exitCode == 0) return readOutputs(out, manifest, options.each);
  auto error = readErrorLine(ended.out);
  if (!error)
    return fail(Code::kInternal,
                fmt::format("kiln-isolated ended with exit code {} and said nothing", ended.exitCode));
  return fail(std::move(*error));
}

}  // namespace kiln::cli

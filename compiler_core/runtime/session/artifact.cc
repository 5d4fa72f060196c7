#include "compiler_core/runtime/session/artifact.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "compiler_core/runtime/program/cpu_features.h"
#include "compiler_core/runtime/session/guards.h"

namespace kiln::runtime {
namespace {

constexpr std::uint64_t kMaxDocument = 4u << 20;

// Whatever is wrong with a document of the artifact, the artifact is what is wrong.
Error asInvalidArtifact(Error error, const std::string& path) {
  error.code = Code::kDataLoss;
  return error.in(path);
}

Result<Manifest> readManifest(const std::string& path) {
  KILN_ASSIGN(const std::string text, readDocument(path));
  const auto json = parseStrictJson(text, {.bytes = kMaxDocument});
  if (!json) return fail(asInvalidArtifact(json.error(), path));
  auto manifest = Manifest::fromJson(*json);
  if (!manifest) return fail(asInvalidArtifact(manifest.error(), path));
  return manifest;
}

}  // namespace

Result<std::string> readDocument(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return fail(Code::kDataLoss, errnoError(errno, path).message);
  struct stat status;
  std::string text;
  bool ok = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
            static_cast<std::uint64_t>(status.st_size) <= kMaxDocument;
  if (ok) {
    text.resize(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    while (ok && done < text.size()) {
      const ssize_t got = ::read(file, text.data() + done, text.size() - done);
      if (got < 0 && errno == EINTR) continue;
      ok = got > 0;
      done += ok ? static_cast<std::size_t>(got) : 0;
    }
  }
  ::close(file);
  if (!ok) return fail(Code::kDataLoss, path + ": not a readable regular file of at most 4 MiB");
  return text;
}

Result<std::shared_ptr<const LoadedArtifact>> LoadedArtifact::load(const std::string& directory) {
  const auto start = std::chrono::steady_clock::now();
  KILN_ASSIGN(Manifest manifest, readManifest(directory + "/manifest.json"));
  KILN_TRY(checkTensorSizes(manifest));
  KILN_TRY(checkHostFeatures(manifest.spec.features, manifest.spec.target));
  KILN_ASSIGN(auto program, Program::load(directory + "/" + manifest.program.path, manifest));
  KILN_ASSIGN(Weights weights, Weights::map(directory, manifest));
  KILN_ASSIGN(DeviceImages images, DeviceImages::read(directory, manifest));
  auto artifact = std::make_shared<LoadedArtifact>();
  artifact->directory = directory;
  artifact->manifest = std::move(manifest);
  artifact->program = std::move(program);
  artifact->weights = std::move(weights);
  artifact->images = std::move(images);
  artifact->loadTime = std::chrono::steady_clock::now() - start;
  return artifact;
}

}  // namespace kiln::runtime

#include "compiler_core/runtime/program/weights.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "compiler_core/runtime/program_abi.h"

namespace kiln::runtime {
namespace {

alignas(KILN_ALIGNMENT) constexpr std::uint8_t kEmpty[KILN_ALIGNMENT] = {};  // where empty weights are

}  // namespace

// The program reads each weight at its own place in the list and does not ask for its size: one that stands
// in another's place would be read beyond its end.
Status Weights::checkOrder(const Manifest& manifest) {
  for (std::size_t i = 0; i < manifest.weights.size(); ++i) {
    const std::string& path = manifest.weights[i].path;
    const std::string number = std::to_string(i);
    const std::string wanted =
        "weights/" + std::string(number.size() < 4 ? 4 - number.size() : 0, '0') + number + ".bin";
    if (path != wanted) {
      return fail(Code::kDataLoss, "manifest.json: " + path + " stands where " + wanted +
                                       " belongs: the program would read the wrong weights; fetch the "
                                       "artifact again");
    }
  }
  return {};
}

Result<Weights> Weights::map(const std::string& directory, const Manifest& manifest) {
  KILN_TRY(checkOrder(manifest));
  Weights weights;
  for (const ArtifactFile& file : manifest.weights) {
    KILN_TRY(weights.add(directory + "/" + file.path, file.digest.size));
  }
  return weights;
}

Status Weights::add(const std::string& path, std::uint64_t bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return fail(Code::kDataLoss, errnoError(errno, path).message);
  struct stat status;
  const bool regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular || static_cast<std::uint64_t>(status.st_size) != bytes) {
    ::close(file);
    return fail(Code::kDataLoss, path + ": not a regular file of the manifest's " + std::to_string(bytes) +
                                     " bytes; fetch the artifact again");
  }
  if (bytes == 0) {
    ::close(file);
    pointers_.push_back(kEmpty);
    return {};
  }
  void* const address = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  ::close(file);
  if (address == MAP_FAILED)
    return fail(Code::kResourceExhausted, errnoError(error, "mapping " + path).message);
  maps_.push_back({address, bytes});
  pointers_.push_back(address);
  bytes_ += bytes;
  return {};
}

Weights::~Weights() {
  for (const Map& map : maps_) ::munmap(map.address, map.bytes);
}

}  // namespace kiln::runtime

#include "compiler_core/runtime/device/device_artifact.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "compiler_core/runtime/device/device_layout.h"
#include "compiler_core/runtime/device/open_device.h"
#include "manifest/artifact/device_image_limit.h"
#include "manifest/artifact/media_types.h"
#include "manifest/base/file.h"
#include "manifest/elf/elf_sections.h"

namespace kiln::runtime {
namespace {

// Drivers get a pointer without a length and believe the header: what it names must lie within the file.
bool isWhole(const std::string& bytes) {
  constexpr Elf64_Half kCuda = 190;  // EM_CUDA
  const auto elf = readElfSections(bytes);
  if (!elf || elf->header.e_machine != kCuda) return false;
  const std::uint64_t segments = std::uint64_t{elf->header.e_phnum} * elf->header.e_phentsize;
  return elf->header.e_phoff <= bytes.size() && segments <= bytes.size() - elf->header.e_phoff;
}

Result<std::string> readImage(const std::string& path, const ArtifactFile& file) {
  const auto bad = [&](const std::string& why) { return fail(Code::kDataLoss, path + ": " + why); };
  if (file.digest.size > kMaxDeviceImageBytes)
    return bad("larger than " + std::to_string(kMaxDeviceImageBytes) + " bytes");
  auto opened = openFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, path);
  if (!opened) return bad(opened.error().message);
  struct stat status;
  if (::fstat(opened->get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) != file.digest.size)
    return bad("not a regular file of the manifest's " + std::to_string(file.digest.size) +
               " bytes; fetch the artifact again");
  std::string bytes(file.digest.size, '\0');
  KILN_TRY(
      readExactly(opened->get(), {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()}, 0, path));
  if (digestOf(bytes) != file.digest)
    return bad("its digest is not the manifest's; fetch the artifact again");
  if (file.mediaType == kCubinMediaType && !isWhole(bytes))
    return bad("not an ELF file of kernels, or cut off");
  return bytes;
}

}  // namespace

Result<DeviceImages> DeviceImages::read(const std::string& directory, const Manifest& manifest) {
  DeviceImages images;
  for (const DeviceImageInfo& device : manifest.devices) {
    KILN_ASSIGN(std::string bytes, readImage(directory + "/" + device.image.path, device.image));
    images.bytes_.push_back(std::move(bytes));
  }
  return images;
}

Result<std::shared_ptr<const DeviceArtifact>> DeviceArtifact::load(
    const Manifest& manifest, const DeviceImages& images, const Weights& weights, const DevicePlan& plan,
    const std::string& cache, std::shared_ptr<const ComputeDevice> device) {
  std::shared_ptr<DeviceArtifact> artifact(new DeviceArtifact(std::move(device)));
  const auto scope = artifact->device_->enter();
  KILN_ASSIGN(artifact->freeBefore_, artifact->device_->freeBytes());
  KILN_TRY(checkDeviceMemory(plan, false, artifact->device_->info(), artifact->freeBefore_));
  KILN_TRY(artifact->loadKernels(manifest, images, cache));
  KILN_TRY(artifact->loadWeights(manifest, weights, plan));
  return artifact;
}

Status DeviceArtifact::loadKernels(const Manifest& manifest, const DeviceImages& images,
                                   const std::string& cache) {
  for (std::size_t i = 0; i < manifest.devices.size(); ++i) {
    KILN_ASSIGN(auto module, device_->load(manifest.devices[i], images.bytes()[i], cache));
    if (cache_.empty()) cache_ = module->cache();
    modules_.push_back(std::move(module));
  }
  return {};
}

Status DeviceArtifact::loadWeights(const Manifest& manifest, const Weights& weights, const DevicePlan& plan) {
  KILN_ASSIGN(const auto queue, device_->makeQueue({}));
  if (plan.weightBytes != 0) {
    KILN_ASSIGN(memory_, device_->allocate(plan.weightBytes, "weights"));
  }
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < manifest.weights.size(); ++i) {
    const void* const mapped = weights.pointers()[i];
    if (manifest.weightSpaces[i] == 0) {
      pointers_.push_back(mapped);
      continue;
    }
    const std::uint64_t bytes = manifest.weights[i].digest.size;
    const std::uint64_t place = memory_ ? memory_->address() + offset : 0;
    if (bytes != 0) {
      if (const Status there = queue->upload(place, mapped, bytes); !there)
        return fail(there.error().in("uploading " + manifest.weights[i].path));
    }
    pointers_.push_back(reinterpret_cast<const void*>(place));
    offset += deviceAligned(bytes);
  }
  return queue->wait();
}

const KernelModule* DeviceArtifact::module(std::uint32_t space) const {
  return space == 0 || space > modules_.size() ? nullptr : modules_[space - 1].get();
}

Result<std::shared_ptr<const DeviceArtifact>> DeviceArtifacts::on(const std::string& library, int ordinal,
                                                                  const std::string& cache,
                                                                  const Manifest& manifest,
                                                                  const DeviceImages& images,
                                                                  const Weights& weights) const {
  const MutexLock lock(mutex_);
  auto& place = loaded_[{library, ordinal}];
  if (auto there = place.lock()) return there;
  KILN_ASSIGN(auto device, openDevice(manifest.devices.front().target, library, ordinal));
  for (std::size_t i = 0; i < manifest.devices.size(); ++i)
    KILN_TRY(device->check(manifest.devices[i], images.bytes()[i]));
  KILN_ASSIGN(const DevicePlan plan, devicePlan(manifest));
  KILN_ASSIGN(auto loaded, DeviceArtifact::load(manifest, images, weights, plan, cache, std::move(device)));
  place = loaded;
  return loaded;
}

}  // namespace kiln::runtime

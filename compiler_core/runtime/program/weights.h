// Weight blobs mapped read-only: pages are shared between processes and never copied.
#pragma once

#include <string>
#include <vector>

#include "manifest/artifact/manifest.h"

namespace kiln::runtime {

class Weights {
 public:
  // Maps DIRECTORY/<path> of every weight of the manifest. kDataLoss if they are not in the order in which
  // kiln-cc numbers them ("weights/0000.bin", "weights/0001.bin", ...), before anything is mapped, or if one
  // is missing or has another size than its digest says (its bytes were verified before, see kiln_runtime.h);
  // kResourceExhausted if it cannot be mapped.
  static Result<Weights> map(const std::string& directory, const Manifest& manifest);
  ~Weights();
  Weights() = default;  // none
  Weights(Weights&& other) noexcept = default;
  Weights& operator=(Weights&& other) noexcept {
    std::swap(maps_, other.maps_);
    std::swap(pointers_, other.pointers_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  // As kiln_run takes them; page-aligned, never null.
  const void* const* pointers() const { return pointers_.data(); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Map {
    void* address;
    std::size_t bytes;
  };
  static Status checkOrder(const Manifest& manifest);
  Status add(const std::string& path, std::uint64_t bytes);
  std::vector<Map> maps_;
  std::vector<const void*> pointers_;
  std::uint64_t bytes_ = 0;
};

}  // namespace kiln::runtime

// A file's bytes copied to anonymous memory that nobody can change any more.
#pragma once

#include <string>

#include "manifest/base/digest.h"

namespace kiln::runtime {

// Owns a sealed memfd and a read-only view of it.
class SealedFile {
 public:
  // Copies a regular file of exactly `bytes`. kDataLoss if it has another size or cannot be read,
  // kResourceExhausted if the system gives no memory; errors name the path.
  static Result<SealedFile> copy(const std::string& path, std::uint64_t bytes);
  ~SealedFile();
  SealedFile(SealedFile&& other) noexcept;
  SealedFile& operator=(SealedFile&& other) noexcept;

  Bytes bytes() const { return {view_, size_}; }
  int descriptor() const { return descriptor_; }
  // Gives up the descriptor; the view stays until destruction.
  int release();

 private:
  SealedFile(int descriptor, std::size_t size) : descriptor_(descriptor), size_(size) {}
  int descriptor_ = -1;
  const std::uint8_t* view_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kiln::runtime

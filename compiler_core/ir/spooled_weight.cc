#include "compiler_core/ir/spooled_weight.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "manifest/base/file.h"
#include "manifest/base/mapped_file.h"

namespace kiln::ir {
namespace {

// Null where it cannot be written.
std::shared_ptr<const MappedFile> spool(const std::string& directory, Bytes bytes) {
  std::string path = directory + "/.weight-XXXXXX";
  UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file) return nullptr;
  ::unlink(path.c_str());
  if (!writeAll(file.get(), bytes, path)) return nullptr;
  auto mapped = MappedFile::fromDescriptor(file.release(), path);
  return mapped ? std::move(*mapped) : nullptr;
}

}  // namespace

std::int64_t addSpooled(WeightTable& table, const std::string& directory, std::string name, DType dtype,
                        std::vector<std::int64_t> shape, std::vector<std::uint8_t> bytes) {
  if (!directory.empty() && bytes.size() >= kSpooledBytes)
    if (auto file = spool(directory, bytes)) {
      const Bytes view = file->bytes();
      return table.add({std::move(name), dtype, std::move(shape), view, std::move(file)});
    }
  return table.addOwned(std::move(name), dtype, std::move(shape), std::move(bytes));
}

}  // namespace kiln::ir

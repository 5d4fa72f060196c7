#include "tests/compiler_core/host/emulated_kernels.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace kiln::testing {

EmulatedKernels::Loaded::~Loaded() {
  if (handle) ::dlclose(handle);
  if (file >= 0) ::close(file);
}

Result<EmulatedKernels> EmulatedKernels::load(const std::string& elf) {
  auto loaded = std::make_shared<Loaded>();
  loaded->file = ::memfd_create("kernels", MFD_CLOEXEC);
  if (loaded->file < 0) return fail(errnoError(errno, "memfd_create"));
  if (::write(loaded->file, elf.data(), elf.size()) != static_cast<ssize_t>(elf.size()))
    return fail(errnoError(errno, "write"));
  loaded->handle = ::dlopen(fmt::format("/proc/self/fd/{}", loaded->file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded->handle) return fail(Code::kInternal, ::dlerror());
  const auto* table = static_cast<const kiln_emulation*>(::dlsym(loaded->handle, KILN_EMULATION_SYMBOL));
  if (!table || table->abi != KILN_EMULATION_ABI) return fail(Code::kInternal, "no " KILN_EMULATION_SYMBOL);
  return EmulatedKernels(std::move(loaded), table);
}

std::string EmulatedKernels::launch(const kiln_launch& launch, emulated::Order order) const {
  if (launch.kernel >= table_->count) return fmt::format("there is no kernel {}", launch.kernel);
  const kiln_emulated_entry& entry = table_->entries[launch.kernel];
  if (entry.threads != launch.block || entry.argument_count != launch.argument_count)
    return fmt::format("{} is launched with {} threads and {} arguments", entry.name, launch.block,
                       launch.argument_count);
  emulated::GridRunner runner(order, 1);
  const std::string failure = runner.run({nullptr,
                                          &entry,
                                          {launch.grid[0], launch.grid[1], launch.grid[2]},
                                          {launch.arguments, launch.arguments + launch.argument_count}});
  return failure.empty() ? "" : fmt::format("{}, {}", entry.name, failure);
}

}  // namespace kiln::testing

#include "tests/compiler_core/codegen/cuda/emulated_block.h"

#include <dlfcn.h>
#include <ucontext.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <span>

#include "tests/support/temp_directory.h"

namespace kiln::testing {
namespace {

constexpr std::uint32_t kWarp = 32;
enum class Waits { kNot, kBarrier, kWarp };

struct Fiber {
  kiln_emulated_thread thread{};
  ucontext_t context{};
  std::vector<char> stack = std::vector<char>(KILN_EMULATED_STACK);
  struct Block* block = nullptr;
  Waits waits = Waits::kNot;
  bool done = false;
  std::uint32_t kind = 0;
  const std::uint32_t* in = nullptr;
  std::uint32_t* out = nullptr;
};

struct Block {
  const kiln_emulated_entry& kernel;
  const std::vector<std::uint64_t>& arguments;
  std::vector<Fiber> fibers;
  ucontext_t scheduler{};
};

Fiber& fiberOf(kiln_emulated_thread* thread) {
  return *static_cast<Fiber*>(thread->driver);
}

void wait(Fiber& fiber, Waits what) {
  fiber.waits = what;
  ::swapcontext(&fiber.context, &fiber.block->scheduler);
}

void barrier(kiln_emulated_thread* self) {
  wait(fiberOf(self), Waits::kBarrier);
}

void collective(kiln_emulated_thread* self, std::uint32_t kind, const std::uint32_t* in, std::uint32_t* out) {
  Fiber& fiber = fiberOf(self);
  fiber.kind = kind;
  fiber.in = in;
  fiber.out = out;
  wait(fiber, Waits::kWarp);
}

void enter(unsigned low, unsigned high) {
  auto* fiber = std::bit_cast<Fiber*>(std::uint64_t{high} << 32 | low);
  fiber->block->kernel.kernel(fiber->block->arguments.data(), &fiber->thread);
  fiber->done = true;
  ::swapcontext(&fiber->context, &fiber->block->scheduler);
}

// Whether all of the fibers wait for the same.
bool all(std::span<Fiber> fibers, Waits what) {
  for (const Fiber& fiber : fibers)
    if (fiber.done || fiber.waits != what || fiber.kind != fibers.front().kind) return false;
  return true;
}

void release(std::span<Fiber> fibers) {
  for (Fiber& fiber : fibers) fiber.waits = Waits::kNot;
}

// Lets go on what has all that it waited for; whether there was anything.
bool letGo(Block& block) {
  bool any = false;
  std::span<Fiber> fibers(block.fibers);
  for (std::size_t warp = 0; warp < fibers.size(); warp += kWarp) {
    auto members = fibers.subspan(warp, kWarp);
    if (!all(members, Waits::kWarp)) continue;
    std::vector<const std::uint32_t*> in;
    std::vector<std::uint32_t*> out;
    for (Fiber& fiber : members) {
      in.push_back(fiber.in);
      out.push_back(fiber.out);
    }
    multiplyFragments(members.front().kind, in, out);
    release(members);
    any = true;
  }
  for (Fiber& fiber : fibers) any |= !fiber.done && fiber.waits == Waits::kNot;
  if (any) return true;
  for (Fiber& fiber : fibers)
    if (fiber.done || fiber.waits != Waits::kBarrier) return false;
  release(fibers);
  return true;
}

float value(std::uint32_t kind, std::uint32_t word, std::uint32_t half) {
  const auto bits = static_cast<std::uint16_t>(word >> (16 * half));
  switch (kind) {
    case KILN_COLLECTIVE_MMA_F16_M16N8K16:
      return static_cast<float>(std::bit_cast<_Float16>(bits));
    case KILN_COLLECTIVE_MMA_BF16_M16N8K16:
      return std::bit_cast<float>(std::uint32_t{bits} << 16);
    default:
      return std::bit_cast<float>(word & ~0x1fffu);
  }
}

}  // namespace

void multiplyFragments(std::uint32_t kind, const std::vector<const std::uint32_t*>& in,
                       const std::vector<std::uint32_t*>& out) {
  // Figures "MMA .m16n8k16 fragment layout" and "MMA .m16n8k8 fragment layout" of the PTX ISA: a thread is
  // (group, member) = (lane / 4, lane % 4).
  const bool tf32 = kind == KILN_COLLECTIVE_MMA_TF32_M16N8K8;
  const std::uint32_t depth = tf32 ? 8 : 16;
  float a[16][16]{}, b[16][8]{};
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    const std::uint32_t group = lane / 4, member = lane % 4;
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t row = group + 8 * (i % 2);
      if (tf32) a[row][member + 4 * (i / 2)] = value(kind, in[lane][i], 0);
      for (std::uint32_t half = 0; !tf32 && half < 2; ++half)
        a[row][member * 2 + half + 8 * (i / 2)] = value(kind, in[lane][i], half);
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      if (tf32) b[member + 4 * i][group] = value(kind, in[lane][4 + i], 0);
      for (std::uint32_t half = 0; !tf32 && half < 2; ++half)
        b[member * 2 + half + 8 * i][group] = value(kind, in[lane][4 + i], half);
    }
  }
  for (std::uint32_t lane = 0; lane < kWarp; ++lane)
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
      double sum = std::bit_cast<float>(in[lane][6 + i]);
      for (std::uint32_t k = 0; k < depth; ++k) sum += double{a[row][k]} * double{b[k][column]};
      out[lane][i] = std::bit_cast<std::uint32_t>(static_cast<float>(sum));
    }
}

void Emulation::Close::operator()(void* library) const {
  ::dlclose(library);
}

Result<Emulation> Emulation::load(const std::string& elf) {
  testing_support::TempDirectory directory;
  const std::string path = directory / "emulation.so";
  std::ofstream(path, std::ios::binary).write(elf.data(), static_cast<std::streamsize>(elf.size()));
  Emulation emulation;
  emulation.library_.reset(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!emulation.library_) return fail(Code::kInternal, ::dlerror());
  emulation.table_ =
      static_cast<const kiln_emulation*>(::dlsym(emulation.library_.get(), KILN_EMULATION_SYMBOL));
  if (!emulation.table_) return fail(Code::kInternal, "no kiln_emulation");
  return emulation;
}

const kiln_emulated_entry& Emulation::kernel(const std::string& name) const {
  for (std::uint32_t i = 0; i < table_->count; ++i)
    if (table_->entries[i].name == name) return table_->entries[i];
  std::abort();
}

Status Emulation::run(const kiln_emulated_entry& kernel, const std::vector<std::uint64_t>& arguments,
                      std::uint32_t block, bool descending) const {
  Block state{kernel, arguments, std::vector<Fiber>(kernel.threads)};
  struct Aligned {
    alignas(KILN_EMULATED_SHARED_ALIGNMENT) float words[KILN_EMULATED_SHARED_ALIGNMENT / 4];
  };
  std::vector<Aligned> shared(kernel.shared_bytes / sizeof(Aligned) + 1);
  for (Aligned& part : shared)
    for (float& word : part.words) word = std::numeric_limits<float>::quiet_NaN();
  for (std::uint32_t i = 0; i < kernel.threads; ++i) {
    Fiber& fiber = state.fibers[i];
    fiber.block = &state;
    fiber.thread = {i, block, 0, 0, shared.data(), &fiber, barrier, collective};
    ::getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    const auto address = std::bit_cast<std::uint64_t>(&fiber);
    ::makecontext(&fiber.context, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(address),
                  static_cast<unsigned>(address >> 32));
  }
  for (std::size_t ended = 0; ended < state.fibers.size();) {
    ended = 0;
    for (std::size_t i = 0; i < state.fibers.size(); ++i) {
      Fiber& fiber = state.fibers[descending ? state.fibers.size() - 1 - i : i];
      if (!fiber.done && fiber.waits == Waits::kNot) ::swapcontext(&state.scheduler, &fiber.context);
      ended += fiber.done;
    }
    if (ended < state.fibers.size() && !letGo(state))
      return fail(Code::kInternal, "threads wait for others which have ended");
  }
  return {};
}

}  // namespace kiln::testing

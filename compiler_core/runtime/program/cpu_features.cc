#include "compiler_core/runtime/program/cpu_features.h"

#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif
#if defined(__riscv)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace kiln::runtime {
namespace {

enum Register : std::uint8_t { kEax, kEbx, kEcx, kEdx };
enum Saved : std::uint8_t { kNothing, kAvx, kAvx512 };  // register state the operating system must save

struct Feature {
  std::string_view name;  // LLVM's
  std::uint32_t leaf, subleaf;
  Register reg;
  std::uint8_t bit;
  Saved saved = kNothing;
};

// Bits from the Intel SDM, volume 2A, CPUID; the AMD64 manual, volume 3, appendix E for 0x80000001.
constexpr Feature kFeatures[] = {
    {"64bit", 0x80000001, 0, kEdx, 29},
    {"x87", 1, 0, kEdx, 0},
    {"cx8", 1, 0, kEdx, 8},
    {"cmov", 1, 0, kEdx, 15},
    {"mmx", 1, 0, kEdx, 23},
    {"fxsr", 1, 0, kEdx, 24},
    {"sse", 1, 0, kEdx, 25},
    {"sse2", 1, 0, kEdx, 26},
    {"sse3", 1, 0, kEcx, 0},
    {"pclmul", 1, 0, kEcx, 1},
    {"ssse3", 1, 0, kEcx, 9},
    {"fma", 1, 0, kEcx, 12, kAvx},
    {"cx16", 1, 0, kEcx, 13},
    {"sse4.1", 1, 0, kEcx, 19},
    {"sse4.2", 1, 0, kEcx, 20},
    {"crc32", 1, 0, kEcx, 20},  // the instruction came with SSE4.2
    {"movbe", 1, 0, kEcx, 22},
    {"popcnt", 1, 0, kEcx, 23},
    {"aes", 1, 0, kEcx, 25},
    {"xsave", 1, 0, kEcx, 26},
    {"avx", 1, 0, kEcx, 28, kAvx},
    {"f16c", 1, 0, kEcx, 29, kAvx},
    {"bmi", 7, 0, kEbx, 3},
    {"avx2", 7, 0, kEbx, 5, kAvx},
    {"bmi2", 7, 0, kEbx, 8},
    {"avx512f", 7, 0, kEbx, 16, kAvx512},
    {"avx512dq", 7, 0, kEbx, 17, kAvx512},
    {"avx512cd", 7, 0, kEbx, 28, kAvx512},
    {"avx512bw", 7, 0, kEbx, 30, kAvx512},
    {"avx512vl", 7, 0, kEbx, 31, kAvx512},
    {"avx512vnni", 7, 0, kEcx, 11, kAvx512},
    {"avx512bf16", 7, 1, kEax, 5, kAvx512},
    {"sahf", 0x80000001, 0, kEcx, 0},
    {"lzcnt", 0x80000001, 0, kEcx, 5},
};

constexpr std::uint64_t kAvxState = 0x6;      // XCR0: SSE and AVX registers
constexpr std::uint64_t kAvx512State = 0xe6;  // and the mask and 512-bit ones

// Asks for each leaf once: under a hypervisor every CPUID costs tens of microseconds.
class Processor {
 public:
  explicit Processor(const CpuidSource& source) : source_(source) {}

  bool has(const Feature& feature) {
    if (!bit(feature.leaf, feature.subleaf, feature.reg, feature.bit)) return false;
    if (feature.saved == kNothing) return true;
    const std::uint64_t wanted = feature.saved == kAvx ? kAvxState : kAvx512State;
    return bit(1, 0, kEcx, 27) && (source_.xcr0() & wanted) == wanted;  // OSXSAVE allows asking for XCR0
  }

 private:
  bool bit(std::uint32_t leaf, std::uint32_t subleaf, Register reg, std::uint8_t number) {
    const auto [entry, isNew] = leaves_.try_emplace({leaf, subleaf});
    if (isNew) entry->second = source_.cpuid(leaf, subleaf);
    return (entry->second[reg] >> number & 1) != 0;
  }

  const CpuidSource& source_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::array<std::uint32_t, 4>> leaves_;
};

template <class Row, std::size_t N>
const Row* find(const Row (&table)[N], std::string_view name) {
  for (const Row& row : table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// Names of features that are not there, and of those that this runtime has never heard of.
class Findings {
 public:
  void missing(std::string_view name) { add(missing_, name); }
  void unknown(std::string_view name) { add(unknown_, name); }

  Status status(const std::string& target) const {
    if (!missing_.empty()) {
      return fail(Code::kUnimplemented, "this processor (or its operating system) lacks " + missing_ +
                                            ", which " + target +
                                            " needs; build the model for a target that this machine has");
    }
    if (!unknown_.empty()) {
      return fail(Code::kUnimplemented, "this runtime does not know the processor feature " + unknown_ +
                                            " that " + target + " needs; use a newer runtime");
    }
    return {};
  }

 private:
  static void add(std::string& list, std::string_view name) {
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  std::string missing_, unknown_;
};

std::string_view withoutPlus(std::string_view text) {
  return text.substr(text.starts_with('+') ? 1 : 0);
}

// Features that two words of bits tell. One with several bits needs all of them.
struct BitFeature {
  std::string_view name;  // LLVM's
  std::uint64_t first, second = 0;
};
constexpr std::uint64_t bits(std::initializer_list<int> numbers) {
  std::uint64_t all = 0;
  for (const int number : numbers) all |= std::uint64_t{1} << number;
  return all;
}
// AT_HWCAP and AT_HWCAP2: Linux, Documentation/arch/arm64/elf_hwcaps.rst.
constexpr BitFeature kArmFeatures[] = {
    {"v8a", 0},  // versions are sums of features, each of which is listed by itself
    {"v8.1a", 0},
    {"v8.2a", 0},
    {"fp-armv8", bits({0})},
    {"neon", bits({1})},
    {"aes", bits({3, 4})},   // AES, PMULL
    {"sha2", bits({5, 6})},  // SHA1, SHA2
    {"crc", bits({7})},
    {"lse", bits({8})},           // ATOMICS
    {"fullfp16", bits({9, 10})},  // FPHP, ASIMDHP
    {"rdm", bits({12})},          // ASIMDRDM
    {"jsconv", bits({13})},       // JSCVT
    {"complxnum", bits({14})},    // FCMA
    {"rcpc", bits({15})},         // LRCPC
    {"dotprod", bits({20})},      // ASIMDDP
    {"sve", bits({22})},
    {"fp16fml", bits({23})},  // ASIMDFHM
    {"sve2", bits({22}), bits({1})},
    {"sve-bitperm", bits({22}), bits({4})},
    {"i8mm", bits({20}), bits({13})},
    {"bf16", bits({1}), bits({14})},
};

constexpr std::uint64_t letter(char name) {
  return std::uint64_t{1} << (name - 'a');
}
// AT_HWCAP, which has a bit for each extension of one letter, and what riscv_hwprobe says of the others
// (RISCV_HWPROBE_KEY_IMA_EXT_0): Linux, Documentation/arch/riscv/{uabi,hwprobe}.rst.
constexpr BitFeature kRiscvFeatures[] = {
    {"64bit", letter('i')},    {"a", letter('a')},     {"c", letter('c')},
    {"d", letter('d')},        {"f", letter('f')},     {"m", letter('m')},
    {"v", letter('v')},        {"zicsr", letter('f')},  // F contains it
    {"zba", 0, bits({3})},     {"zbb", 0, bits({4})},  {"zbs", 0, bits({5})},
    {"zfhmin", 0, bits({28})},
};

template <std::size_t N>
Status checkBits(const BitFeature (&known)[N], std::span<const std::string> features,
                 const std::string& target, std::uint64_t first, std::uint64_t second) {
  Findings findings;
  for (const std::string& text : features) {
    const std::string_view name = withoutPlus(text);
    const BitFeature* feature = find(known, name);
    if (feature == nullptr) {
      findings.unknown(name);
    } else if ((first & feature->first) != feature->first || (second & feature->second) != feature->second) {
      findings.missing(name);
    }
  }
  return findings.status(target);
}

}  // namespace

Status checkX86Features(std::span<const std::string> features, const std::string& target,
                        const CpuidSource& source) {
  Processor processor(source);
  Findings findings;
  for (const std::string& text : features) {
    const std::string_view name = withoutPlus(text);
    if (name == "nopl") continue;  // every x86-64 processor has it; no bit says so
    const Feature* feature = find(kFeatures, name);
    if (feature == nullptr) {
      findings.unknown(name);
    } else if (!processor.has(*feature)) {
      findings.missing(name);
    }
  }
  return findings.status(target);
}

Status checkAArch64Features(std::span<const std::string> features, const std::string& target,
                            const ArmCapabilities& host) {
  return checkBits(kArmFeatures, features, target, host.hwcap, host.hwcap2);
}

Status checkRiscvFeatures(std::span<const std::string> features, const std::string& target,
                          const RiscvCapabilities& host) {
  if (!host.extensions)
    return fail(
        Code::kUnimplemented,
        "this kernel does not say which extensions the processor has (riscv_hwprobe, Linux 6.4 and later), "
        "so whether " +
            target + " can run here is unknown; use a newer kernel");
  return checkBits(kRiscvFeatures, features, target, host.hwcap, *host.extensions);
}

#if defined(__x86_64__)
CpuidSource hostCpuid() {
  CpuidSource source;
  source.cpuid = [](std::uint32_t leaf, std::uint32_t subleaf) {
    std::array<std::uint32_t, 4> r{};
    if (__get_cpuid_max(leaf & 0x80000000u, nullptr) >= leaf)
      __cpuid_count(leaf, subleaf, r[0], r[1], r[2], r[3]);
    return r;
  };
  source.xcr0 = []() -> std::uint64_t {
    std::uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (std::uint64_t{high} << 32) | low;
  };
  return source;
}
#endif

#if defined(__riscv)
RiscvCapabilities hostRiscv() {
  constexpr long kProbe = 258;  // riscv_hwprobe, which older headers do not name
  struct Pair {
    std::int64_t key;
    std::uint64_t value;
  } pair = {4, 0};  // RISCV_HWPROBE_KEY_IMA_EXT_0
  RiscvCapabilities host{::getauxval(AT_HWCAP), {}};
  // What all processors have; a key that the kernel does not know comes back as -1.
  if (::syscall(kProbe, &pair, 1, 0, nullptr, 0) == 0 && pair.key == 4) host.extensions = pair.value;
  return host;
}
#endif

Status checkHostFeatures(std::span<const std::string> features, const std::string& target) {
#if defined(__x86_64__)
  // The host program of a device's target is for x86-64.
  if (!target.starts_with("cpu:x86-64") && !target.starts_with("cuda:") && !target.starts_with("vulkan:")) {
    return fail(Code::kUnimplemented, "the artifact is for " + target + "; this machine is x86-64");
  }
  return checkX86Features(features, target, hostCpuid());
#elif defined(__aarch64__)
  if (!target.starts_with("cpu:aarch64")) {
    return fail(Code::kUnimplemented, "the artifact is for " + target + "; this machine is AArch64");
  }
  return checkAArch64Features(features, target, {::getauxval(AT_HWCAP), ::getauxval(AT_HWCAP2)});
#elif defined(__riscv)
  if (!target.starts_with("cpu:riscv64")) {
    return fail(Code::kUnimplemented, "the artifact is for " + target + "; this machine is RISC-V");
  }
  return checkRiscvFeatures(features, target, hostRiscv());
#else
#error "the runtime serves x86-64, AArch64 and 64-bit RISC-V"
#endif
}

}  // namespace kiln::runtime

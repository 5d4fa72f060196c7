// The messages between a search and the process that measures for it. Bounded on both sides: the one that
// measures runs code that may have overwritten anything in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler_core/tuner/kernel.h"
#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::tuner {

inline constexpr std::uint32_t kMaxSamples = 64;  // of one answer
// Both sides may be programs of their own: another number is another set of messages.
inline constexpr std::uint64_t kMeasureProtocol = 2;

// Comes first, once.
struct MeasureSetup {
  KernelTensors tensors;
  std::uint64_t seed = 0;       // of the inputs
  std::vector<int> processors;  // one thread on each
  // Bytes of weights that runs go through before they read the same ones again (KernelInputs::make).
  std::uint64_t weightBytes = 0;
};

// What is measured on, where that is no processor.
struct MeasuredDevice {
  std::string name;                   // of the model of device
  int major = 0, minor = 0;           // of its compute capability, or of Vulkan that it serves
  std::uint32_t multiprocessors = 0;  // or processors, of a driver that runs there; 0: it does not say
  std::string api;                    // "cuda", "vulkan"
  std::string apiVersion;             // that the driver serves: "13.0", "1.3.230"
  std::string type, driver;           // of Vulkan: "software", "llvmpipe: Mesa 22.3.6 (LLVM 15.0.6)"
  bool isEmulated = false;            // whose times say nothing
};

struct MeasureRequest {
  // kTry: load the program as `id`, run it once, take samples. kSample: of what is loaded. kForget: unload
  // it.
  enum class Kind : std::uint32_t { kTry, kSample, kForget } kind = Kind::kTry;
  std::uint64_t id = 0;
  std::uint32_t samples = 0;  // at most kMaxSamples; fewer of what takes long
  KernelProgram program;      // of kTry
};

struct MeasureAnswer {
  std::optional<Error> error;
  Digest results;  // of kTry: the outputs, one after the other
  // For kTry: how far the results are from those of the first program that the process tried (results.h).
  double distance = 0;
  std::vector<std::uint64_t> nanoseconds;
  std::uint64_t runsPerSample = 0;
  std::optional<MeasuredDevice> device;  // of the answer to the setup
  bool isLast = false;                   // nothing runs there any more: the process ends
};

std::string pack(const MeasureSetup& setup);
std::string pack(const MeasureRequest& request);
std::string pack(const MeasureAnswer& answer);
// kDataLoss: not what pack() writes. kFailedPrecondition: a setup of another protocol.
Result<MeasureSetup> unpackSetup(std::string_view message);
Result<MeasureRequest> unpackRequest(std::string_view message);
Result<MeasureAnswer> unpackAnswer(std::string_view message);

// Most bytes of a packed answer: what a search reads from the other side.
inline constexpr std::size_t kMaxAnswerBytes = 64 << 10;
inline constexpr std::size_t kMaxRequestBytes = std::size_t{1} << 30;

}  // namespace kiln::tuner

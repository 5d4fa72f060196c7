#include "compiler_core/tuner/messages.h"

#include <bit>
#include <cstring>

namespace kiln::tuner {
namespace {

constexpr std::uint64_t kMaxTensors = 4096, kMaxErrorBytes = 4096, kMaxProcessors = 1024;
constexpr std::uint64_t kMaxKernels = 4096, kMaxNameBytes = 256, kMaxVersion = 1000;

class Packer {
 public:
  void number(std::uint64_t value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text_.append(bytes, sizeof value);
  }
  void text(std::string_view value) {
    number(value.size());
    text_ += value;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view rest) : rest_(rest) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (rest_.size() < sizeof value) {
      good_ = false;
      return 0;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  // 0 beyond `most`.
  std::uint64_t count(std::uint64_t most) {
    const std::uint64_t value = number();
    if (value <= most) return value;
    good_ = false;
    return 0;
  }
  std::string text() {
    const std::uint64_t bytes = count(rest_.size());
    if (bytes > rest_.size()) {
      good_ = false;
      return {};
    }
    std::string value(rest_.substr(0, bytes));
    rest_.remove_prefix(bytes);
    return value;
  }
  Status end() const {
    if (good_ && rest_.empty()) return {};
    return fail(Code::kDataLoss, "the message of a measurement is not well formed");
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

void packDevice(Packer& packer, const std::optional<MeasuredDevice>& device) {
  packer.number(device ? 1 : 0);
  if (!device) return;
  packer.text(std::string_view(device->name).substr(0, kMaxNameBytes));
  packer.number(static_cast<std::uint64_t>(device->major));
  packer.number(static_cast<std::uint64_t>(device->minor));
  packer.number(device->multiprocessors);
  for (const std::string* text : {&device->api, &device->apiVersion, &device->type, &device->driver})
    packer.text(std::string_view(*text).substr(0, kMaxNameBytes));
  packer.number(device->isEmulated ? 1 : 0);
}

std::optional<MeasuredDevice> unpackDevice(Unpacker& unpacker) {
  if (unpacker.count(1) == 0) return std::nullopt;
  MeasuredDevice device;
  device.name = unpacker.text();
  device.major = static_cast<int>(unpacker.count(kMaxVersion));
  device.minor = static_cast<int>(unpacker.count(kMaxVersion));
  device.multiprocessors = static_cast<std::uint32_t>(unpacker.count(1 << 20));
  for (std::string* text : {&device.api, &device.apiVersion, &device.type, &device.driver})
    *text = unpacker.text();
  device.isEmulated = unpacker.count(1) != 0;
  return device;
}

void packTensors(Packer& packer, const std::vector<KernelTensor>& tensors) {
  packer.number(tensors.size());
  for (const KernelTensor& tensor : tensors) {
    packer.number(static_cast<std::uint64_t>(tensor.element));
    packer.number(tensor.elements);
  }
}

std::vector<KernelTensor> unpackTensors(Unpacker& unpacker) {
  std::vector<KernelTensor> tensors(unpacker.count(kMaxTensors));
  for (KernelTensor& tensor : tensors) {
    tensor.element = static_cast<Element>(unpacker.count(static_cast<std::uint64_t>(Element::kI64)));
    tensor.elements = unpacker.number();
  }
  return tensors;
}

}  // namespace

std::string pack(const MeasureSetup& setup) {
  Packer packer;
  packer.number(kMeasureProtocol);
  packTensors(packer, setup.tensors.inputs);
  packTensors(packer, setup.tensors.weights);
  packTensors(packer, setup.tensors.outputs);
  packer.number(setup.seed);
  packer.number(setup.processors.size());
  for (const int processor : setup.processors) packer.number(static_cast<std::uint64_t>(processor));
  packer.number(setup.weightBytes);
  return packer.take();
}

Result<MeasureSetup> unpackSetup(std::string_view message) {
  Unpacker unpacker(message);
  if (const std::uint64_t protocol = unpacker.number(); protocol != kMeasureProtocol)
    return fail(Code::kFailedPrecondition,
                "the program that measures is of another release than kiln-cc: its protocol is " +
                    std::to_string(kMeasureProtocol) + ", that of kiln-cc is " + std::to_string(protocol));
  MeasureSetup setup;
  setup.tensors.inputs = unpackTensors(unpacker);
  setup.tensors.weights = unpackTensors(unpacker);
  setup.tensors.outputs = unpackTensors(unpacker);
  setup.seed = unpacker.number();
  setup.processors.resize(unpacker.count(kMaxProcessors));
  for (int& processor : setup.processors) processor = static_cast<int>(unpacker.count(1 << 20));
  setup.weightBytes = unpacker.number();
  KILN_TRY(unpacker.end());
  return setup;
}

std::string pack(const MeasureRequest& request) {
  Packer packer;
  packer.number(static_cast<std::uint64_t>(request.kind));
  packer.number(request.id);
  packer.number(request.samples);
  packer.text(request.program.elf);
  packer.number(request.program.arenaBytes);
  packer.number(request.program.scratchBytes);
  packer.number(request.program.weights.size());
  for (const KernelWeight& weight : request.program.weights)
    for (const std::uint64_t part :
         {weight.number, weight.columns, weight.panelLanes, weight.transposed, weight.filterTransform})
      packer.number(part);
  packer.text(request.program.image);
  packer.text(request.program.imageVersion);
  packer.number(request.program.imageKernels.size());
  for (const std::string& kernel : request.program.imageKernels) packer.text(kernel);
  return packer.take();
}

Result<MeasureRequest> unpackRequest(std::string_view message) {
  Unpacker unpacker(message);
  MeasureRequest request;
  request.kind = static_cast<MeasureRequest::Kind>(
      unpacker.count(static_cast<std::uint64_t>(MeasureRequest::Kind::kForget)));
  request.id = unpacker.number();
  request.samples = static_cast<std::uint32_t>(unpacker.count(kMaxSamples));
  request.program.elf = unpacker.text();
  request.program.arenaBytes = unpacker.number();
  request.program.scratchBytes = unpacker.number();
  request.program.weights.resize(unpacker.count(kMaxTensors));
  for (KernelWeight& weight : request.program.weights)
    for (std::uint64_t* part :
         {&weight.number, &weight.columns, &weight.panelLanes, &weight.transposed, &weight.filterTransform})
      *part = unpacker.number();
  request.program.image = unpacker.text();
  request.program.imageVersion = unpacker.text();
  request.program.imageKernels.resize(unpacker.count(kMaxKernels));
  for (std::string& kernel : request.program.imageKernels) kernel = unpacker.text();
  KILN_TRY(unpacker.end());
  return request;
}

std::string pack(const MeasureAnswer& answer) {
  Packer packer;
  packer.number(answer.error ? static_cast<std::uint64_t>(answer.error->code) : 0);
  packer.text(answer.error ? std::string_view(answer.error->message).substr(0, kMaxErrorBytes) : "");
  packer.text({reinterpret_cast<const char*>(answer.results.hash.data()), answer.results.hash.size()});
  packer.number(answer.results.size);
  packer.number(std::bit_cast<std::uint64_t>(answer.distance));
  packer.number(answer.nanoseconds.size());
  for (const std::uint64_t sample : answer.nanoseconds) packer.number(sample);
  packer.number(answer.runsPerSample);
  packDevice(packer, answer.device);
  packer.number(answer.isLast ? 1 : 0);
  return packer.take();
}

Result<MeasureAnswer> unpackAnswer(std::string_view message) {
  Unpacker unpacker(message);
  MeasureAnswer answer;
  const std::uint64_t code = unpacker.count(static_cast<std::uint64_t>(Code::kUnauthenticated));
  std::string words = unpacker.text();
  if (code != 0) answer.error = Error{static_cast<Code>(code), std::move(words), {}};
  const std::string hash = unpacker.text();
  answer.results.size = unpacker.number();
  answer.distance = std::bit_cast<double>(unpacker.number());
  answer.nanoseconds.resize(unpacker.count(kMaxSamples));
  for (std::uint64_t& sample : answer.nanoseconds) sample = unpacker.number();
  answer.runsPerSample = unpacker.number();
  answer.device = unpackDevice(unpacker);
  answer.isLast = unpacker.count(1) != 0;
  KILN_TRY(unpacker.end());
  if (hash.size() != answer.results.hash.size())
    return fail(Code::kDataLoss, "the answer of a measurement is not well formed");
  std::memcpy(answer.results.hash.data(), hash.data(), hash.size());
  return answer;
}

}  // namespace kiln::tuner

// ONNX capture from the bytes of a model to a verified module: read, validate, import, fold. Mutations keep
// the protobuf well-formed most of the time, so that they reach the importers. What the inputs do not bind is
// bound to small numbers.
#include <cstdlib>
#include <random>

#include "compiler_core/frontend/onnx/import/import.h"
#include "compiler_core/frontend/onnx/reader/parse.h"
#include "tests/fuzz/wire_tree.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t limit);

namespace {

using kiln::fuzz::Field;
using kiln::fuzz::Message;
using Random = std::minstd_rand;

constexpr std::size_t kMaxModelBytes = 1 << 16;

void collect(std::vector<Field>& fields, std::vector<std::vector<Field>*>& lists,
             std::vector<std::string>& strings) {
  if (!fields.empty()) lists.push_back(&fields);
  for (Field& field : fields) {
    if (field.wire == 2 && field.kind == Message::kBytes && field.bytes.size() < 32)
      strings.push_back(field.bytes);
    collect(field.children, lists, strings);
  }
}

std::uint64_t interesting(Random& random, std::uint64_t old) {
  constexpr std::int64_t kValues[] = {0,
                                      1,
                                      2,
                                      3,
                                      4,
                                      7,
                                      8,
                                      16,
                                      17,
                                      -1,
                                      -2,
                                      -3,
                                      255,
                                      65536,
                                      INT32_MAX,
                                      INT32_MIN,
                                      INT64_MAX,
                                      INT64_MIN,
                                      std::int64_t{1} << 62,
                                      std::int64_t{1} << 40};
  switch (random() % 3) {
    case 0:
      return static_cast<std::uint64_t>(kValues[random() % std::size(kValues)]);
    case 1:
      return old + 1;
    default:
      return old - 1;
  }
}

void mutateBytes(Random& random, std::string& bytes) {
  std::string buffer = bytes;
  buffer.resize(bytes.size() + 16);
  buffer.resize(
      LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(buffer.data()), bytes.size(), buffer.size()));
  bytes = buffer;
}

void mutateOnce(Random& random, std::vector<Field>& model) {
  std::vector<std::vector<Field>*> lists;
  std::vector<std::string> strings;
  collect(model, lists, strings);
  if (lists.empty()) return;
  std::vector<Field>& list = *lists[random() % lists.size()];
  const std::size_t at = random() % list.size();
  Field& field = list[at];
  switch (random() % 8) {
    case 0:
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 1: {
      Field copy = field;
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(random() % (list.size() + 1)), std::move(copy));
      return;
    }
    case 2:
      std::swap(field, list[random() % list.size()]);
      return;
    default:
      if (field.wire != 2)
        field.value = interesting(random, field.value);
      else if (field.kind == Message::kBytes && !strings.empty() && random() % 2 == 0)
        field.bytes = strings[random() % strings.size()];
      else if (field.kind == Message::kBytes)
        mutateBytes(random, field.bytes);
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t limit,
                                               unsigned seed) {
  Random random(seed);
  std::vector<Field> model = kiln::fuzz::readModel(data, size);
  if (model.empty() || random() % 16 == 0) return LLVMFuzzerMutate(data, size, limit);
  for (unsigned edits = 1 + random() % 3; edits-- > 0;) mutateOnce(random, model);
  const std::string bytes = kiln::fuzz::write(model);
  if (bytes.size() > limit) return size;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

// The libraries of MLIR are not instrumented: what their headers poison or resize here, they touch there.
extern "C" const char* __asan_default_options() {
  return "detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxModelBytes) return 0;
  kiln::onnx::LoadedModel loaded;
  auto model = kiln::onnx::parseModel({data, size});
  if (!model) return 0;
  loaded.model = std::move(*model);
  loaded.directory = "/nonexistent";
  if (!kiln::onnx::validate(loaded.model)) return 0;
  kiln::onnx::ImportOptions options;
  for (const auto& input : loaded.model.graph.inputs) {
    if (!input.shape) continue;
    for (std::size_t i = 0; i < input.shape->size(); ++i) {
      const auto& dim = (*input.shape)[i];
      if (!dim.value)
        options.dims[dim.name.empty() ? std::string(input.name) + "." + std::to_string(i)
                                      : std::string(dim.name)] = 2 + static_cast<std::int64_t>(i);
    }
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  kiln::frontend::prepareContext(context);
  auto captured = kiln::onnx::importModel(context, loaded, options);
  // A wrong model is refused in words of its own; an internal error is a fault.
  if (!captured && captured.error().code == kiln::Code::kInternal) std::abort();
  return 0;
}

#include "storage/source/onnx_external.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <set>

#include "manifest/spec/external_path.h"
#include "manifest/spec/onnx_wire.h"

namespace kiln::source {
namespace {

constexpr int kMaxDepth = 64;  // nested messages: graphs in attributes in nodes in graphs
constexpr std::size_t kMaxLocations = 65536;
constexpr off_t kMaxModel = off_t{2} << 30;  // what protobuf can hold; beyond it nothing is a model

using onnx::WireField;
using onnx::WireReader;
using onnx::WireType;

// What comes after a malformed field is not searched: the compiler refuses such a model.
std::optional<WireField> nextField(WireReader& reader) {
  if (reader.atEnd()) return std::nullopt;
  auto field = reader.field();
  return field ? std::optional(*field) : std::nullopt;
}

enum class Message { kModel, kGraph, kFunction, kNode, kAttribute, kSparseTensor, kTensor };

// The member messages that can hold a tensor, by message and field number.
std::optional<Message> child(Message parent, std::uint32_t field) {
  switch (parent) {
    case Message::kModel:
      if (field == 7) return Message::kGraph;
      if (field == 25) return Message::kFunction;
      return std::nullopt;
    case Message::kGraph:
      if (field == 1) return Message::kNode;
      if (field == 5) return Message::kTensor;
      if (field == 15) return Message::kSparseTensor;
      return std::nullopt;
    case Message::kFunction:
      return field == 7 ? std::optional(Message::kNode) : std::nullopt;
    case Message::kNode:
      return field == 5 ? std::optional(Message::kAttribute) : std::nullopt;
    case Message::kAttribute:
      if (field == 5 || field == 10) return Message::kTensor;
      if (field == 6 || field == 11) return Message::kGraph;
      if (field == 22 || field == 23) return Message::kSparseTensor;
      return std::nullopt;
    case Message::kSparseTensor:
      return field == 1 || field == 2 ? std::optional(Message::kTensor) : std::nullopt;
    case Message::kTensor:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string_view asText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The value of the StringStringEntryProto if its key is "location".
std::optional<std::string> location(Bytes entry) {
  WireReader reader(entry, entry.data());
  std::string_view key, value;
  while (const auto field = nextField(reader)) {
    if (field->type != WireType::kBytes) continue;
    if (field->number == 1) key = asText(field->bytes);
    if (field->number == 2) value = asText(field->bytes);
  }
  if (key != "location" || value.size() > 4096) return std::nullopt;
  return std::string(value);
}

void scanTensor(Bytes bytes, std::set<std::string>& found) {
  WireReader reader(bytes, bytes.data());
  bool external = false;
  std::optional<std::string> place;
  while (const auto field = nextField(reader)) {
    if (field->number == 14 && field->type == WireType::kVarint) external = field->value == 1;
    if (field->number == 13 && field->type == WireType::kBytes) {
      if (auto value = location(field->bytes)) place = std::move(value);
    }
  }
  if (!external || !place) return;
  auto path = externalPath(*place);
  found.insert(path ? std::move(*path) : std::move(*place));
}

void scan(Message message, Bytes bytes, int depth, std::set<std::string>& found) {
  if (depth > kMaxDepth || found.size() > kMaxLocations) return;
  if (message == Message::kTensor) return scanTensor(bytes, found);
  WireReader reader(bytes, bytes.data());
  while (const auto field = nextField(reader)) {
    if (field->type != WireType::kBytes) continue;
    if (const auto inner = child(message, field->number)) scan(*inner, field->bytes, depth + 1, found);
  }
}

}  // namespace

Result<std::vector<std::string>> externalLocations(Bytes model) {
  std::set<std::string> found;
  scan(Message::kModel, model, 0, found);
  if (found.size() > kMaxLocations) {
    return fail(Code::kResourceExhausted, "the model names more than 65536 external data files");
  }
  return std::vector<std::string>(found.begin(), found.end());
}

Result<std::vector<std::string>> externalLocationsOfFile(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return fail(errnoError(errno, path));
  struct stat facts{};
  if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size == 0 ||
      facts.st_size > kMaxModel) {
    ::close(file);
    return std::vector<std::string>{};
  }
  const auto size = static_cast<std::size_t>(facts.st_size);
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int number = errno;
  ::close(file);
  if (mapped == MAP_FAILED) return fail(errnoError(number, path));
  auto found = externalLocations({static_cast<const std::uint8_t*>(mapped), size});
  ::munmap(mapped, size);
  return found;
}

}  // namespace kiln::source

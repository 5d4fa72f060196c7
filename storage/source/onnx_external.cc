#include "storage/source/onnx_external.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <set>
#include <span>

#include "manifest/spec/external_path.h"

namespace kiln::source {
namespace {

constexpr int kMaxDepth = 64;  // nested messages: graphs in attributes in nodes in graphs
constexpr std::size_t kMaxLocations = 65536;
constexpr off_t kMaxModel = off_t{2} << 30;  // what protobuf can hold; beyond it nothing is a model

struct Field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;  // varints
  Bytes bytes;              // length-delimited
  bool delimited = false;
};

// Reads one message's fields in order; nullopt at its end or at the first malformed byte.
class FieldReader {
 public:
  explicit FieldReader(Bytes bytes) : rest_(bytes) {}

  std::optional<Field> next() {
    std::uint64_t tag = 0;
    if (rest_.empty() || !varint(tag)) return std::nullopt;
    Field field;
    field.number = static_cast<std::uint32_t>(tag >> 3);
    switch (tag & 7) {
      case 0:
        if (!varint(field.value)) return std::nullopt;
        return field;
      case 1:
        return skip(8) ? std::optional(field) : std::nullopt;
      case 2: {
        std::uint64_t length = 0;
        if (!varint(length) || length > rest_.size()) return std::nullopt;
        field.bytes = rest_.first(static_cast<std::size_t>(length));
        field.delimited = true;
        rest_ = rest_.subspan(static_cast<std::size_t>(length));
        return field;
      }
      case 5:
        return skip(4) ? std::optional(field) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

 private:
  bool varint(std::uint64_t& value) {
    value = 0;
    for (std::size_t i = 0; i < 10 && i < rest_.size(); ++i) {
      value |= static_cast<std::uint64_t>(rest_[i] & 0x7f) << (7 * i);
      if (rest_[i] < 0x80) {
        rest_ = rest_.subspan(i + 1);
        return true;
      }
    }
    return false;
  }
  bool skip(std::size_t count) {
    if (rest_.size() < count) return false;
    rest_ = rest_.subspan(count);
    return true;
  }

  Bytes rest_;
};

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
  FieldReader reader(entry);
  std::string_view key, value;
  while (const auto field = reader.next()) {
    if (field->delimited && field->number == 1) key = asText(field->bytes);
    if (field->delimited && field->number == 2) value = asText(field->bytes);
  }
  if (key != "location" || value.size() > 4096) return std::nullopt;
  return std::string(value);
}

void scanTensor(Bytes bytes, std::set<std::string>& found) {
  FieldReader reader(bytes);
  bool external = false;
  std::optional<std::string> place;
  while (const auto field = reader.next()) {
    if (field->number == 14 && !field->delimited) external = field->value == 1;
    if (field->number == 13 && field->delimited) {
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
  FieldReader reader(bytes);
  while (const auto field = reader.next()) {
    if (!field->delimited) continue;
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

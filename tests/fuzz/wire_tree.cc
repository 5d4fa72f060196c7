#include "tests/fuzz/wire_tree.h"

namespace kiln::fuzz {
namespace {

constexpr int kMaxDepth = 24;

struct Child {
  Message parent;
  std::uint32_t number;
  Message child;
};

// Field numbers of onnx.proto.
constexpr Child kChildren[] = {
    {Message::kModel, 7, Message::kGraph},      {Message::kModel, 8, Message::kOpset},
    {Message::kModel, 25, Message::kFunction},  {Message::kGraph, 1, Message::kNode},
    {Message::kGraph, 5, Message::kTensor},     {Message::kGraph, 11, Message::kValueInfo},
    {Message::kGraph, 12, Message::kValueInfo}, {Message::kGraph, 13, Message::kValueInfo},
    {Message::kNode, 5, Message::kAttribute},   {Message::kAttribute, 5, Message::kTensor},
    {Message::kAttribute, 6, Message::kGraph},  {Message::kValueInfo, 2, Message::kType},
    {Message::kType, 1, Message::kTensorType},  {Message::kType, 4, Message::kTensorType},
    {Message::kType, 9, Message::kTensorType},  {Message::kTensorType, 2, Message::kShape},
    {Message::kShape, 1, Message::kDim},        {Message::kFunction, 7, Message::kNode},
    {Message::kFunction, 9, Message::kOpset},
};

Message childOf(Message parent, std::uint32_t number) {
  for (const Child& row : kChildren)
    if (row.parent == parent && row.number == number) return row.child;
  return Message::kBytes;
}

struct Cursor {
  const std::uint8_t* at;
  const std::uint8_t* end;

  bool varint(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && at != end; shift += 7) {
      const std::uint8_t byte = *at++;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool fixed(int bytes, std::uint64_t& value) {
    if (end - at < bytes) return false;
    value = 0;
    for (int i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(*at++) << (8 * i);
    return true;
  }
};

// False when the bytes are no message; what was read until there stays.
bool read(Cursor cursor, Message kind, int depth, std::vector<Field>& fields) {
  while (cursor.at != cursor.end) {
    std::uint64_t tag = 0;
    Field field;
    if (!cursor.varint(tag)) return false;
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.wire = tag & 7;
    if (field.wire == 0) {
      if (!cursor.varint(field.value)) return false;
    } else if (field.wire == 1 || field.wire == 5) {
      if (!cursor.fixed(field.wire == 1 ? 8 : 4, field.value)) return false;
    } else if (field.wire == 2) {
      std::uint64_t length = 0;
      if (!cursor.varint(length) || length > static_cast<std::uint64_t>(cursor.end - cursor.at)) return false;
      field.kind = depth < kMaxDepth ? childOf(kind, field.number) : Message::kBytes;
      const Cursor inside{cursor.at, cursor.at + length};
      if (field.kind == Message::kBytes || !read(inside, field.kind, depth + 1, field.children)) {
        field.kind = Message::kBytes;
        field.children.clear();
        field.bytes.assign(reinterpret_cast<const char*>(cursor.at), length);
      }
      cursor.at += length;
    } else {
      return false;
    }
    fields.push_back(std::move(field));
  }
  return true;
}

void number(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

}  // namespace

std::vector<Field> readModel(const std::uint8_t* data, std::size_t size) {
  std::vector<Field> fields;
  read({data, data + size}, Message::kModel, 0, fields);
  return fields;
}

std::string write(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& field : fields) {
    number(static_cast<std::uint64_t>(field.number) << 3 | field.wire, out);
    if (field.wire == 0) {
      number(field.value, out);
    } else if (field.wire == 2) {
      const std::string inside = field.kind == Message::kBytes ? field.bytes : write(field.children);
      number(inside.size(), out);
      out += inside;
    } else {
      for (int i = 0; i < (field.wire == 1 ? 8 : 4); ++i)
        out.push_back(static_cast<char>(field.value >> (8 * i)));
    }
  }
  return out;
}

}  // namespace kiln::fuzz

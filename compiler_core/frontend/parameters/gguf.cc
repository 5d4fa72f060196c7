#include <algorithm>
#include <array>

#include "compiler_core/frontend/archive/little_endian.h"
#include "compiler_core/frontend/parameters/formats.h"
#include "compiler_core/frontend/parameters/parameter_file.h"
#include "compiler_core/frontend/parameters/tensor_checks.h"
#include "manifest/base/counted.h"

namespace kiln::parameters {
namespace {

constexpr std::uint64_t kMagicBytes = 4, kDefaultAlignment = 32, kMaxAlignment = 1u << 20;
constexpr std::uint64_t kMaxKeys = 1'000'000;
constexpr int kMaxNesting = 4;  // of arrays of arrays; writers nest none
constexpr std::string_view kAlignmentKey = "general.alignment";

// Types of values, by the format's numbers.
constexpr std::uint64_t kUint32 = 4, kString = 8, kArray = 9;
// Bytes of each; 0 for what is no number.
constexpr std::array<std::uint64_t, 13> kValueBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

struct Row {
  std::uint64_t number;
  std::string_view name;
};
struct Served {
  std::uint64_t number;
  DType dtype;
};
constexpr std::array<Served, 8> kServed = {{{0, DType::kF32},
                                            {1, DType::kF16},
                                            {24, DType::kI8},
                                            {25, DType::kI16},
                                            {26, DType::kI32},
                                            {27, DType::kI64},
                                            {28, DType::kF64},
                                            {30, DType::kBF16}}};
constexpr std::array<Row, 26> kQuantised = {
    {{2, "Q4_0"},     {3, "Q4_1"},    {6, "Q5_0"},     {7, "Q5_1"},   {8, "Q8_0"},    {9, "Q8_1"},
     {10, "Q2_K"},    {11, "Q3_K"},   {12, "Q4_K"},    {13, "Q5_K"},  {14, "Q6_K"},   {15, "Q8_K"},
     {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"},
     {22, "IQ2_S"},   {23, "IQ4_XS"}, {29, "IQ1_M"},   {34, "TQ1_0"}, {35, "TQ2_0"},  {39, "MXFP4"},
     {40, "NVFP4"},   {41, "Q1_0"}}};

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(Code::kInvalidArgument, "not a GGUF file that can be read: " + what);
}

// A cursor over the file. Every method stops at its end, with the byte.
class Cursor {
 public:
  explicit Cursor(Bytes file) : file_(file), at_(kMagicBytes) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return file_.size() - at_; }
  std::string here() const { return "byte " + std::to_string(at_); }

  Status skip(std::uint64_t bytes) {
    if (bytes > left()) return malformed(here() + ": " + std::to_string(bytes) + " bytes are not there");
    at_ += bytes;
    return {};
  }
  Result<std::uint64_t> number(std::size_t bytes) {
    const std::size_t from = at_;
    KILN_TRY(skip(bytes));
    return archive::littleEndian(file_, from, bytes);
  }
  Result<std::string_view> text() {
    KILN_ASSIGN(const std::uint64_t bytes, number(8));
    const std::size_t from = at_;
    KILN_TRY(skip(bytes));
    return std::string_view(reinterpret_cast<const char*>(file_.data()) + from, bytes);
  }

 private:
  Bytes file_;
  std::size_t at_;
};

Status skipValue(Cursor& cursor, std::uint64_t type, int depth) {
  if (type == kString) {
    KILN_TRY(cursor.text());
    return {};
  }
  if (type != kArray) {
    if (type >= kValueBytes.size())
      return malformed(cursor.here() + ": no type of a value has the number " + std::to_string(type));
    return cursor.skip(kValueBytes[type]);
  }
  if (depth == kMaxNesting) return malformed(cursor.here() + ": arrays nested deeper than 4");
  KILN_ASSIGN(const std::uint64_t element, cursor.number(4));
  KILN_ASSIGN(const std::uint64_t count, cursor.number(8));
  // Every element takes a byte or more, so that the loop ends with the file.
  if (count > cursor.left()) return malformed(cursor.here() + ": the file cannot hold the array's elements");
  if (element < kValueBytes.size() && kValueBytes[element] != 0) {
    if (count > cursor.left() / kValueBytes[element])
      return malformed(cursor.here() + ": the file cannot hold the array's elements");
    return cursor.skip(count * kValueBytes[element]);
  }
  for (std::uint64_t i = 0; i < count; ++i) KILN_TRY(skipValue(cursor, element, depth + 1));
  return {};
}

// Passes over the metadata; the alignment of the data, which is among them.
Result<std::uint64_t> readAlignment(Cursor& cursor, std::uint64_t keys) {
  std::uint64_t alignment = kDefaultAlignment;
  for (std::uint64_t i = 0; i < keys; ++i) {
    KILN_ASSIGN(const std::string_view key, cursor.text());
    KILN_ASSIGN(const std::uint64_t type, cursor.number(4));
    if (key != kAlignmentKey) {
      KILN_TRY(skipValue(cursor, type, 0));
      continue;
    }
    if (type != kUint32) return malformed(cursor.here() + ": \"general.alignment\" is no uint32");
    KILN_ASSIGN(alignment, cursor.number(4));
    if (alignment < 8 || alignment > kMaxAlignment || alignment % 8 != 0)
      return malformed(cursor.here() + ": \"general.alignment\" is " + std::to_string(alignment));
  }
  return alignment;
}

Result<DType> readType(std::uint64_t number) {
  for (const Served& row : kServed) {
    if (row.number == number) return row.dtype;
  }
  for (const Row& row : kQuantised) {
    if (row.number != number) continue;
    return fail(Code::kUnimplemented, "blocks quantised as " + std::string(row.name) +
                                          " are not served; served are F32 F16 BF16 F64 I8 I16 I32 I64");
  }
  return fail(Code::kUnimplemented, "element type " + std::to_string(number) + " is not known");
}

struct Entry {
  ir::Weight tensor;
  std::uint64_t offset = 0;  // from the beginning of the data
  std::uint64_t bytes = 0;
};

Result<Entry> readEntry(Cursor& cursor) {
  const std::string where = cursor.here();
  KILN_ASSIGN(const std::string_view name, cursor.text());
  if (name.size() > kMaxNameBytes) return malformed(where + ": a name of more than 4096 bytes");
  KILN_ASSIGN(const std::uint64_t rank, cursor.number(4));
  if (rank > kMaxRank) return malformed(tensorPlace(name) + ": " + std::to_string(rank) + " dimensions");
  Entry out;
  out.tensor.name = name;
  for (std::uint64_t i = 0; i < rank; ++i) {
    KILN_ASSIGN(const std::uint64_t size, cursor.number(8));
    out.tensor.shape.push_back(static_cast<std::int64_t>(size));  // a size beyond 2^63 is refused as negative
  }
  std::ranges::reverse(out.tensor.shape);
  KILN_ASSIGN(const std::uint64_t type, cursor.number(4));
  KILN_ASSIGN(out.offset, cursor.number(8));
  auto dtype = readType(type);
  if (!dtype) return fail(dtype.error().in(tensorPlace(name)));
  out.tensor.dtype = *dtype;
  auto bytes = bytesOf(*dtype, out.tensor.shape);
  if (!bytes) return fail(bytes.error().in(tensorPlace(name)));
  out.bytes = *bytes;
  return out;
}

// Gives the tensors their bytes, in the order in which they lie.
Result<Tensors> place(std::vector<Entry> entries, Bytes data, std::uint64_t alignment, const Owner& owner) {
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  Tensors out;
  std::uint64_t end = 0;
  for (Entry& entry : entries) {
    const std::string where =
        tensorPlace(entry.tensor.name) + ": its data at " + std::to_string(entry.offset);
    if (entry.offset % alignment != 0)
      return malformed(where + " are not aligned to " + std::to_string(alignment));
    if (entry.offset < end) return malformed(where + " are another's too");
    if (entry.offset > data.size() || entry.bytes > data.size() - entry.offset)
      return malformed(where + " end behind the file; it is truncated");
    end = entry.offset + entry.bytes;
    entry.tensor.bytes = data.subspan(entry.offset, entry.bytes);
    entry.tensor.owner = owner;
    out.push_back(std::move(entry.tensor));
  }
  return out;
}

}  // namespace

Result<Tensors> readGguf(Bytes file, const Owner& owner) {
  if (file.size() < kMagicBytes) return malformed("it ends before its header");
  Cursor cursor(file);
  KILN_ASSIGN(const std::uint64_t version, cursor.number(4));
  if (version != 2 && version != 3) {
    return fail(Code::kUnimplemented, (version & 0xffff) == 0 && version != 0
                                          ? "a big-endian GGUF file; convert it to little-endian"
                                          : "GGUF version " + std::to_string(version) + "; 2 and 3 are read");
  }
  KILN_ASSIGN(const std::uint64_t count, cursor.number(8));
  KILN_ASSIGN(const std::uint64_t keys, cursor.number(8));
  if (count > kMaxTensors || keys > kMaxKeys)
    return malformed(counted(count, "tensor") + " and " + counted(keys, "key") + "; at most a million each");
  KILN_ASSIGN(const std::uint64_t alignment, readAlignment(cursor, keys));
  std::vector<Entry> entries;
  for (std::uint64_t i = 0; i < count; ++i) {
    KILN_ASSIGN(Entry entry, readEntry(cursor));
    entries.push_back(std::move(entry));
  }
  const std::size_t begin = (cursor.at() + alignment - 1) / alignment * alignment;
  const Bytes data = begin < file.size() ? file.subspan(begin) : Bytes();
  KILN_ASSIGN(Tensors out, place(std::move(entries), data, alignment, owner));
  KILN_TRY(checkTensors(out));
  return out;
}

}  // namespace kiln::parameters

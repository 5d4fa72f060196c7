#include "compiler_core/runtime/npy/header.h"

#include <array>
#include <cstring>
#include <optional>

namespace kiln::npy {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = 64u << 10;
constexpr std::size_t kHeaderAlignment = 64;
constexpr std::size_t kMaxRank = 64;
constexpr std::int64_t kMaxDim = std::int64_t{1} << 53;

struct Row {
  DType type;
  std::string_view descr;
};
// NumPy has no name for the types of the second half: they are opaque bytes there, as ml_dtypes writes them.
constexpr std::array<Row, 23> kTypes = {
    {{DType::kF32, "<f4"},      {DType::kF64, "<f8"},        {DType::kF16, "<f2"},
     {DType::kI8, "|i1"},       {DType::kI16, "<i2"},        {DType::kI32, "<i4"},
     {DType::kI64, "<i8"},      {DType::kU8, "|u1"},         {DType::kU16, "<u2"},
     {DType::kU32, "<u4"},      {DType::kU64, "<u8"},        {DType::kBool, "|b1"},
     {DType::kBF16, "<V2"},     {DType::kF8E4M3FN, "<V1"},   {DType::kF8E4M3FNUZ, "<V1"},
     {DType::kF8E5M2, "<V1"},   {DType::kF8E5M2FNUZ, "<V1"}, {DType::kF8E8M0FNU, "<V1"},
     {DType::kF4E2M1FN, "<V1"}, {DType::kI4, "<V1"},         {DType::kU4, "<V1"},
     {DType::kI2, "<V1"},       {DType::kU2, "<V1"}}};

tl::unexpected<Error> malformed(std::string what) {
  return fail(Code::kInvalidArgument, "not a .npy file that can be read: " + std::move(what));
}

// Byte order means nothing for single bytes and for opaque ones; writers differ.
bool sameDescr(std::string_view descr, std::string_view known) {
  if (descr == known) return true;
  const bool orderless = known[0] == '|' || known[1] == 'V';
  return orderless && descr.size() == 3 && (descr[0] == '|' || descr[0] == '<') &&
         descr.substr(1) == known.substr(1);
}

Result<DType> parseDescr(std::string_view descr, std::optional<DType> wanted) {
  if (wanted && sameDescr(descr, descrOf(*wanted))) return *wanted;
  // ml_dtypes gives this one type a name, which NumPy itself cannot read back.
  if (descr == "<f1" || descr == "|f1") return DType::kF8E5M2;
  if (sameDescr(descr, "<V1")) {
    return fail(Code::kUnimplemented,
                wanted
                    ? "opaque elements of one byte where " + std::string(dtypeName(*wanted)) + " is expected"
                    : "opaque elements of one byte, whose type only an artifact's manifest tells");
  }
  for (const Row& row : kTypes) {
    if (sameDescr(descr, row.descr)) return row.type;
  }
  const std::string name = "element type '" + std::string(descr) + "'";
  if (descr.starts_with(">")) {
    return fail(Code::kUnimplemented, name + " is big-endian; save it little-endian (astype('<" +
                                          std::string(descr.substr(1)) + "'))");
  }
  return fail(Code::kUnimplemented,
              name + " is not supported; known are <f4 <f8 <f2 <V2 |i1 <i2 <i4 <i8 |u1 <u2 <u4 <u8 |b1 <V1");
}

// A cursor over the dictionary literal. Every method stops at the end of the text.
class Literal {
 public:
  explicit Literal(std::string_view text) : rest_(text) {}

  void skipSpace() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t'))
      rest_.remove_prefix(1);
  }
  bool take(char c) {
    skipSpace();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool takeWord(std::string_view word) {
    skipSpace();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // A quoted string of printable ASCII without escapes, at most 64 bytes.
  std::optional<std::string_view> string() {
    skipSpace();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos || end > 65) return std::nullopt;
    const std::string_view value = rest_.substr(1, end - 1);
    for (const char c : value) {
      if (c < 0x20 || c > 0x7e || c == '\\') return std::nullopt;
    }
    rest_.remove_prefix(end + 1);
    return value;
  }
  // A decimal number up to kMaxDim; Python 2 wrote an L behind it.
  std::optional<std::int64_t> number() {
    skipSpace();
    std::int64_t value = 0;
    std::size_t digits = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') {
      value = value * 10 + (rest_[digits++] - '0');
      if (value > kMaxDim) return std::nullopt;
    }
    if (digits == 0) return std::nullopt;
    rest_.remove_prefix(digits);
    if (rest_.starts_with('L')) rest_.remove_prefix(1);
    return value;
  }
  bool atEnd() {
    skipSpace();
    return rest_.empty();
  }

 private:
  std::string_view rest_;
};

Result<std::vector<std::int64_t>> parseShape(Literal& literal) {
  if (!literal.take('(')) return malformed("'shape' is no tuple");
  std::vector<std::int64_t> shape;
  bool separated = true;
  while (!literal.take(')')) {
    if (!separated) return malformed("'shape' is no tuple of sizes");
    const auto dim = literal.number();
    if (!dim) return malformed("'shape' holds something that is no size from 0 to 2^53");
    if (shape.size() == kMaxRank) return malformed("more than 64 dimensions");
    shape.push_back(*dim);
    separated = literal.take(',');
  }
  return shape;
}

Result<std::size_t> dataBytes(DType dtype, const std::vector<std::int64_t>& shape) {
  std::uint64_t total = dtypeBytes(dtype);
  for (const std::int64_t dim : shape) {
    if (__builtin_mul_overflow(total, static_cast<std::uint64_t>(dim), &total)) {
      return malformed("the shape's product does not fit 64 bits");
    }
  }
  return static_cast<std::size_t>(total);
}

}  // namespace

std::string_view descrOf(DType type) {
  for (const Row& row : kTypes) {
    if (row.type == type) return row.descr;
  }
  return {};
}

Result<Parts> partsOf(Bytes file) {
  const auto truncated = [] { return fail(Code::kInvalidArgument, "the .npy file ends inside its header"); };
  if (file.size() < kMagic.size() || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0) {
    return fail(Code::kInvalidArgument, "not a .npy file: it does not start with \\x93NUMPY");
  }
  if (file.size() < kMagic.size() + 2) return truncated();
  const int major = file[6], minor = file[7];
  if (major < 1 || major > 2 || minor != 0) {
    return fail(Code::kUnimplemented, ".npy format version " + std::to_string(major) + "." +
                                          std::to_string(minor) + "; versions 1.0 and 2.0 are read");
  }
  const std::size_t lengthBytes = major == 1 ? 2 : 4;
  Bytes rest = file.subspan(kMagic.size() + 2);
  if (rest.size() < lengthBytes) return truncated();
  std::size_t length = 0;
  for (std::size_t i = 0; i < lengthBytes; ++i) length |= static_cast<std::size_t>(rest[i]) << (8 * i);
  rest = rest.subspan(lengthBytes);
  if (length > kMaxHeader) return fail(Code::kInvalidArgument, "the .npy header is longer than 64 KiB");
  if (rest.size() < length) return truncated();
  return Parts{{reinterpret_cast<const char*>(rest.data()), length}, rest.subspan(length)};
}

Result<Entries> parseEntries(std::string_view text) {
  Literal literal(text);
  if (!literal.take('{')) return malformed("the header is no dictionary");
  std::optional<std::string_view> descr;
  std::optional<std::vector<std::int64_t>> shape;
  bool orderSeen = false, separated = true;
  while (!literal.take('}')) {
    if (!separated) return malformed("the header's entries are not separated by commas");
    const auto key = literal.string();
    if (!key || !literal.take(':')) return malformed("the header is no dictionary of named entries");
    if (*key == "descr" && !descr) {
      descr = literal.string();
      if (!descr) {
        return fail(Code::kUnimplemented,
                    "'descr' is no plain element type (structured arrays are not supported)");
      }
    } else if (*key == "fortran_order" && !orderSeen) {
      orderSeen = true;
      if (literal.takeWord("True")) {
        return fail(Code::kUnimplemented,
                    "the array is in Fortran order; save it in C order (np.ascontiguousarray)");
      }
      if (!literal.takeWord("False")) return malformed("'fortran_order' is neither True nor False");
    } else if (*key == "shape" && !shape) {
      KILN_ASSIGN(shape, parseShape(literal));
    } else {
      return malformed("the header has a repeated or unknown entry '" + std::string(*key) + "'");
    }
    separated = literal.take(',');
  }
  if (!literal.atEnd()) return malformed("text after the header's dictionary");
  if (!descr || !orderSeen || !shape) return malformed("the header lacks descr, fortran_order or shape");
  return Entries{std::string(*descr), std::move(*shape)};
}

Result<Header> parseHeader(std::string_view text, std::optional<DType> wanted) {
  KILN_ASSIGN(Entries entries, parseEntries(text));
  KILN_ASSIGN(const DType dtype, parseDescr(entries.descr, wanted));
  KILN_ASSIGN(const std::size_t bytes, dataBytes(dtype, entries.shape));
  return Header{dtype, std::move(entries.shape), bytes};
}

std::string headerFor(std::string_view descr, const std::vector<std::int64_t>& shape) {
  std::string header = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) header += ", ";
    header += std::to_string(shape[i]);
  }
  header += shape.size() == 1 ? ",), }" : "), }";
  // Version 1.0; 64 dimensions of 2^53 fit its 16-bit length by far. Padded so that the data is aligned.
  const std::size_t prefix = kMagic.size() + 4;
  const std::size_t total =
      (prefix + header.size() + 1 + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment;
  header.resize(total - prefix - 1, ' ');
  header += '\n';
  return std::string(kMagic) + '\1' + '\0' + static_cast<char>(header.size() & 0xff) +
         static_cast<char>(header.size() >> 8) + header;
}

}  // namespace kiln::npy

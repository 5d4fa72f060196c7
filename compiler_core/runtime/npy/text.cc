#include "compiler_core/runtime/npy/text.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "compiler_core/runtime/npy/header.h"
#include "manifest/base/utf8.h"

namespace kiln::npy {
namespace {

constexpr std::uint64_t kUcsBytes = 4;

bool isTextDescr(std::string_view descr) {
  return descr.size() > 2 && (descr[1] == 'U' || descr[1] == 'S') &&
         (descr[0] == '<' || descr[0] == '|' || descr[0] == '>' || descr[0] == '=');
}

tl::unexpected<Error> malformed(std::string what) {
  return fail(Code::kInvalidArgument, std::move(what));
}

void appendUtf8(std::uint32_t point, std::string& out) {
  const auto byte = [&](std::uint32_t value) { out += static_cast<char>(static_cast<std::uint8_t>(value)); };
  if (point < 0x80) return byte(point);
  if (point < 0x800) {
    byte(0xc0 | point >> 6);
  } else {
    if (point < 0x10000) {
      byte(0xe0 | point >> 12);
    } else {
      byte(0xf0 | point >> 18);
      byte(0x80 | (point >> 12 & 0x3f));
    }
    byte(0x80 | (point >> 6 & 0x3f));
  }
  byte(0x80 | (point & 0x3f));
}

// One element of `str`; what is beyond Unicode, a surrogate or a zero inside gives text that isUtf8 refuses.
std::string fromUcs(Bytes element) {
  std::string out;
  std::size_t end = element.size();
  while (end > 0 && std::all_of(element.begin() + static_cast<std::ptrdiff_t>(end - kUcsBytes),
                                element.begin() + static_cast<std::ptrdiff_t>(end),
                                [](std::uint8_t b) { return b == 0; }))
    end -= kUcsBytes;
  for (std::size_t i = 0; i < end; i += kUcsBytes) {
    std::uint32_t point = 0;
    std::memcpy(&point, element.data() + i, kUcsBytes);
    if (point > 0x10ffff)
      out += '\xff';
    else
      appendUtf8(point, out);
  }
  return out;
}

std::string fromBytes(Bytes element) {
  std::size_t end = element.size();
  while (end > 0 && element[end - 1] == 0) --end;
  return {reinterpret_cast<const char*>(element.data()), end};
}

// The code points of a text that is UTF-8.
std::vector<std::uint32_t> pointsOf(std::string_view text) {
  std::vector<std::uint32_t> points;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if ((byte & 0xc0) == 0x80)
      points.back() = points.back() << 6 | (byte & 0x3f);
    else
      points.push_back(byte < 0x80   ? byte
                       : byte < 0xe0 ? byte & 0x1f
                       : byte < 0xf0 ? byte & 0x0f
                                     : byte & 0x07);
  }
  return points;
}

}  // namespace

bool holdsTexts(Bytes file) {
  const auto parts = partsOf(file);
  if (!parts) return false;
  const auto entries = parseEntries(parts->header);
  return entries && isTextDescr(entries->descr);
}

Result<TextArray> parseTexts(Bytes file) {
  KILN_ASSIGN(const Parts parts, partsOf(file));
  KILN_ASSIGN(Entries entries, parseEntries(parts.header));
  const std::string& descr = entries.descr;
  if (!isTextDescr(descr))
    return fail(Code::kUnimplemented, "element type '" + descr + "' is no text; save it with astype(str)");
  const bool isUcs = descr[1] == 'U';
  if (descr[0] == '>' && isUcs)
    return fail(Code::kUnimplemented, "element type '" + descr + "' is big-endian; save it with astype('<" +
                                          descr.substr(1) + "')");
  std::uint64_t width = 0, count = 1;
  const auto [end, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), width);
  if (error != std::errc() || end != descr.data() + descr.size() ||
      __builtin_mul_overflow(width, isUcs ? kUcsBytes : 1, &width))
    return malformed("element type '" + descr + "' has no length");
  for (const std::int64_t dim : entries.shape)
    if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(dim), &count))
      return malformed("the shape's product does not fit 64 bits");
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, width, &bytes) || bytes != parts.data.size())
    return malformed("the .npy file holds " + std::to_string(parts.data.size()) +
                     " bytes of data, which is not what its header announces");
  // Elements without a byte: as many as the header likes to say.
  constexpr std::uint64_t kMaxEmpty = 1 << 24;
  if (width == 0 && count > kMaxEmpty)
    return malformed("the .npy file has more than 2^24 elements without a byte");
  TextArray array{std::move(entries.shape), {}};
  for (std::uint64_t i = 0; i < count; ++i) {
    const Bytes element = parts.data.subspan(i * width, width);
    std::string text = isUcs ? fromUcs(element) : fromBytes(element);
    if (!isUtf8(text) || text.find('\0') != std::string::npos)
      return malformed("element " + std::to_string(i) + " is no Unicode text");
    array.texts.push_back(std::move(text));
  }
  return array;
}

std::vector<std::uint8_t> serialise(const TextArray& array) {
  std::vector<std::vector<std::uint32_t>> elements;
  std::size_t width = 1;  // NumPy reads no element of length 0 back
  for (const std::string& text : array.texts) {
    elements.push_back(pointsOf(text));
    width = std::max(width, elements.back().size());
  }
  const std::string header = headerFor("<U" + std::to_string(width), array.shape);
  std::vector<std::uint8_t> file(header.begin(), header.end());
  for (std::vector<std::uint32_t>& points : elements) {
    points.resize(width);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(points.data());
    file.insert(file.end(), bytes, bytes + width * kUcsBytes);
  }
  return file;
}

}  // namespace kiln::npy

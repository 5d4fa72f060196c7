#include "storage/oci/tar_writer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace kiln::storage {
namespace {

constexpr std::size_t kBlockBytes = 512;
constexpr std::size_t kMaxName = 100;
constexpr std::uint64_t kMaxOctalSize = (std::uint64_t{1} << 33) - 1;  // eleven octal digits

// The header block's fields, by offset and length (POSIX.1-2017, ustar Header Block).
struct Field {
  std::size_t at, length;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kUser{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12},
    kChecksum{148, 8}, kMagic{257, 8};
constexpr std::size_t kType = 156;

using Block = std::array<std::uint8_t, kBlockBytes>;

void putOctal(Block& block, Field field, std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%0*llo", static_cast<int>(field.length - 1),
                static_cast<unsigned long long>(value));
  std::memcpy(block.data() + field.at, text, field.length);
}

// "LENGTH key=value\n", whose length counts its own digits.
std::string record(const std::string& key, const std::string& value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (length != rest + std::to_string(length).size()) length = rest + std::to_string(length).size();
  return std::to_string(length) + " " + key + "=" + value + "\n";
}

}  // namespace

Status TarWriter::folder(const std::string& path) {
  return header(path + "/", '5', 0555, 0);
}

Status TarWriter::file(const std::string& path, std::uint64_t size,
                       const std::function<Status(const ByteSink&)>& source) {
  KILN_TRY(fileHeader(path, size));
  std::uint64_t written = 0;
  KILN_TRY(source([&](Bytes bytes) -> Status {
    written += bytes.size();
    if (written > size) return fail(Code::kDataLoss, path + ": is longer than when it was listed");
    return sink_(bytes);
  }));
  if (written < size) return fail(Code::kDataLoss, path + ": is shorter than when it was listed");
  return pad(size);
}

Status TarWriter::fileHeader(const std::string& path, std::uint64_t size) {
  return header(path, '0', 0444, size);
}

Status TarWriter::finish() {
  const Block zeros{};
  KILN_TRY(sink_(zeros));
  return sink_(zeros);
}

Status TarWriter::header(const std::string& path, char type, std::uint64_t mode, std::uint64_t size) {
  std::string extended;
  if (path.size() > kMaxName) extended += record("path", path);
  if (size > kMaxOctalSize) extended += record("size", std::to_string(size));
  if (!extended.empty()) {
    KILN_TRY(block("pax", 'x', 0444, extended.size()));
    KILN_TRY(sink_(asBytes(extended)));
    KILN_TRY(pad(extended.size()));
  }
  return block(path.substr(0, kMaxName), type, mode, std::min(size, kMaxOctalSize));
}

Status TarWriter::block(const std::string& path, char type, std::uint64_t mode, std::uint64_t size) {
  Block out{};
  std::memcpy(out.data() + kName.at, path.data(), path.size());
  putOctal(out, kMode, mode);
  putOctal(out, kUser, 0);
  putOctal(out, kGroup, 0);
  putOctal(out, kSize, size);
  putOctal(out, kTime, 0);
  out[kType] = static_cast<std::uint8_t>(type);
  std::memcpy(out.data() + kMagic.at, "ustar\00000", kMagic.length);
  // The sum is taken with its own field full of spaces.
  std::memset(out.data() + kChecksum.at, ' ', kChecksum.length);
  std::uint64_t sum = 0;
  for (const std::uint8_t byte : out) sum += byte;
  char text[8];
  std::snprintf(text, sizeof text, "%06llo", static_cast<unsigned long long>(sum));
  std::memcpy(out.data() + kChecksum.at, text, 7);
  return sink_(out);
}

Status TarWriter::pad(std::uint64_t size) {
  const Block zeros{};
  const std::size_t rest = size % kBlockBytes;
  return rest == 0 ? Status{} : sink_(Bytes(zeros.data(), kBlockBytes - rest));
}

}  // namespace kiln::storage

#include "tests/compiler_core/frontend/archive/zip_writer.h"

#include <zlib.h>

namespace kiln::testing_support {
namespace {

const unsigned char* data(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string littleEndianText(std::uint64_t value, std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

std::string deflated(const std::string& contents) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, contents.size()), '\0');
  stream.next_in = const_cast<unsigned char*>(data(contents));
  stream.avail_in = static_cast<unsigned>(contents.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string writeZip(const std::vector<ZipWritten>& members, bool wide, const std::string& comment) {
  const auto number = littleEndianText;
  std::string out, directory;
  for (const ZipWritten& one : members) {
    const std::string packed = one.deflate ? deflated(one.contents) : one.contents;
    const std::uint64_t crc = crc32_z(0, data(one.contents), one.contents.size());
    const std::uint64_t offset = out.size(), method = one.deflate ? 8 : 0;
    const auto narrow = [&](std::uint64_t value) { return number(one.wide ? 0xffffffff : value, 4); };
    const std::string sizes = number(one.contents.size(), 8) + number(packed.size(), 8);
    const std::string inner = one.wide ? number(1, 2) + number(16, 2) + sizes : "";
    const std::string extra = one.wide ? number(1, 2) + number(24, 2) + sizes + number(offset, 8) : "";
    const std::string common = number(0, 2) + number(method, 2) + number(0, 4) + number(crc, 4) +
                               narrow(packed.size()) + narrow(one.contents.size()) +
                               number(one.name.size(), 2);
    out +=
        number(0x04034b50, 4) + number(20, 2) + common + number(inner.size(), 2) + one.name + inner + packed;
    directory += number(0x02014b50, 4) + number(20, 2) + number(20, 2) + common + number(extra.size(), 2) +
                 number(0, 2) + number(0, 2) + number(0, 2) + number(0, 4) + narrow(offset) + one.name +
                 extra;
  }
  const std::uint64_t at = out.size();
  out += directory;
  if (wide) {
    const std::uint64_t record = out.size();
    out += number(0x06064b50, 4) + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 4) +
           number(0, 4) + number(members.size(), 8) + number(members.size(), 8) +
           number(directory.size(), 8) + number(at, 8);
    out += number(0x07064b50, 4) + number(0, 4) + number(record, 8) + number(1, 4);
  }
  const auto narrow = [&](std::uint64_t value, std::size_t bytes) {
    return number(wide ? 0xffffffff : value, bytes);
  };
  return out + number(0x06054b50, 4) + number(0, 2) + number(0, 2) + narrow(members.size(), 2) +
         narrow(members.size(), 2) + narrow(directory.size(), 4) + narrow(at, 4) + number(comment.size(), 2) +
         comment;
}

}  // namespace kiln::testing_support

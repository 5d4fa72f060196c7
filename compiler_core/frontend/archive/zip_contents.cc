#include <zlib.h>

#include <algorithm>
#include <limits>

#include "compiler_core/frontend/archive/zip.h"
#include "manifest/base/printable.h"

namespace kiln::archive {
namespace {

constexpr std::size_t kStepBytes = std::size_t{1} << 30;  // zlib counts in 32 bits

tl::unexpected<Error> damaged(const ZipMember& member, const std::string& what) {
  return fail(Code::kInvalidArgument,
              "member " + inQuotes(member.name) + " of the zip archive " + what + "; the file is damaged");
}

std::uint32_t crcOf(Bytes bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, bytes.data(), bytes.size()));
}

// Inflates all of `packed` into exactly `out`; false for anything else.
bool inflateAll(Bytes packed, std::span<std::uint8_t> out) {
  z_stream stream{};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  std::size_t taken = 0, made = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    const std::size_t in = std::min(packed.size() - taken, kStepBytes);
    const std::size_t room = std::min(out.size() - made, kStepBytes);
    stream.next_in = const_cast<std::uint8_t*>(packed.data()) + taken;
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = out.data() + made;
    stream.avail_out = static_cast<uInt>(room);
    status = ::inflate(&stream, Z_NO_FLUSH);
    taken += in - stream.avail_in;
    made += room - stream.avail_out;
  }
  ::inflateEnd(&stream);
  return status == Z_STREAM_END && taken == packed.size() && made == out.size();
}

}  // namespace

Result<ZipContents> contentsOf(const ZipMember& member, const std::shared_ptr<const void>& archive) {
  ZipContents out{member.packed, archive};
  if (member.deflated) {
    // Not cleared, so that no page of it is taken before there are bytes for it. One byte more than claimed:
    // zlib needs a place to write to even where there is nothing.
    const std::shared_ptr<std::uint8_t[]> memory(new std::uint8_t[member.size + 1]);
    const std::span<std::uint8_t> room(memory.get(), member.size);
    if (!inflateAll(member.packed, room))
      return damaged(member, "does not inflate to the size that it states");
    out = {room, memory};
  }
  if (crcOf(out.bytes) != member.crc) return damaged(member, "does not have the CRC that it states");
  return out;
}

}  // namespace kiln::archive

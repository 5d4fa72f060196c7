#include "compiler_core/frontend/archive/zip.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compiler_core/frontend/archive/little_endian.h"
#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"

namespace kiln::archive {
namespace {

constexpr std::size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56,
                      kLocatorBytes = 20, kMaxComment = 0xffff, kMaxNameBytes = 4096;
constexpr std::uint64_t kLocalMark = 0x04034b50, kCentralMark = 0x02014b50, kEndMark = 0x06054b50,
                        kEnd64Mark = 0x06064b50, kLocatorMark = 0x07064b50;
constexpr std::uint64_t kIn64 = 0xffffffff;  // a field whose value stands in the zip64 record
constexpr std::uint64_t kEncrypted = 1u << 0;
constexpr std::uint64_t kStored = 0, kDeflated = 8;
// Deflate's best: a match of 258 bytes for two bits, with room for the blocks' ends.
constexpr std::uint64_t kMaxRatio = 1032, kRatioSlack = 1024;

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(Code::kInvalidArgument, "not a zip archive that can be read: " + what);
}
std::string byteAt(std::uint64_t offset) {
  return "byte " + std::to_string(offset);
}

struct Directory {
  std::uint64_t members = 0, size = 0, offset = 0;
  std::uint64_t end = 0;  // where what follows the directory begins
};

// The record at the end of the archive, whose comment reaches to the last byte.
Result<std::size_t> findEnd(Bytes archive) {
  if (archive.size() < kEndBytes) return malformed("it ends before its directory");
  const std::size_t last = archive.size() - kEndBytes;
  const std::size_t first = last > kMaxComment ? last - kMaxComment : 0;
  for (std::size_t at = last + 1; at-- > first;) {
    if (littleEndian(archive, at, 4) == kEndMark && littleEndian(archive, at + 20, 2) == last - at) return at;
  }
  return malformed("it has no end of a directory: it is truncated, or bytes follow it");
}

Result<Directory> readDirectory64(Bytes archive, std::size_t locator) {
  const std::uint64_t at = littleEndian(archive, locator + 8, 8);
  if (littleEndian(archive, locator + 4, 4) != 0 || littleEndian(archive, locator + 16, 4) > 1)
    return fail(Code::kUnimplemented, "a zip archive of several files; join them");
  if (locator < kEnd64Bytes || at > locator - kEnd64Bytes || littleEndian(archive, at, 4) != kEnd64Mark)
    return malformed("no zip64 record at " + byteAt(at));
  if (littleEndian(archive, at + 4, 8) != locator - at - 12)
    return malformed("the zip64 record at " + byteAt(at) + " does not end at its locator");
  return Directory{littleEndian(archive, at + 32, 8), littleEndian(archive, at + 40, 8),
                   littleEndian(archive, at + 48, 8), at};
}

Result<Directory> readDirectory(Bytes archive) {
  KILN_ASSIGN(const std::size_t end, findEnd(archive));
  Directory out{littleEndian(archive, end + 10, 2), littleEndian(archive, end + 12, 4),
                littleEndian(archive, end + 16, 4), end};
  if (end >= kLocatorBytes && littleEndian(archive, end - kLocatorBytes, 4) == kLocatorMark) {
    KILN_ASSIGN(out, readDirectory64(archive, end - kLocatorBytes));
  } else if (littleEndian(archive, end + 4, 2) != 0 || littleEndian(archive, end + 8, 2) != out.members) {
    return fail(Code::kUnimplemented, "a zip archive of several files; join them");
  }
  if (out.offset > out.end || out.size != out.end - out.offset)
    return malformed("its directory does not end at " + byteAt(out.end));
  // Before anything is allocated by that number.
  if (out.members > kMaxZipMembers || out.members > out.size / kCentralBytes)
    return malformed("its directory cannot hold " + std::to_string(out.members) + " members");
  return out;
}

struct Extent {
  std::uint64_t begin = 0, end = 0;
};

// The fields of a member that zip64 widens.
struct Wide {
  std::uint64_t packed = 0, size = 0, offset = 0;
};

Status widen(Bytes extra, Wide& wide, const std::string& where) {
  while (extra.size() >= 4) {
    const std::uint64_t id = littleEndian(extra, 0, 2), bytes = littleEndian(extra, 2, 2);
    extra = extra.subspan(4);
    if (bytes > extra.size()) return malformed(where + ": an extra field ends behind its record");
    if (id == 1) {
      Bytes field = extra.first(bytes);
      for (std::uint64_t* value : {&wide.size, &wide.packed, &wide.offset}) {
        if (*value != kIn64) continue;
        if (field.size() < 8) return malformed(where + ": its zip64 field is too short");
        *value = littleEndian(field, 0, 8);
        field = field.subspan(8);
      }
      return {};
    }
    extra = extra.subspan(bytes);
  }
  return {};
}

// From the member's own header to its last byte, and the packed bytes in between.
Result<Extent> place(Bytes archive, const Directory& directory, ZipMember& member, const Wide& wide) {
  const std::string where = "member " + inQuotes(member.name);
  if (wide.offset > directory.offset || directory.offset - wide.offset < kLocalBytes ||
      littleEndian(archive, wide.offset, 4) != kLocalMark)
    return malformed(where + ": no header at " + byteAt(wide.offset));
  const std::uint64_t nameBytes = littleEndian(archive, wide.offset + 26, 2);
  const std::uint64_t begin =
      wide.offset + kLocalBytes + nameBytes + littleEndian(archive, wide.offset + 28, 2);
  if (begin > directory.offset || wide.packed > directory.offset - begin)
    return malformed(where + ": its bytes reach into the directory");
  const Bytes name = archive.subspan(wide.offset + kLocalBytes, nameBytes);
  if (!std::ranges::equal(name, asBytes(member.name)))
    return malformed(where + ": its header has another name");
  member.packed = archive.subspan(begin, wide.packed);
  return Extent{wide.offset, begin + wide.packed};
}

Status checkSize(const ZipMember& member, std::uint64_t& inflated) {
  const std::string where = "member " + inQuotes(member.name);
  if (!member.deflated) {
    if (member.size != member.packed.size()) return malformed(where + ": it is stored in another size");
    return {};
  }
  if (member.size > kRatioSlack && (member.size - kRatioSlack) / kMaxRatio > member.packed.size())
    return malformed(where + ": its bytes cannot hold what it claims");
  if (member.size > kMaxInflated || inflated > kMaxInflated - member.size) {
    return fail(Code::kInvalidArgument,
                where + ": more than 4 GiB compressed; store the archive without compression");
  }
  inflated += member.size;
  return {};
}

Status checkApart(std::vector<Extent> extents) {
  std::ranges::sort(extents, {}, &Extent::begin);
  for (std::size_t i = 1; i < extents.size(); ++i) {
    if (extents[i].begin < extents[i - 1].end)
      return malformed("two members share " + byteAt(extents[i].begin));
  }
  return {};
}

}  // namespace

Result<std::vector<ZipMember>> readZip(Bytes archive) {
  KILN_ASSIGN(const Directory directory, readDirectory(archive));
  std::vector<ZipMember> out;
  std::vector<Extent> extents;
  std::uint64_t at = directory.offset, inflated = 0;
  for (std::uint64_t i = 0; i < directory.members; ++i) {
    const std::string where = byteAt(at);
    if (directory.end - at < kCentralBytes || littleEndian(archive, at, 4) != kCentralMark)
      return malformed(where + ": no member of the directory");
    const std::uint64_t flags = littleEndian(archive, at + 8, 2), method = littleEndian(archive, at + 10, 2);
    const std::uint64_t nameBytes = littleEndian(archive, at + 28, 2);
    const std::uint64_t extraBytes = littleEndian(archive, at + 30, 2);
    const std::uint64_t whole = kCentralBytes + nameBytes + extraBytes + littleEndian(archive, at + 32, 2);
    if (whole > directory.end - at) return malformed(where + ": a member ends behind the directory");
    const Bytes name = archive.subspan(at + kCentralBytes, nameBytes);
    Wide wide{littleEndian(archive, at + 20, 4), littleEndian(archive, at + 24, 4),
              littleEndian(archive, at + 42, 4)};
    KILN_TRY(widen(archive.subspan(at + kCentralBytes + nameBytes, extraBytes), wide, where));
    ZipMember member{{reinterpret_cast<const char*>(name.data()), name.size()},
                     {},
                     method == kDeflated,
                     wide.size,
                     static_cast<std::uint32_t>(littleEndian(archive, at + 16, 4))};
    if (name.empty() || name.size() > kMaxNameBytes || !isUtf8(member.name))
      return malformed(where + ": a name that is no UTF-8 of 1 to 4096 bytes");
    if (flags & kEncrypted)
      return fail(Code::kUnimplemented, "member " + inQuotes(member.name) + " is encrypted");
    if (method != kStored && method != kDeflated) {
      return fail(Code::kUnimplemented, "member " + inQuotes(member.name) + " is compressed by method " +
                                            std::to_string(method) + "; stored and deflated ones are read");
    }
    KILN_ASSIGN(const Extent extent, place(archive, directory, member, wide));
    KILN_TRY(checkSize(member, inflated));
    extents.push_back(extent);
    if (!member.name.ends_with('/')) out.push_back(member);
    at += whole;
  }
  if (at != directory.end) return malformed(byteAt(at) + ": bytes between the directory and its end");
  KILN_TRY(checkApart(std::move(extents)));
  return out;
}

}  // namespace kiln::archive

// Zip archives whose members are read where they lie. Format: PKWARE's APPNOTE 6.3.9, with zip64.
//
// A reader of our own, since the libraries hand out bytes and never the place of a stored member, which is
// what is mapped. Everything is hostile: members lie apart from each other and from the directory, no byte is
// read twice, and what a compressed member claims is held against what its bytes can hold before memory is
// taken.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::archive {

struct ZipMember {
  std::string_view name;  // UTF-8, not empty, at most 4 KiB; no path that is safe to join
  Bytes packed;           // its bytes in the archive
  bool deflated = false;  // else stored: `packed` is the contents
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
};

inline constexpr std::size_t kMaxZipMembers = 1'000'000;
// What the compressed members of one archive may hold in all.
inline constexpr std::uint64_t kMaxInflated = std::uint64_t{4} << 30;

// The members in the order of the central directory, folders left out. Views point into `archive`.
// kInvalidArgument for what is no well-formed archive (names the byte or the member), kUnimplemented for
// encryption, archives of several files and other ways of compression.
Result<std::vector<ZipMember>> readZip(Bytes archive);

struct ZipContents {
  Bytes bytes;
  std::shared_ptr<const void> owner;
};
// The contents of a member, checked by their CRC: a view where it is stored, whose owner is `archive`, else
// memory of its own. kInvalidArgument where the bytes are not what the directory says.
Result<ZipContents> contentsOf(const ZipMember& member, const std::shared_ptr<const void>& archive);

}  // namespace kiln::archive

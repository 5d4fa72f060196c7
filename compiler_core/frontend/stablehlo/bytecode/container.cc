#include "compiler_core/frontend/stablehlo/bytecode/container.h"

#include <algorithm>
#include <array>
#include <optional>

namespace kiln::stablehlo {
namespace {

constexpr std::array<std::uint8_t, 4> kMagic = {'M', 'L', 0xEF, 'R'};

enum SectionId : std::uint8_t {
  kStrings = 0,
  kDialects = 1,
  kEntries = 2,
  kEntryOffsets = 3,
  kResources = 5,
  kResourceOffsets = 6,
  kDialectVersions = 7,
  kProperties = 8,
  kSections = 9
};

Status readStrings(Cursor section, Container& out) {
  KILN_ASSIGN(const std::size_t count, section.count());
  // The lengths, the last string's first; each counts its NUL.
  std::vector<std::uint64_t> lengths(count);
  for (std::size_t i = count; i-- > 0;) {
    KILN_ASSIGN(lengths[i], section.varint());
    if (lengths[i] == 0) return section.error("a string without its end");
  }
  for (const std::uint64_t length : lengths) {
    KILN_ASSIGN(const Cursor text, section.take(length));
    if (text.rest().back() != 0) return text.error("a string without its end");
    out.strings.emplace_back(reinterpret_cast<const char*>(text.rest().data()), text.rest().size() - 1);
  }
  return {};
}

Result<std::string_view> readString(Cursor& cursor, const Container& container) {
  KILN_ASSIGN(const std::size_t index, cursor.index(container.strings.size(), "string"));
  return container.strings[index];
}

Result<std::string_view> readFlaggedString(Cursor& cursor, const Container& container, bool& flag) {
  KILN_ASSIGN(const Cursor::Flagged name, cursor.flagged());
  if (name.value >= container.strings.size())
    return cursor.error("there is no string " + std::to_string(name.value));
  flag = name.flag;
  return container.strings[static_cast<std::size_t>(name.value)];
}

Result<std::vector<std::string_view>> readDialects(Cursor section, Container& out) {
  KILN_ASSIGN(const std::size_t count, section.count());
  std::vector<std::string_view> dialects;
  for (std::size_t i = 0; i < count; ++i) {
    bool hasVersion = false;
    if (out.version < kWithDialectVersions) {
      KILN_ASSIGN(const std::string_view name, readString(section, out));
      dialects.push_back(name);
    } else {
      KILN_ASSIGN(const std::string_view name, readFlaggedString(section, out, hasVersion));
      dialects.push_back(name);
    }
    // StableHLO says its version as the producer.
    if (hasVersion) KILN_TRY(readSection(section));
  }
  if (out.version >= kWithoutUnknownLocations) KILN_TRY(section.varint());  // the number of names
  while (!section.atEnd()) {
    KILN_ASSIGN(const std::size_t dialect, section.index(dialects.size(), "dialect"));
    KILN_ASSIGN(const std::size_t names, section.count());
    for (std::size_t i = 0; i < names; ++i) {
      bool isRegistered = false;
      if (out.version < kWithProperties) {
        KILN_ASSIGN(const std::string_view name, readString(section, out));
        out.operations.push_back({dialects[dialect], name});
      } else {
        KILN_ASSIGN(const std::string_view name, readFlaggedString(section, out, isRegistered));
        out.operations.push_back({dialects[dialect], name});
      }
    }
  }
  return dialects;
}

// The groups of `count` attributes or types, one dialect each, in the order of their contents in `entries`.
Status readGroups(Cursor& offsets, Cursor& entries, const std::vector<std::string_view>& dialects,
                  std::size_t count, std::vector<Entry>& out) {
  while (out.size() < count) {
    KILN_ASSIGN(const std::size_t dialect, offsets.index(dialects.size(), "dialect"));
    KILN_ASSIGN(const std::size_t group, offsets.count());
    if (group > count - out.size()) return offsets.error("more attributes or types than there are");
    for (std::size_t i = 0; i < group; ++i) {
      KILN_ASSIGN(const Cursor::Flagged size, offsets.flagged());
      KILN_ASSIGN(const Cursor content, entries.take(size.value));
      out.push_back({dialects[dialect], content, size.flag});
    }
    if (group == 0) return offsets.error("a group without attributes or types");
  }
  return {};
}

Status readEntries(Cursor offsets, Cursor entries, const std::vector<std::string_view>& dialects,
                   Container& out) {
  KILN_ASSIGN(const std::size_t attributes, offsets.count());
  KILN_ASSIGN(const std::size_t types, offsets.count());
  KILN_TRY(readGroups(offsets, entries, dialects, attributes, out.attributes));
  return readGroups(offsets, entries, dialects, types, out.types);
}

Status readProperties(Cursor section, Container& out) {
  KILN_ASSIGN(const std::size_t count, section.count());
  for (std::size_t i = 0; i < count; ++i) {
    KILN_ASSIGN(const std::uint64_t length, section.varint());
    KILN_ASSIGN(const Cursor content, section.take(length));
    out.properties.push_back(content);
  }
  return {};
}

}  // namespace

bool isBytecode(Bytes bytes) {
  return bytes.size() > kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), bytes.begin());
}

std::string_view producerOf(Bytes bytes) {
  if (!isBytecode(bytes)) return {};
  Cursor cursor(bytes.subspan(kMagic.size()), kMagic.size());
  if (!cursor.varint()) return {};
  const auto producer = cursor.text();
  return producer ? *producer : std::string_view();
}

Result<Section> readSection(Cursor& cursor) {
  KILN_ASSIGN(const std::uint8_t head, cursor.byte());
  KILN_ASSIGN(const std::uint64_t length, cursor.varint());
  if (head & 0x80) {
    constexpr std::uint8_t kPadding = 0xCB;
    constexpr std::uint64_t kMaxAlignment = 1 << 16;
    KILN_ASSIGN(const std::uint64_t alignment, cursor.varint());
    if (alignment == 0 || alignment > kMaxAlignment || (alignment & (alignment - 1)))
      return cursor.error("a section is aligned to " + std::to_string(alignment) + " bytes");
    while (cursor.position() % alignment) {
      KILN_ASSIGN(const std::uint8_t padding, cursor.byte());
      if (padding != kPadding) return cursor.error("padding before a section is something else");
    }
  }
  KILN_ASSIGN(const Cursor content, cursor.take(length));
  return Section{static_cast<std::uint8_t>(head & 0x7F), content};
}

Result<Container> readContainer(Bytes bytes) {
  if (!isBytecode(bytes)) return fail(Code::kInvalidArgument, "byte 0: no MLIR bytecode");
  Container container;
  container.bytes = bytes.size();
  Cursor cursor(bytes.subspan(kMagic.size()), kMagic.size());
  KILN_ASSIGN(container.version, cursor.varint());
  if (container.version > kNewestContainer)
    return cursor.error(
        "version " + std::to_string(container.version) +
            " of MLIR's bytecode is newer than what is read; write the program for an older version",
        Code::kUnimplemented);
  KILN_ASSIGN(container.producer, cursor.text());
  std::array<std::optional<Cursor>, kSections> sections;
  while (!cursor.atEnd()) {
    KILN_ASSIGN(const Section section, readSection(cursor));
    if (section.id >= kSections)
      return cursor.error("a section of unknown kind " + std::to_string(section.id));
    if (sections[section.id]) return cursor.error("section " + std::to_string(section.id) + " stands twice");
    sections[section.id] = section.content;
  }
  for (const std::uint8_t needed : {kStrings, kDialects, kEntries, kEntryOffsets, SectionId{kIrSection}})
    if (!sections[needed]) return cursor.error("section " + std::to_string(needed) + " is missing");
  KILN_TRY(readStrings(*sections[kStrings], container));
  KILN_ASSIGN(const std::vector<std::string_view> dialects, readDialects(*sections[kDialects], container));
  KILN_TRY(readEntries(*sections[kEntryOffsets], *sections[kEntries], dialects, container));
  if (sections[kProperties]) KILN_TRY(readProperties(*sections[kProperties], container));
  container.ir = *sections[kIrSection];
  return container;
}

}  // namespace kiln::stablehlo

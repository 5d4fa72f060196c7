// The container of MLIR's bytecode, versions 0 to 6, as far as StableHLO's portable artifacts use it: its
// sections taken apart, nothing of the dialects' encodings. Source: MLIR's public description of its bytecode
// format.
#pragma once

#include <string_view>
#include <vector>

#include "compiler_core/frontend/stablehlo/bytecode/cursor.h"

namespace kiln::stablehlo {

// Versions of the container that change what stands in it.
inline constexpr std::uint64_t kWithDialectVersions = 1;
inline constexpr std::uint64_t kWithLazyRegions =
    2;  // regions of isolated operations in a section of their own
inline constexpr std::uint64_t kWithUseListOrders = 3;
inline constexpr std::uint64_t kWithoutUnknownLocations = 4;
inline constexpr std::uint64_t kWithProperties = 5;
inline constexpr std::uint64_t kNewestContainer = 6;

// An attribute or a type, to be read when it is used.
struct Entry {
  std::string_view dialect;
  Cursor content;
  bool isEncoded = false;  // by its dialect; else it is text
};

struct OperationName {
  std::string_view dialect, name;
};

// Views of the file's bytes.
struct Container {
  std::size_t bytes = 0;  // of the file
  std::uint64_t version = 0;
  std::string_view producer;
  std::vector<std::string_view> strings;
  std::vector<OperationName> operations;
  std::vector<Entry> attributes, types;
  std::vector<Cursor> properties;
  Cursor ir{Bytes()};
};

// Whether the bytes begin as MLIR's bytecode does.
bool isBytecode(Bytes bytes);
// Who wrote the bytecode, by its header; empty if there is none.
std::string_view producerOf(Bytes bytes);

// kInvalidArgument, with the byte, where the container is wrong; kUnimplemented for newer versions of it.
Result<Container> readContainer(Bytes bytes);

// A section inside another one: its number and content.
struct Section {
  std::uint8_t id;
  Cursor content;
};
inline constexpr std::uint8_t kIrSection = 4;
Result<Section> readSection(Cursor& cursor);

}  // namespace kiln::stablehlo

// Makes zip archives for tests, with every field at hand to be wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::testing_support {

struct ZipWritten {
  std::string name;
  std::string contents;
  bool deflate = false;
  bool wide = false;  // sizes and the offset in a zip64 field
};

// Little-endian, `bytes` of it.
std::string littleEndianText(std::uint64_t value, std::size_t bytes);
// A raw deflate stream.
std::string deflated(const std::string& contents);
// `wide`: with a zip64 end of the directory too.
std::string writeZip(const std::vector<ZipWritten>& members, bool wide = false,
                     const std::string& comment = "");

}  // namespace kiln::testing_support

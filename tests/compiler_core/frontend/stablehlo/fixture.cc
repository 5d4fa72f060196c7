#include "tests/compiler_core/frontend/stablehlo/fixture.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace kiln::stablehlo::test {
namespace {

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
  if (bytes.size() < at + sizeof(T)) bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

}  // namespace

Fixture fixture(const std::string& name) {
  std::ifstream file(std::string(KILN_SOURCE_DIR "/tests/compiler_core/frontend/stablehlo/fixtures/") + name,
                     std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return {name, std::make_shared<const std::string>(std::move(content))};
}

std::vector<std::string> artifacts() {
  return {"operations.0.9.0.mlirbc",  "operations.0.10.0.mlirbc", "operations.0.12.0.mlirbc",
          "operations.0.14.0.mlirbc", "operations.0.15.0.mlirbc", "operations.1.17.0.mlirbc"};
}

std::string jaxExport(std::string_view artifact, std::uint16_t callingConvention) {
  constexpr std::size_t kVirtualTable = 4, kTable = 48, kPlatforms = 64, kNames = 80, kArtifact = 96;
  std::string bytes;
  put<std::uint32_t>(bytes, 0, kTable);
  put<std::uint16_t>(bytes, kVirtualTable, 36);       // its size
  put<std::uint16_t>(bytes, kVirtualTable + 22, 12);  // the platforms are 12 bytes into the table
  put<std::uint16_t>(bytes, kVirtualTable + 30, 4);   // the program is 4 bytes into the table
  put<std::uint16_t>(bytes, kVirtualTable + 32, 8);   // the calling convention 8 bytes
  put<std::int32_t>(bytes, kTable, kTable - kVirtualTable);
  put<std::uint32_t>(bytes, kTable + 4, kArtifact - (kTable + 4));
  put<std::uint16_t>(bytes, kTable + 8, callingConvention);
  put<std::uint32_t>(bytes, kTable + 12, kPlatforms - (kTable + 12));
  put<std::uint32_t>(bytes, kPlatforms, 2);
  put<std::uint32_t>(bytes, kPlatforms + 4, kNames - (kPlatforms + 4));
  put<std::uint32_t>(bytes, kPlatforms + 8, kNames + 8 - (kPlatforms + 8));
  put<std::uint32_t>(bytes, kNames, 3);
  bytes += "tpu";
  put<std::uint32_t>(bytes, kNames + 8, 3);
  bytes += "cpu";
  put<std::uint32_t>(bytes, kArtifact, static_cast<std::uint32_t>(artifact.size()));
  return bytes.append(artifact);
}

}  // namespace kiln::stablehlo::test

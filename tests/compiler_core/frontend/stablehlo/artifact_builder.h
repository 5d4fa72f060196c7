// Portable artifacts by hand, for what no serializer writes: one function main, in version 6 of MLIR's
// bytecode.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::stablehlo::test {

std::string varint(std::uint64_t value);

class ArtifactBuilder {
 public:
  ArtifactBuilder();

  // The index of an attribute or a type of dialect vhlo, by its encoding.
  std::size_t attribute(std::string encoding);
  std::size_t type(std::string encoding);
  std::size_t string(std::string text);
  std::size_t operationName(std::string name);
  std::size_t propertyList(std::string bytes);

  // An operation without attributes and values: its name, and its regions.
  std::string operation(std::size_t name, const std::string& regions = {}, std::size_t regionCount = 0) const;
  // A region of one block without arguments.
  std::string region(std::size_t operations, const std::string& content, std::uint64_t values = 0) const;
  std::size_t returnName() const { return return_; }

  // The whole file, with these operations in main; "return" is added.
  std::string build(std::size_t operations, const std::string& content, std::uint64_t values = 0) const;

 private:
  std::vector<std::string> strings_, attributes_, types_, operations_, properties_;
  std::size_t return_ = 0, function_ = 0, functionProperties_ = 0;
};

}  // namespace kiln::stablehlo::test

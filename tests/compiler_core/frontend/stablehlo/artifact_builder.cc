#include "tests/compiler_core/frontend/stablehlo/artifact_builder.h"

namespace kiln::stablehlo::test {
namespace {

std::string section(std::uint8_t id, const std::string& content) {
  return std::string(1, static_cast<char>(id)) + varint(content.size()) + content;
}

std::size_t append(std::vector<std::string>& list, std::string element) {
  list.push_back(std::move(element));
  return list.size() - 1;
}

std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& element : list) text += element;
  return text;
}

// Sizes of entries that their dialect encodes.
std::string sizes(const std::vector<std::string>& entries) {
  std::string text;
  for (const std::string& entry : entries) text += varint(entry.size() << 1 | 1);
  return text;
}

constexpr char kHasRegions = 16, kHasProperties = 64;
constexpr std::uint64_t kVhlo = 1;  // the dialect; 0 is builtin

}  // namespace

std::string varint(std::uint64_t value) {
  int length = 1;
  while (length < 9 && value >> (7 * length)) ++length;
  std::string bytes;
  std::uint64_t rest = value;
  if (length == 9)
    bytes.push_back(0);
  else
    rest = ((value << 1) | 1) << (length - 1);
  while (static_cast<int>(bytes.size()) < length) {
    bytes.push_back(static_cast<char>(rest & 0xFF));
    rest >>= 8;
  }
  return bytes;
}

ArtifactBuilder::ArtifactBuilder() {
  string("builtin");
  string("vhlo");
  string("module");
  const std::size_t main = string("main"), visibility = string("");
  types_.push_back(varint(8) + varint(0) + varint(0));  // () -> ()
  const std::size_t name = attribute(varint(14) + varint(main));
  const std::size_t none = attribute(varint(1) + varint(0));
  const std::size_t type = attribute(varint(17) + varint(0));
  const std::size_t isPublic = attribute(varint(14) + varint(visibility));
  functionProperties_ =
      propertyList(varint(none) + varint(type) + varint(none) + varint(name) + varint(isPublic));
  function_ = operationName("func_v1");
  return_ = operationName("return_v1");
}

std::size_t ArtifactBuilder::attribute(std::string encoding) {
  return append(attributes_, std::move(encoding));
}

std::size_t ArtifactBuilder::type(std::string encoding) {
  return append(types_, std::move(encoding));
}

std::size_t ArtifactBuilder::string(std::string text) {
  return append(strings_, std::move(text));
}

std::size_t ArtifactBuilder::operationName(std::string name) {
  return append(operations_, varint(string(std::move(name)) << 1 | 1)) + 1;  // the module is 0
}

std::size_t ArtifactBuilder::propertyList(std::string bytes) {
  return append(properties_, std::move(bytes));
}

std::string ArtifactBuilder::operation(std::size_t name, const std::string& regions,
                                       std::size_t regionCount) const {
  std::string bytes = varint(name) + std::string(1, regionCount ? kHasRegions : 0) + varint(0);
  return regionCount ? bytes + varint(regionCount << 1) + regions : bytes;
}

std::string ArtifactBuilder::region(std::size_t operations, const std::string& content,
                                    std::uint64_t values) const {
  return varint(1) + varint(values) + varint(operations << 1) + content;
}

std::string ArtifactBuilder::build(std::size_t operations, const std::string& content,
                                   std::uint64_t values) const {
  std::string lengths, data, propertyBytes;
  for (std::size_t i = strings_.size(); i-- > 0;) lengths += varint(strings_[i].size() + 1);
  for (const std::string& text : strings_) data += text + '\0';
  for (const std::string& list : properties_) propertyBytes += varint(list.size()) + list;
  const std::string main = varint(function_) + std::string(1, kHasRegions | kHasProperties) + varint(0) +
                           varint(functionProperties_) + varint(1 << 1) +
                           region(operations + 1, content + operation(return_), values);
  const std::string module =
      varint(0) + std::string(1, kHasRegions) + varint(0) + varint(1 << 1 | 1) + section(4, region(1, main));
  return "ML\xEFR" + varint(6) + "StableHLO_v1.17.0" + '\0' +
         section(0, varint(strings_.size()) + lengths + data) +
         section(1, varint(2) + varint(0 << 1) + varint(1 << 1) + varint(1 + operations_.size()) + varint(0) +
                        varint(1) + varint(2 << 1 | 1) + varint(kVhlo) + varint(operations_.size()) +
                        joined(operations_)) +
         section(2, joined(attributes_) + joined(types_)) +
         section(3, varint(attributes_.size()) + varint(types_.size()) + varint(kVhlo) +
                        varint(attributes_.size()) + sizes(attributes_) + varint(kVhlo) +
                        varint(types_.size()) + sizes(types_)) +
         section(4, varint(1 << 1) + module) + section(8, varint(properties_.size()) + propertyBytes);
}

}  // namespace kiln::stablehlo::test

// The programs of fixtures/ as files: text that we wrote, and the artifacts that fixtures/make.py made of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"

namespace kiln::stablehlo::test {

struct Fixture {
  std::string name;
  std::shared_ptr<const std::string> content;
  Bytes bytes() const { return asBytes(*content); }
  std::string_view text() const { return *content; }
};

// The test fails, and the content is empty, where there is no such file.
Fixture fixture(const std::string& name);

// The artifacts of operations.mlir, one for each version of the container: 0, 1, 3, 4 and 6.
std::vector<std::string> artifacts();

// A flatbuffer around an artifact as jax.export writes it, with this calling convention.
std::string jaxExport(std::string_view artifact, std::uint16_t callingConvention);

}  // namespace kiln::stablehlo::test

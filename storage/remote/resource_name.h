// ByteStream resource names as REAPI defines them:
//   read   [instance/]blobs/{hash}/{size}
//   write  [instance/]uploads/{uuid}/blobs/{hash}/{size}[/metadata]
// An instance may contain '/', so names are parsed from the right.
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/digest.h"

namespace kiln::storage {

struct ResourceName {
  std::string instance;
  Digest digest;
  std::string upload;  // the uuid; empty in names for reading
};

// kInvalidArgument says what a name should look like; kUnimplemented for compressed-blobs.
Result<ResourceName> parseReadName(std::string_view name);
Result<ResourceName> parseWriteName(std::string_view name);

std::string readName(const std::string& instance, const Digest& digest);
// With a random version 4 UUID.
std::string writeName(const std::string& instance, const Digest& digest);

}  // namespace kiln::storage

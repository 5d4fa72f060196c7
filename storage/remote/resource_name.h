// ByteStream resource names as REAPI defines them:
//   read   [instance/]blobs/{hash}/{size}
//   write  [instance/]uploads/{uuid}/blobs/{hash}/{size}[/metadata]
// and with compressed-blobs/zstd/{hash}/{size}, of the uncompressed bytes, in place of blobs/{hash}/{size}.
// An instance may have several segments, none of which is a word that REAPI reserves (reapi_instance.h).
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/digest.h"

namespace kiln::storage {

struct ResourceName {
  std::string instance;  // kDefaultInstance where the name has none
  Digest digest;
  std::string upload;  // the uuid; empty in names for reading
  bool zstd = false;   // its bytes are compressed on their way
};

// kInvalidArgument says what a name should look like, or names the compressor or digest function that is not
// served.
Result<ResourceName> parseReadName(std::string_view name);
Result<ResourceName> parseWriteName(std::string_view name);

std::string readName(const std::string& instance, const Digest& digest);
// With a random version 4 UUID.
std::string writeName(const std::string& instance, const Digest& digest);

}  // namespace kiln::storage

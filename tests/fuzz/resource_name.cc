// libFuzzer: ByteStream resource names, plain and compressed. What parses is made of the same parts when
// written again, to the letter.
#include "storage/remote/resource_name.h"

#include <cstdlib>
#include <string>

#include "storage/remote/reapi_instance.h"

namespace {

using kiln::storage::ResourceName;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string blobOf(const ResourceName& name) {
  return (name.zstd ? "compressed-blobs/zstd/" : "blobs/") + name.digest.hex() + "/" +
         std::to_string(name.digest.size);
}
// What stands behind the instance, or nothing of it is left out.
bool isMadeOf(std::string_view name, const ResourceName& parsed, const std::string& rest) {
  require(!parsed.instance.empty() && kiln::storage::checkReapiInstance(parsed.instance).has_value());
  require(name.size() <= 1024);
  if (name.starts_with(rest)) return parsed.instance == kiln::storage::kDefaultInstance;
  return name.starts_with(parsed.instance + "/" + rest);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view name(reinterpret_cast<const char*>(data), size);
  if (auto read = kiln::storage::parseReadName(name)) {
    require(read->upload.empty());
    require(isMadeOf(name, *read, blobOf(*read)) && name.ends_with(blobOf(*read)));
    auto again = kiln::storage::parseReadName(kiln::storage::readName(read->instance, read->digest));
    require(again && again->instance == read->instance && again->digest == read->digest && !again->zstd);
  }
  if (auto write = kiln::storage::parseWriteName(name)) {
    require(!write->upload.empty() && write->upload.size() <= 64 &&
            write->upload.find('/') == std::string::npos);
    const std::string rest = "uploads/" + write->upload + "/" + blobOf(*write);
    require(isMadeOf(name, *write, rest));
    const std::string_view metadata = name.substr(name.find(rest) + rest.size());
    require(metadata.empty() || metadata.front() == '/');
    auto again = kiln::storage::parseWriteName(kiln::storage::writeName(write->instance, write->digest));
    require(again && again->instance == write->instance && again->digest == write->digest);
  }
  return 0;
}

// kiln-cc header: prints the C header of a compiled program without an operating system.
#include <fmt/format.h>

#include "compiler_core/driver/commands/command.h"
#include "manifest/artifact/c_header.h"

namespace kiln::driver {
namespace {

constexpr std::uint64_t kMaxManifestBytes = 64u << 20;

}  // namespace

CommandResult headerCommand(const HeaderArguments& arguments) {
  const std::string path = arguments.folder + "/manifest.json";
  const auto text = readText(path, kMaxManifestBytes, "give the folder that kiln-cc compile wrote");
  if (!text) return stop(exitForFile(text.error()), text.error());
  const auto json = parseJson(*text);
  if (!json) return stop(kExitUsage, json.error().in(path));
  const auto manifest = Manifest::fromJson(*json);
  if (!manifest) return stop(kExitUsage, manifest.error().in(path));
  const auto header = cHeader(*manifest, arguments.name);
  if (!header) return stop(kExitUsage, header.error());
  fmt::print("{}", *header);
  return {};
}

}  // namespace kiln::driver

#include "coordinator/jobs/toolchain_description.h"

#include <fmt/format.h>

#include "manifest/json/reader.h"
#include "manifest/spec/path.h"

namespace kiln::jobs {
namespace {

constexpr std::size_t kMaxComponents = 1024;
constexpr std::size_t kMaxLabel = 128;

bool isLabelCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._+-").find(c) != std::string_view::npos;
}

Result<ToolchainComponent> readComponent(const Json& json, const std::string& place) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  ToolchainComponent out;
  KILN_ASSIGN(out.name, reader.string("name"));
  KILN_ASSIGN(out.version, reader.string("version"));
  KILN_ASSIGN(out.path, reader.string("path"));
  if (auto safe = checkRelativePath(out.path); !safe)
    return badMember(reader.path("path"), safe.error().message);
  KILN_ASSIGN(out.digest, reader.digest());
  KILN_TRY(reader.finish());
  return out;
}

}  // namespace

Result<ToolchainDescription> readToolchainDescription(std::string_view text) {
  KILN_ASSIGN(Json json, parseStrictJson(text));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "toolchain"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "Toolchain"));
  ToolchainDescription out;
  KILN_ASSIGN(out.name, reader.string("name"));
  KILN_ASSIGN(out.version, reader.string("version"));
  KILN_ASSIGN(out.label, reader.string("label"));
  if (out.label.empty() || out.label.size() > kMaxLabel)
    return badMember(reader.path("label"), "must have 1 to 128 characters");
  for (char c : out.label)
    if (!isLabelCharacter(c))
      return badMember(reader.path("label"), "may hold letters, digits and . _ + - only");
  KILN_ASSIGN(const Json* components, reader.array("components"));
  if (components->empty() || components->size() > kMaxComponents)
    return badMember(reader.path("components"), fmt::format("must hold 1 to {} components", kMaxComponents));
  for (std::size_t i = 0; i < components->size(); ++i) {
    KILN_ASSIGN(ToolchainComponent component,
                readComponent((*components)[i], fmt::format("{}[{}]", reader.path("components"), i)));
    out.components.push_back(std::move(component));
  }
  KILN_ASSIGN(out.targets, reader.strings("targets"));
  if (out.targets.empty()) return badMember(reader.path("targets"), "must name at least one target");
  KILN_TRY(reader.finish());
  return out;
}

}  // namespace kiln::jobs

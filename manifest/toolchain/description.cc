#include "manifest/toolchain/description.h"

#include "manifest/json/reader.h"
#include "manifest/spec/path.h"

namespace kiln {
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

Status checkToolchainLabel(std::string_view label) {
  if (label.empty() || label.size() > kMaxLabel)
    return fail(Code::kInvalidArgument, "must have 1 to 128 characters");
  for (char c : label)
    if (!isLabelCharacter(c))
      return fail(Code::kInvalidArgument, "may hold letters, digits and . _ + - only");
  return {};
}

Result<ToolchainDescription> readToolchainDescription(std::string_view text) {
  KILN_ASSIGN(Json json, parseStrictJson(text));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "toolchain"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "Toolchain"));
  ToolchainDescription out;
  KILN_ASSIGN(out.name, reader.string("name"));
  KILN_ASSIGN(out.version, reader.string("version"));
  KILN_ASSIGN(out.label, reader.string("label"));
  if (auto fits = checkToolchainLabel(out.label); !fits)
    return badMember(reader.path("label"), fits.error().message);
  KILN_ASSIGN(const Json* components, reader.array("components"));
  if (components->empty() || components->size() > kMaxComponents)
    return badMember(reader.path("components"), "must hold 1 to 1024 components");
  for (std::size_t i = 0; i < components->size(); ++i) {
    KILN_ASSIGN(ToolchainComponent component,
                readComponent((*components)[i], reader.path("components") + "[" + std::to_string(i) + "]"));
    out.components.push_back(std::move(component));
  }
  KILN_ASSIGN(out.targets, reader.strings("targets"));
  if (out.targets.empty()) return badMember(reader.path("targets"), "must name at least one target");
  KILN_TRY(reader.finish());
  return out;
}

}  // namespace kiln

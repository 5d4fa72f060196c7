#include "compiler_core/frontend/stablehlo/program/location_name.h"

#include "compiler_core/frontend/stablehlo/program/name.h"

namespace kiln::stablehlo {
namespace {

constexpr std::size_t kMaxBytes = 1024;

bool isAbsolutePath(std::string_view name) {
  if (name.starts_with("/") || name.starts_with("~") || name.starts_with("\\\\") || name.starts_with("file:"))
    return true;
  return name.size() > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/');
}

}  // namespace

bool LocationName::add(std::string_view name) {
  if (!isName(name) || isAbsolutePath(name) || text_.size() + 1 + name.size() > kMaxBytes) return false;
  if (!text_.empty()) text_ += '/';
  text_ += name;
  return true;
}

}  // namespace kiln::stablehlo

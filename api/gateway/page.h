// A page that the gateway serves at /, whoever makes it.
#pragma once

#include <functional>
#include <string_view>

namespace kiln::gateway {

// Lives as long as the program.
struct PageFile {
  std::string_view type;  // its media type
  std::string_view bytes;
};

// The file of a path, "/" or "/console.js"; null if there is none.
using PageFiles = std::function<const PageFile*(std::string_view path)>;

// Content Security Policy, level 3, and Trusted Types: scripts and styles of this side alone, none inline, no
// eval; nothing is asked of anybody else; text never becomes markup; nobody frames the page. Its icon is an
// empty data URL.
inline constexpr char kPagePolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri "
    "'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

}  // namespace kiln::gateway

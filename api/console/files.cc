#include "api/console/files.h"

#include <algorithm>
#include <iterator>

namespace kiln::console {

// What Embed.cmake makes of the files.
extern const std::string_view kPage, kScript, kStyle;

namespace {

struct Named {
  std::string_view path;
  gateway::PageFile file;
};

}  // namespace

const gateway::PageFile* findFile(std::string_view path) {
  static const Named kFiles[] = {{"/", {"text/html; charset=utf-8", kPage}},
                                 {"/console.js", {"text/javascript; charset=utf-8", kScript}},
                                 {"/console.css", {"text/css; charset=utf-8", kStyle}}};
  const auto* found = std::ranges::find(kFiles, path, &Named::path);
  return found == std::end(kFiles) ? nullptr : &found->file;
}

}  // namespace kiln::console

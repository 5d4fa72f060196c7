#include "api/cli/base/artifact_option.h"

#include "manifest/base/presence.h"
#include "manifest/base/short_digest.h"

namespace kiln::cli {

CLI::Option* addArtifactOption(CLI::App& command, const std::string& name, std::string& artifact,
                               const std::string& what) {
  return command.add_option(name, artifact, what)
      ->transform(std::function<std::string(std::string)>([](const std::string& text) {
        return isBareDigest(text) && !checkPresent(text) ? "sha256:" + text : text;
      }));
}

}  // namespace kiln::cli

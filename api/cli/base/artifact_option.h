// How an artifact is named on a command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kiln::cli {

// Adds an option or, where `name` begins with no '-', an argument whose value names an artifact: 12 to 64 hex
// digits alone become "sha256:<digits>", unless something of that name lies here. Which artifact fewer than
// 64 digits mean the farm says (client/artifact_ref.h).
CLI::Option* addArtifactOption(CLI::App& command, const std::string& name, std::string& artifact,
                               const std::string& what);

}  // namespace kiln::cli

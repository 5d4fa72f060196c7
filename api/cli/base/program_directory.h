// The folder of the running program, where the other programs of the installation lie.
#pragma once

#include <string>

namespace kiln::cli {

std::string programDirectory();

}  // namespace kiln::cli

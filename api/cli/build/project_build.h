// `kiln build` without a MODEL: all that the kiln.toml of a folder names.
#pragma once

#include "api/cli/base/context.h"

namespace kiln::cli {

struct ProjectOptions {
  std::string folder = ".";
  bool locked = false;  // what differs from kiln.lock is refused, and the lock stays as it is
};

// Builds one model after the other and prints "artifact sha256:<hex>" for each target. What differs from
// kiln.lock is told on stderr, and the lock is brought up to date with each model that was built. With
// `locked` a model that has no `toolchain` of its own is built with that of the lock, and any difference ends
// with exit code 9: of inputs, options and a named toolchain before the job is submitted, of artifacts after
// it.
Status buildProject(const Context& context, const ProjectOptions& options);

}  // namespace kiln::cli

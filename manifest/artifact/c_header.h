// The C header of a program without an operating system (program.o), from its manifest. Pure and thread safe.
#pragma once

#include <string>
#include <string_view>

#include "manifest/artifact/manifest.h"

namespace kiln {

// The one function that program.o shows, "kiln_0123456789abcdef_run": of the spec's digest, so that a
// firmware can hold several models.
std::string entryOf(const CompileSpec& spec);

// What a C11 or C++ compiler needs to call the program as <name>_run: structures with a pointer for each
// input and output, named after those of the model, and constants for dimensions and memory.
// kInvalidArgument: a name that is no identifier of C, or a manifest of another target.
Result<std::string> cHeader(const Manifest& manifest, std::string_view name);

}  // namespace kiln

// The evidence of a compile's stages as text for people: in the order of the pipeline, lists as tables.
#pragma once

#include <string>
#include <vector>

#include "manifest/json/json.h"

namespace kiln::cli {

// The lines of a Manifest's `stages` (FORMAT.md; free in form). Each stage begins with its name; what it
// states is indented below. Facts that this program does not know are shown by name, with their size where
// they are lists; nothing is cut without a word. Text is as the Manifest has it: print it with printOneLine.
std::vector<std::string> stageLines(const Json& stages);

}  // namespace kiln::cli

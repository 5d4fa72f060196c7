// Suggestions for a mistyped name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln {

// Up to three of `names`, the most similar first, each once; none that differs in more than a third of
// `name`'s characters. By the number of characters to insert, remove or replace (Levenshtein). Of a `name`
// without '.' and ':' the others count behind their last one as well: "dot_general" is
// "stablehlo.dot_general".
std::vector<std::string> nearestNames(std::string_view name, const std::vector<std::string>& names);

// "; did you mean \"a\" or \"b\"?", or "" where nothing is near.
std::string orNearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace kiln

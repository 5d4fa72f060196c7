// Reading what is free in form (a Manifest's stages) for people: what is missing or of another type is empty.
#pragma once

#include <string>

#include "manifest/json/json.h"

namespace kiln::cli {

// A member as text: a string as it is, anything else as JSON; "" where there is none.
std::string textOf(const Json& object, const char* name);

// A member that is a list; an empty list where it is missing or something else.
const Json& listOf(const Json& object, const char* name);

// A count, stated as an integer or a decimal string; 0 where there is none.
std::uint64_t countOf(const Json& object, const char* name);

// "87.5 %" of the thousandths that a member states; its text where that is no count.
std::string permilleOf(const Json& object, const char* name);

// The first `most` texts of a list, "a, b and 12 more"; as JSON where they are something else.
std::string firstOf(const Json& object, const char* name, std::size_t most);

}  // namespace kiln::cli

// Two ways to write booleans in hexadecimal.
#pragma once

#include <string>

namespace kiln::stablehlo {

// `dense<"0x..."> : tensor<...xi1>` has one byte for each boolean since MLIR 23, eight booleans in one byte
// before. Rewrites the former as the latter, which MLIR 22 reads; blanks keep lines and columns. What is
// neither stays for the parser.
void packBooleans(std::string& text);

}  // namespace kiln::stablehlo

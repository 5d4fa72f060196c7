#include "compiler_core/frontend/text/program_start.h"

#include <gtest/gtest.h>

#include <string>

namespace kiln::frontend {
namespace {

TEST(ProgramStart, ProgramsOfMlirBeginWithAModuleAFunctionOrAName) {
  for (const char* text :
       {"module {}", "module @m attributes {x = 1} {", "builtin.module {", "\"builtin.module\"() ({",
        "func.func @main()", "\"func.func\"() <{", "#map = affine_map<(d0) -> (d0)>", "#loc1 = loc(unknown)",
        "!row = tensor<3xf32>", "#a.b$-c=1"})
    EXPECT_EQ(programIn(text), text);
  EXPECT_EQ(programIn("// a note\n\n  \t// another\nmodule {}"), "module {}");
}

TEST(ProgramStart, OtherFilesDoNot) {
  for (const char* text :
       {"", "   ", "// only a note", "# A model\n\nIt uses stablehlo.add.", "#!/bin/sh\nmodule load",
        "#include <x>", "# = 1", "! warning", "{\"module\": 1}", "the module", "#map", "#map affine"})
    EXPECT_EQ(programIn(text), std::nullopt) << text;
  EXPECT_EQ(programIn(std::string("module {}\0", 10)), std::nullopt) << "a binary file";
}

}  // namespace
}  // namespace kiln::frontend

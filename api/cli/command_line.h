// The command line of `kiln`: from words to the command that they ask for, and from its end to an exit code.
#pragma once

namespace kiln::cli {

// Parses, runs one command, prints its error; what `kiln` exits with, unless its output is lost. One caller.
int runCommandLine(int argc, char** argv);

}  // namespace kiln::cli

// A commit of a repository on this machine, read by a process of its own: whoever made the repository gets at
// most an error of that process.
#pragma once

#include <string>

#include "manifest/base/run_program.h"
#include "manifest/base/scratch_directory.h"
#include "storage/source/git_reference.h"

namespace kiln::cli {

// The model at reference.path under its last name, and the external data that it names at the paths below
// that, as kiln-fetcher writes them: plain files and directories alone. The errors are kiln-fetcher's, with
// its exit code in the details: 4 where reading goes beyond its memory, time or size, 5 for what is no
// well-formed repository, 7 without kiln-fetcher beside `kiln`.
Result<ScratchDirectory> readLocalCommit(const std::string& directory, const source::GitReference& reference);

// Why a kiln-fetcher that read the repository at `directory` and did not end with 0 did not succeed.
Error errorOfReader(const ProgramRun& ended, const std::string& directory);

}  // namespace kiln::cli

// git+URL@COMMIT#path: one file or folder of one commit.
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::source {

struct GitReference {
  std::string url;     // without "git+"
  std::string commit;  // as given; checkCommit() and the repository judge it
  std::string path;    // relative, '/' between names; kWholeCommit (fetched_model.h) for the top
};

bool isGitReference(std::string_view text);

// kInvalidArgument says what the form is and what is wrong. The path may not be empty, absolute or hold "."
// or ".." but for "." alone, the whole commit. Only the form of the commit is looked at: a name or an
// abbreviation comes through, so that the repository can say which commit it stands for.
Result<GitReference> parseGitReference(std::string_view text);

// The reference with what a path on this machine may hold and a URL may not, spaces and letters beyond ASCII,
// as %XX escapes: in the URL of a git+file reference. Any other text as it is.
std::string escapeLocalUrl(std::string_view text);

// True for 40 lowercase hex digits, the one way to name a commit here.
bool isFullCommit(std::string_view commit);

// A relative path of plain names, with '/' between them.
Status checkSourcePath(std::string_view path);

}  // namespace kiln::source

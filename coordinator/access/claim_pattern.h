// Patterns of a grant, held against what a token says.
#pragma once

#include <string_view>

namespace kiln::access {

// Whether `text`, a claim or a subject, is `pattern` as a whole. A '*' at the end stands for any characters,
// and any other for characters other than '/', ':' and '@', which part the names in such a text: whoever may
// choose one of the names, as a branch's, chooses no other with it. "acme/*@refs/heads/main" is not
// "acme/a@refs/heads/evil@refs/heads/main". Takes time proportional to both lengths multiplied, at most.
bool claimMatches(std::string_view pattern, std::string_view text);

// Whether a subject that is such a pattern says whose tokens are meant, as far as the forms of the field
// tell: of "repo:OWNER/NAME:…" (GitHub), "project_path:GROUP/…" (GitLab), "organization:NAME:…" (Buildkite),
// "org/ID/…" (CircleCI) and "system:serviceaccount:NAMESPACE:…" (Kubernetes) the owner must end before the
// first '*'. "repo:*" and "repo:acme*" are everybody's. What begins otherwise needs a character before '*'.
bool subjectNamesAnOwner(std::string_view pattern);

}  // namespace kiln::access

#include "coordinator/access/claim_pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kiln::access {
namespace {

TEST(ClaimPattern, AStarAtTheEndIsAnything) {
  EXPECT_TRUE(claimMatches("acme/model", "acme/model"));
  EXPECT_FALSE(claimMatches("acme/model", "acme/model2"));
  EXPECT_TRUE(claimMatches("refs/heads/*", "refs/heads/a/b@c:d"));
  EXPECT_TRUE(claimMatches("acme/*", "acme/"));
  EXPECT_FALSE(claimMatches("acme/*", "acme"));
  EXPECT_TRUE(claimMatches("*", ""));
}

// Whoever names a branch "x@refs/heads/main" has chosen a branch, and not the one that is behind the '@'.
TEST(ClaimPattern, AStarWithinIsOneName) {
  const char* workflow = "acme/model/.github/workflows/*@refs/heads/main";
  EXPECT_TRUE(claimMatches(workflow, "acme/model/.github/workflows/model.yml@refs/heads/main"));
  for (const char* other : {"acme/model/.github/workflows/model.yml@refs/heads/x@refs/heads/main",
                            "acme/model/.github/workflows/model.yml@refs/heads/main@refs/heads/main",
                            "acme/model/.github/workflows/a/b@refs/heads/main"})
    EXPECT_FALSE(claimMatches(workflow, other)) << other;
  EXPECT_TRUE(claimMatches("repo:acme/*:ref:refs/heads/main", "repo:acme/model:ref:refs/heads/main"));
  EXPECT_FALSE(
      claimMatches("repo:acme/*:ref:refs/heads/main", "repo:acme/model:environment:x:ref:refs/heads/main"));
  EXPECT_FALSE(claimMatches("repo:*/model", "repo:evil/acme/model"));
  EXPECT_TRUE(claimMatches("a/*/c/*", "a/b/c/d/e"));
  EXPECT_FALSE(claimMatches("ab*bc", "abc")) << "the ends must not overlap";
}

// As it is said in the header, tried in every way.
bool slowly(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] != '*')
    return !text.empty() && text[0] == pattern[0] && slowly(pattern.substr(1), text.substr(1));
  if (pattern.size() == 1) return true;
  for (std::size_t size = 0; size <= text.size(); ++size) {
    if (slowly(pattern.substr(1), text.substr(size))) return true;
    if (size < text.size() && std::string_view("/:@").find(text[size]) != std::string_view::npos)
      return false;
  }
  return false;
}

std::vector<std::string> textsOver(std::string_view letters, std::size_t length) {
  std::vector<std::string> out{""};
  for (std::size_t begin = 0, n = 0; n < length; ++n) {
    const std::size_t end = out.size();
    for (; begin < end; ++begin)
      for (const char letter : letters) out.push_back(out[begin] + letter);
  }
  return out;
}

TEST(ClaimPattern, EveryShortPatternAndText) {
  const auto texts = textsOver("ab/", 5);
  for (const std::string& pattern : textsOver("ab/*", 5))
    for (const std::string& text : texts)
      ASSERT_EQ(claimMatches(pattern, text), slowly(pattern, text)) << pattern << " " << text;
}

TEST(ClaimPattern, SubjectsOfTheFieldNameTheirOwner) {
  for (const char* good :
       {"repo:acme/model:ref:refs/heads/main", "repo:acme/*", "repo:acme/model:*", "build-*",
        "project_path:acme/*:ref_type:branch:ref:main", "organization:acme:pipeline:*",
        "system:serviceaccount:builds:*", "org/4711/project/*"})
    EXPECT_TRUE(subjectNamesAnOwner(good)) << good;
}

}  // namespace
}  // namespace kiln::access

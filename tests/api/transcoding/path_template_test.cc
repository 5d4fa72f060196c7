#include "api/transcoding/path_template.h"

#include <gtest/gtest.h>

namespace kiln::transcoding {
namespace {

using Fields = std::vector<std::string_view>;

TEST(PathTemplate, TakesTheFieldsOfAPath) {
  const auto path = PathTemplate::parse("/api/v1/instances/{instance}/jobs/{id}").value();
  EXPECT_EQ(path.fields(), (std::vector<std::string>{"instance", "id"}));
  EXPECT_EQ(path.match("/api/v1/instances/default/jobs/42"), (Fields{"default", "42"}));
  EXPECT_EQ(path.match("/api/v1/instances/a%2Fb/jobs/sha256:ab"), (Fields{"a%2Fb", "sha256:ab"}));
  for (const char* other : {"", "/", "/api", "/api/v1/instances/default/jobs",
                            "/api/v1/instances/default/jobs/", "/api/v1/instances//jobs/42",
                            "/api/v1/instances/default/jobs/42/", "/api/v1/instances/default/jobs/42/x",
                            "/api/v1/instances/default/job/42", "api/v1/instances/default/jobs/42",
                            "//api/v1/instances/default/jobs/42", "/api/v1/instances/a/b/jobs/42"})
    EXPECT_FALSE(path.match(other)) << other;
}

TEST(PathTemplate, AVerbStandsBehindThePath) {
  const auto path = PathTemplate::parse("/jobs/{id}:watch").value();
  EXPECT_EQ(path.verb(), "watch");
  EXPECT_EQ(path.match("/jobs/42:watch"), (Fields{"42"}));
  EXPECT_EQ(path.match("/jobs/a:b:watch"), (Fields{"a:b"}));
  EXPECT_FALSE(path.match("/jobs/42"));
  EXPECT_FALSE(path.match("/jobs/42:cancel"));
  EXPECT_FALSE(path.match("/jobs/:watch"));
  EXPECT_FALSE(path.match("/jobs/42%3Awatch")) << "an encoded colon is the field's own";
}

TEST(PathTemplate, WhatItDoesNotHaveIsRefused) {
  for (const char* text : {"", "jobs", "/", "/jobs/", "/{a}/{a}", "/{a=*}", "/{a=**}", "/*", "/**", "/a b",
                           "/{}", "/{a", "/jobs:", "/a//b", "/jobs/{id}:a:b c"})
    EXPECT_FALSE(PathTemplate::parse(text)) << text;
  EXPECT_TRUE(PathTemplate::parse("/{digest.hash}"));
}

}  // namespace
}  // namespace kiln::transcoding

// How people write places in a registry, and what is refused of it.
#include "api/registry/reference.h"

#include <gtest/gtest.h>

namespace kiln::registry {
namespace {

TEST(RegistryReference, TakesHostRepositoryAndTag) {
  const Reference full = Reference::parse("registry.example.com:5000/team/model_a:1.0-rc").value();
  EXPECT_EQ(full.host, "registry.example.com:5000");
  EXPECT_EQ(full.repository, "team/model_a");
  EXPECT_EQ(full.tag, "1.0-rc");
  EXPECT_EQ(full.place(), "registry.example.com:5000/team/model_a");
  EXPECT_EQ(Reference::parse("localhost/m").value().tag, "");
}

TEST(RegistryReference, RefusesWhatIsNoPlace) {
  for (const char* text :
       {"", "model", "team/model", "/model", "a.b/", "a.b/Model", "a.b//m", "a.b/m/", "a.b/-m",
        "a.b/m:", "a.b/m:-x", "a.b/../m", "a.b/a..b", "a.b/m?x", "a b.c/m", "user@a.b/m", "https://a.b/m",
        "a.b/m@sha256:0000000000000000000000000000000000000000000000000000000000000000"}) {
    const auto read = Reference::parse(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument) << text;
  }
  EXPECT_FALSE(Reference::parse("a.b/m:" + std::string(129, 'x')));
  EXPECT_FALSE(Reference::parse("a.b/" + std::string(300, 'x')));
}

TEST(RegistryReference, KnowsThisMachine) {
  for (const char* text : {"localhost/m", "localhost:5000/m", "127.0.0.1:1/m", "[::1]:5000/m"})
    EXPECT_TRUE(Reference::parse(text).value().isLocal()) << text;
  for (const char* text :
       {"localhost.example.com/m", "127.0.0.1.example.com/m", "10.0.0.1/m", "[::1].example.com/m"})
    EXPECT_FALSE(Reference::parse(text).value().isLocal()) << text;
}

}  // namespace
}  // namespace kiln::registry

#include "manifest/toolchain/description.h"

#include <gtest/gtest.h>

#include "manifest/json/json.h"

namespace kiln {
namespace {

Json description() {
  Digest digest = digestOf(std::string_view("kiln-cc"));
  return {{"apiVersion", "kiln/v1"},
          {"kind", "Toolchain"},
          {"name", "kiln"},
          {"version", "0.1.0"},
          {"label", "kiln-0.1.0+llvm22.1.8"},
          {"components",
           {{{"name", "kiln-cc"},
             {"version", "0.1.0"},
             {"path", "bin/kiln-cc"},
             {"digest", digest.text()},
             {"size", std::to_string(digest.size)}}}},
          {"targets", {"cpu:x86-64-v3"}}};
}

TEST(ToolchainDescription, ReadsWhatTheRecipeWrites) {
  auto parsed = readToolchainDescription(description().dump());
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->label, "kiln-0.1.0+llvm22.1.8");
  ASSERT_EQ(parsed->components.size(), 1u);
  EXPECT_EQ(parsed->components[0].digest, digestOf(std::string_view("kiln-cc")));
}

TEST(ToolchainDescription, RefusesWhatIsMissingUnsafeOrUnknown) {
  auto refused = [](auto change, std::string_view part) {
    Json json = description();
    change(json);
    auto parsed = readToolchainDescription(json.dump());
    ASSERT_FALSE(parsed) << part;
    EXPECT_EQ(parsed.error().code, Code::kInvalidArgument);
    EXPECT_NE(parsed.error().message.find(part), std::string::npos) << parsed.error().message;
  };
  for (const char* member : {"apiVersion", "kind", "name", "version", "label", "components", "targets"})
    refused([&](Json& json) { json.erase(member); }, member);
  refused([](Json& json) { json["extra"] = 1; }, "extra");
  refused([](Json& json) { json["label"] = "a b"; }, "label");
  refused([](Json& json) { json["label"] = ""; }, "label");
  refused([](Json& json) { json["components"][0]["path"] = "../bin"; }, "path");
  refused([](Json& json) { json["components"] = Json::array(); }, "components");
  refused([](Json& json) { json["targets"] = Json::array(); }, "targets");
}

TEST(ToolchainDescription, TruncatedTextIsRefused) {
  std::string text = description().dump();
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(readToolchainDescription(std::string_view(text).substr(0, length)));
}

}  // namespace
}  // namespace kiln

#include "manifest/artifact/manifest.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/sample_spec.h"

namespace kiln {
namespace {

using testing_support::sampleEvidence;
using testing_support::sampleSpec;

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    auto type = static_cast<DType>(i);
    EXPECT_EQ(parseDType(dtypeName(type)).value(), type);
    EXPECT_GT(dtypeBytes(type), 0u);
  }
  EXPECT_FALSE(parseDType("f128"));
}

TEST(Manifest, IsAPureFunctionOfSpecAndEvidence) {
  auto first = makeManifest(sampleSpec(), sampleEvidence());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->scratchBytes, 64u);
  EXPECT_EQ(first->inputs[0].shape, (std::vector<std::int64_t>{1, 64}));
  std::string text = toCanonicalJson(first->toJson()).value();
  EXPECT_EQ(text, toCanonicalJson(makeManifest(sampleSpec(), sampleEvidence())->toJson()).value());
  auto back = Manifest::fromJson(parseCanonicalJson(text).value());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(toCanonicalJson(back->toJson()).value(), text);
  EXPECT_EQ(back->spec, sampleSpec());
}

TEST(Manifest, RefusesWrongEvidenceByName) {
  struct Case {
    std::function<void(Json&)> damage;
    const char* place;
  };
  const Case cases[] = {
      {[](Json& j) { j.erase("program"); }, "evidence.program"},
      {[](Json& j) { j["extra"] = 1; }, "evidence.extra"},
      {[](Json& j) { j["program"]["abi"] = 0; }, "evidence.program.abi"},
      {[](Json& j) { j["program"]["inputs"][0]["dtype"] = "f8"; }, "evidence.program.inputs[0].dtype"},
      {[](Json& j) { j["program"]["inputs"][0]["shape"][0] = -1; }, "evidence.program.inputs[0].shape"},
      {[](Json& j) { j["program"]["inputs"][0]["dimNames"] = {"N"}; }, "evidence.program.inputs[0].dimNames"},
      {[](Json& j) { j["program"]["outputs"].push_back(j["program"]["outputs"][0]); },
       "evidence.program.outputs[1].name"},
      {[](Json& j) { j["program"]["file"]["path"] = "/bin/sh"; }, "evidence.program.file.path"},
      {[](Json& j) { j["program"]["file"]["mediaType"] = "text/plain"; }, "evidence.program.file.mediaType"},
      {[](Json& j) { j["program"]["weights"][0]["path"] = "program.so"; },
       "evidence.program.weights[0].path"},
      {[](Json& j) { j["program"]["weights"][0]["path"] = "manifest.json"; },
       "evidence.program.weights[0].path"},
      {[](Json& j) { j["stages"]["tune"] = Json::object(); }, "evidence.stages.tune"},
      {[](Json& j) { j["stages"]["plan"]["reuse"] = 0.5; }, "evidence.stages"},
  };
  for (const Case& one : cases) {
    Json json = sampleEvidence();
    one.damage(json);
    auto manifest = makeManifest(sampleSpec(), json);
    ASSERT_FALSE(manifest) << one.place;
    EXPECT_EQ(manifest.error().code, Code::kInvalidArgument);
    EXPECT_EQ(manifest.error().message.substr(0, manifest.error().message.find(": ")), one.place)
        << manifest.error().message;
  }
}

}  // namespace
}  // namespace kiln

#include "manifest/spec/compile_spec.h"

#include <gtest/gtest.h>

#include <functional>

#include "manifest/spec/delivery_spec.h"
#include "tests/support/sample_spec.h"

namespace kiln {
namespace {

TEST(CompileSpec, RoundTripsThroughCanonicalJson) {
  CompileSpec spec = testing_support::sampleSpec();
  std::string text = toCanonicalJson(spec.toJson()).value();
  auto back = CompileSpec::fromJson(parseCanonicalJson(text).value());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, spec);
}

TEST(CompileSpec, TuningIsLeftOutWhereThereIsNoneAndNoOptionOfAUser) {
  CompileSpec spec = testing_support::sampleSpec();
  EXPECT_FALSE(spec.toJson().contains("tuning"));
  spec.tuning = digestOf("tuning");
  auto back = CompileSpec::fromJson(spec.toJson());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, spec);
  EXPECT_FALSE(submittedToJson(spec).contains("tuning"));
  EXPECT_FALSE(applySubmitted({{"tuning", spec.toJson()["tuning"]}}, spec));
  Json bad = spec.toJson();
  bad["tuning"]["digest"] = "sha256:1";
  EXPECT_FALSE(CompileSpec::fromJson(bad));
}

TEST(CompileSpec, SumsHaveTheOrderOfTheScheduleWhereTheUserSaysNothing) {
  EXPECT_EQ(CompileSpec().numerics.reassociation, "deterministic");
  CompileSpec spec = testing_support::sampleSpec();
  ASSERT_TRUE(applySubmitted(Json::object(), spec));
  for (const char* value : {"deterministic", "off", "on"}) {
    spec.numerics.reassociation = value;
    const auto back = CompileSpec::fromJson(spec.toJson());
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, spec);
  }
  spec.numerics.reassociation = "some";
  const auto refused = CompileSpec::fromJson(spec.toJson());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("spec.numerics.reassociation"), std::string::npos);
}

TEST(CompileSpec, SequencesAreLeftOutWhereThereAreNone) {
  CompileSpec spec = testing_support::sampleSpec();
  EXPECT_FALSE(spec.toJson().contains("sequences"));
  spec.sequences = {{"absent", {false, {}}}, {"x", {true, {std::nullopt, std::vector<std::int64_t>{2, 3}}}}};
  const std::string text = toCanonicalJson(spec.toJson()).value();
  auto back = CompileSpec::fromJson(parseCanonicalJson(text).value());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, spec);
  Json json = spec.toJson();
  json["sequences"] = Json::array();
  EXPECT_FALSE(CompileSpec::fromJson(json));
  json["sequences"] = {{{"input", "x"}, {"present", false}, {"tensors", {"declared"}}}};
  EXPECT_FALSE(CompileSpec::fromJson(json));
}

TEST(CompileSpec, ParametersAreFilesBesideTheModel) {
  CompileSpec spec = testing_support::sampleSpec();
  EXPECT_FALSE(spec.toJson().contains("parameters"));
  spec.files.resize(1);
  spec.parameters = {"params/1", "params/0"};
  for (const char* path : {"params/0", "params/1"}) spec.files.push_back({path, digestOf(path)});
  const Json json = spec.toJson();
  auto back = CompileSpec::fromJson(json);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, spec);
  EXPECT_EQ(submittedToJson(spec)["parameters"], (Json{"params/1", "params/0"}));
  const std::pair<Json, const char*> cases[] = {
      {Json::array(), "must hold 1 to"},
      {Json{"params/0", "params/0"}, "parameters[1]: is there twice"},
      {Json{"../w"}, "parameters[0]"},
      {Json{"params/2"}, "parameters[0]: is no file beside the model"},
      {Json{"model.onnx"}, "parameters[0]: is no file beside the model"},
      {Json(7), "parameters"},
  };
  for (const auto& [paths, message] : cases) {
    Json bad = json;
    bad["parameters"] = paths;
    auto refused = CompileSpec::fromJson(bad);
    ASSERT_FALSE(refused) << paths.dump();
    EXPECT_NE(refused.error().message.find(message), std::string::npos) << refused.error().message;
  }
}

TEST(CompileSpec, ParameterPathsKeepTheNameOfAnArrayAlone) {
  EXPECT_EQ(parameterPath(0), "params/0");
  EXPECT_EQ(parameterPath(12, "w.npy"), "params/12/w.npy");
}

// A document without them is what it was before there were any.
TEST(CompileSpec, MultiplesAreLeftOutWhereTheySayNothing) {
  CompileSpec spec = testing_support::sampleSpec();
  EXPECT_FALSE(spec.toJson()["profiles"][0]["dims"][0].contains("multiple"));
  spec.profiles[0].dims["N"] = {32, 64, 128, 32};
  Json json = spec.toJson();
  EXPECT_EQ(json["profiles"][0]["dims"][0]["multiple"], 32);
  const auto back = CompileSpec::fromJson(json);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, spec);
  for (const std::int64_t wrong : {-32, 0, 1, 48, 1 << 20}) {
    json["profiles"][0]["dims"][0]["multiple"] = wrong;
    const auto refused = CompileSpec::fromJson(json);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_TRUE(refused.error().message.starts_with("spec.profiles[0].dims[0].multiple: "))
        << refused.error().message;
  }
}

TEST(Composites, AreReadFromOptions) {
  Composites composites;
  EXPECT_TRUE(addComposite("a=2", composites));
  EXPECT_TRUE(addComposite("b=[2,3],[]", composites));
  EXPECT_TRUE(addComposite("c=none", composites));
  EXPECT_EQ(addComposite("\xe4=2", composites).error().message,
            "--sequence ?=2: the input's name is no UTF-8, as the names of models are");
  EXPECT_EQ(composites["a"], (Composite{true, {std::nullopt, std::nullopt}}));
  EXPECT_EQ(composites["b"],
            (Composite{true, {std::vector<std::int64_t>{2, 3}, std::vector<std::int64_t>{}}}));
  EXPECT_EQ(composites["c"], (Composite{false, {}}));
  for (const char* bad :
       {"a=1", "d", "d=", "=1", "d=-1", "d=9999", "d=[2", "d=[2,]", "d=[-1]", "d=[2][3]", "d=[2],"})
    EXPECT_FALSE(addComposite(bad, composites)) << bad;
}

TEST(CompileSpec, ErrorsNameTheMember) {
  struct Case {
    std::function<void(Json&)> damage;
    const char* place;
  };
  const Case cases[] = {
      {[](Json& j) { j["typo"] = 1; }, "spec.typo"},
      {[](Json& j) { j.erase("toolchain"); }, "spec.toolchain"},
      {[](Json& j) { j["kind"] = "DeliverySpec"; }, "spec.kind"},
      {[](Json& j) { j["files"] = Json::array(); }, "spec.files"},
      {[](Json& j) { j["files"][0]["path"] = "resnet.onnx"; }, "spec.files[0].path"},
      {[](Json& j) { j["files"][1]["path"] = "../../etc/passwd"; }, "spec.files[1].path"},
      {[](Json& j) { j["files"][1]["path"] = "spec.json"; }, "spec.files[1].path"},
      {[](Json& j) { j["files"].push_back(j["files"][1]); }, "spec.files[2].path"},
      {[](Json& j) { j["files"][0]["digest"] = "sha256:12"; }, "spec.files[0].digest"},
      {[](Json& j) { j["files"][0]["size"] = -1; }, "spec.files[0].size"},
      {[](Json& j) { j["target"]["name"] = "native"; }, "spec.target.name"},
      {[](Json& j) { j["target"]["features"] = {"+b", "+a"}; }, "spec.target.features[1]"},
      {[](Json& j) { j["profiles"] = Json::array(); }, "spec.profiles"},
      {[](Json& j) { j["profiles"].push_back(j["profiles"][0]); }, "spec.profiles[1].name"},
      {[](Json& j) { j["profiles"][0]["dims"][0]["opt"] = 0; }, "spec.profiles[0].dims[0].opt"},
      {[](Json& j) { j["pins"][0]["values"][0] = "1e3"; }, "spec.pins[0].values"},
      {[](Json& j) { j["outOfProfile"] = "guess"; }, "spec.outOfProfile"},
      {[](Json& j) { j["numerics"]["precision"] = "f8"; }, "spec.numerics.precision"},
      {[](Json& j) { j["fallback"] = true; }, "spec.fallback"},
      {[](Json& j) { j["budgets"]["artifactBytes"] = "1.5"; }, "spec.budgets.artifactBytes"},
  };
  for (const Case& one : cases) {
    Json json = testing_support::sampleSpec().toJson();
    one.damage(json);
    auto spec = CompileSpec::fromJson(json);
    ASSERT_FALSE(spec) << one.place;
    EXPECT_EQ(spec.error().code, Code::kInvalidArgument);
    EXPECT_EQ(spec.error().message.substr(0, spec.error().message.find(": ")), one.place)
        << spec.error().message;
  }
}

TEST(CompileSpec, SurvivesTruncationAndFlips) {
  const std::string text = toCanonicalJson(testing_support::sampleSpec().toJson()).value();
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(parseStrictJson(text.substr(0, i)));
    std::string bad = text;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 7)));
    auto json = parseStrictJson(bad);
    if (!json) continue;
    auto spec = CompileSpec::fromJson(*json);
    EXPECT_TRUE(!spec || CompileSpec::fromJson(spec->toJson()).value() == *spec) << i;
  }
}

TEST(CompileSpec, OptionsAreTheMembersAUserMaySet) {
  CompileSpec spec = testing_support::sampleSpec(), other;
  ASSERT_TRUE(applySubmitted(submittedToJson(spec), other));
  EXPECT_EQ(other.profiles, spec.profiles);
  EXPECT_EQ(other.pins, spec.pins);
  CompileSpec kept = spec;
  ASSERT_TRUE(applySubmitted(Json{{"fallback", "cpu"}}, kept));
  EXPECT_EQ(kept.fallback, "cpu");
  EXPECT_EQ(kept.profiles, spec.profiles);
  EXPECT_EQ(applySubmitted(Json{{"toolchain", "x"}}, kept).error().message,
            "options.toolchain: unknown member");
}

TEST(DeliverySpec, RoundTripsAndIsBounded) {
  DeliverySpec spec{.builders = 3, .operators = 2, .priority = -5, .timeLimitSeconds = 60, .noCache = true};
  EXPECT_EQ(DeliverySpec::fromJson(spec.toJson()).value(), spec);
  for (auto [name, value] : {std::pair<const char*, Json>{"builders", 0},
                             {"builders", 17},
                             {"operators", 4},
                             {"noCache", 1},
                             {"timeLimitSeconds", 0},
                             {"unknown", 0}}) {
    Json json = spec.toJson();
    json[name] = value;
    auto bad = DeliverySpec::fromJson(json);
    ASSERT_FALSE(bad) << name;
    EXPECT_NE(bad.error().message.find(std::string("delivery.") + name), std::string::npos);
  }
}

TEST(DeliverySpec, DefaultSchedulesGoWithoutTuning) {
  DeliverySpec spec;
  EXPECT_FALSE(spec.toJson().contains("tuning"))
      << "who says nothing takes what the toolchain's catalogue has";
  spec.defaultSchedules = true;
  EXPECT_EQ(spec.toJson()["tuning"], Json({{"mode", "off"}}));
  EXPECT_EQ(DeliverySpec::fromJson(spec.toJson()).value(), spec);
  Json json = spec.toJson();
  json["tuning"]["budgetSeconds"] = 60;
  EXPECT_FALSE(DeliverySpec::fromJson(json));
  json["tuning"] = {{"mode", "defaults"}};
  EXPECT_FALSE(DeliverySpec::fromJson(json));
}

TEST(DeliverySpec, ACheckSaysWhetherItsDeviceIsEmulated) {
  DeliverySpec spec;
  spec.check = CheckRequest{digestOf("plan"), {}};
  EXPECT_FALSE(spec.toJson()["check"].contains("emulated"));
  spec.check->emulated = true;
  EXPECT_EQ(DeliverySpec::fromJson(spec.toJson()).value(), spec);
  Json json = spec.toJson();
  json["check"]["emulated"] = "yes";
  EXPECT_FALSE(DeliverySpec::fromJson(json));
}

TEST(DeliverySpec, HasOneDeadlineAndABudget) {
  const TimePoint time{std::chrono::hours(500'000)};
  for (const DeliverySpec& spec : {DeliverySpec{.deadlineSeconds = 90}, DeliverySpec{.deadline = time},
                                   DeliverySpec{.deadlineSeconds = 1, .maxWorkerSeconds = 600}})
    EXPECT_EQ(DeliverySpec::fromJson(spec.toJson()).value(), spec);
  EXPECT_FALSE(DeliverySpec{}.toJson().contains("deadline")) << "left out as before";
  const DeliverySpec both{.deadlineSeconds = 90, .deadline = time};
  EXPECT_EQ(DeliverySpec::fromJson(both.toJson()).error().code, Code::kInvalidArgument);
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, Json>>{{"deadlineSeconds", 0},
                                                 {"deadlineSeconds", 30 * 24 * 3600 + 1},
                                                 {"deadline", "tomorrow"},
                                                 {"maxWorkerSeconds", 0}}) {
    Json json = DeliverySpec{}.toJson();
    json[name] = value;
    EXPECT_FALSE(DeliverySpec::fromJson(json)) << name;
  }
}

TEST(DeliverySpec, AMajorityNeedsThreeBuilders) {
  DeliverySpec spec{.builders = 3, .majority = true};
  EXPECT_EQ(DeliverySpec::fromJson(spec.toJson()).value(), spec);
  spec.builders = 2;
  EXPECT_EQ(DeliverySpec::fromJson(spec.toJson()).error().code, Code::kInvalidArgument);
  Json json = DeliverySpec{}.toJson();
  EXPECT_FALSE(json.contains("agreement")) << "older readers take what they know";
  json["agreement"] = "all";
  EXPECT_FALSE(DeliverySpec::fromJson(json));
}

}  // namespace
}  // namespace kiln

// The action digest is the cache's key. Everything that a compile sees changes it: a key that missed anything
// would serve one build for another. The members are counted in the structs themselves and listed by the
// documents themselves, so that one without a case fails here.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "coordinator/jobs/action_builder.h"
#include "coordinator/jobs/submission.h"
#include "storage/tree/digest_proto.h"
#include "tests/coordinator/jobs/member_count.h"
#include "tests/support/sample_spec.h"

namespace kiln::jobs {
namespace {

using index::ActionKind;
using testing::memberCount;

// Every member has a value that is not its default.
CompileSpec fullSpec() {
  CompileSpec spec = testing_support::dynamicSpec();
  spec.pins = {{"axes", {1, 0.5}}};
  spec.sequences = {{"s", {true, {{{2, 3}}, std::nullopt}}}};
  spec.maxPlannedBytes = 1 << 20;
  spec.tuning = digestOf(std::string_view("tuning"));
  return spec;
}

Digest keyOf(const CompileSpec& spec) {
  auto built = buildAction(ActionKind::kCompile, spec);
  EXPECT_TRUE(built) << built.error().message;
  return built ? built->action : Digest{};
}

using Changes = std::map<std::string, std::function<void(CompileSpec&)>>;

void eachChangesTheKey(const Changes& changes, std::size_t members) {
  EXPECT_EQ(changes.size(), members) << "a member without a case, or a case too many";
  const Digest base = keyOf(fullSpec());
  std::set<Digest> seen{base};
  for (const auto& [name, change] : changes) {
    CompileSpec changed = fullSpec();
    change(changed);
    EXPECT_TRUE(seen.insert(keyOf(changed)).second) << name;
  }
}

TEST(ActionKey, Case17EachMemberOfACompileSpec) {
  eachChangesTheKey({{"files", [](auto& s) { s.files.pop_back(); }},
                     {"toolchain", [](auto& s) { s.toolchainDigest = digestOf(std::string_view("other")); }},
                     {"target", [](auto& s) { s.target = "cpu:x86-64-v4"; }},
                     {"features", [](auto& s) { s.features.pop_back(); }},
                     {"profiles", [](auto& s) { std::swap(s.profiles[0], s.profiles[1]); }},
                     {"outOfProfile", [](auto& s) { s.outOfProfile = "fail"; }},
                     {"pins", [](auto& s) { s.pins["axes"][1] = 0.25; }},
                     {"sequences", [](auto& s) { s.sequences.clear(); }},
                     {"parameters", [](auto& s) { s.parameters = {s.files[1].path}; }},
                     {"numerics", [](auto& s) { s.numerics.contraction = "off"; }},
                     {"fallback", [](auto& s) { s.fallback = "cpu"; }},
                     {"tuning", [](auto& s) { s.tuning = digestOf(std::string_view("other")); }},
                     {"partition", [](auto& s) { s.partition.fallbackPermille = 7; }},
                     {"maxArtifactBytes", [](auto& s) { ++s.maxArtifactBytes; }},
                     {"maxPlannedBytes", [](auto& s) { ++s.maxPlannedBytes; }}},
                    memberCount<CompileSpec>());
}

TEST(ActionKey, EachMemberBelowACompileSpec) {
  eachChangesTheKey({{"path", [](auto& s) { s.files[1].path = "data/other.bin"; }},
                     {"digest", [](auto& s) { s.files[0].digest = digestOf(std::string_view("other")); }}},
                    memberCount<ModelFile>());
  eachChangesTheKey({{"name", [](auto& s) { s.profiles[0].name = "other"; }},
                     {"dims", [](auto& s) { s.profiles[0].dims["M"] = {1, 1, 1}; }}},
                    memberCount<ShapeProfile>());
  eachChangesTheKey({{"min", [](auto& s) { s.profiles[0].dims["N"].min = 2; }},
                     {"opt", [](auto& s) { s.profiles[0].dims["N"].opt = 5; }},
                     {"max", [](auto& s) { s.profiles[0].dims["N"].max = 9; }},
                     {"multiple", [](auto& s) { s.profiles[0].dims["N"].multiple = 2; }}},
                    memberCount<DimRange>());
  eachChangesTheKey({{"affinities", [](auto& s) { s.partition.affinities = {{"conv*", s.target}}; }},
                     {"exclusions", [](auto& s) { s.partition.exclusions = {{"conv*", s.target}}; }},
                     {"fallbackOperators", [](auto& s) { s.partition.fallbackOperators = {"Relu"}; }},
                     {"fallbackPermille", [](auto& s) { s.partition.fallbackPermille = 8; }}},
                    memberCount<PartitionRules>());
  eachChangesTheKey({{"pattern", [](auto& s) { s.partition.exclusions = {{"conv*", s.target}}; }},
                     {"target", [](auto& s) { s.partition.exclusions = {{"conv*", "cpu:x86-64-v4"}}; }}},
                    memberCount<PlacementRule>());
  eachChangesTheKey({{"contraction", [](auto& s) { s.numerics.contraction = "off"; }},
                     {"reassociation", [](auto& s) { s.numerics.reassociation = "on"; }},
                     {"precision", [](auto& s) { s.numerics.precision = "bf16"; }}},
                    memberCount<Numerics>());
  eachChangesTheKey({{"present", [](auto& s) { s.sequences["s"] = {false, {}}; }},
                     {"tensors", [](auto& s) { s.sequences["s"].tensors.pop_back(); }}},
                    memberCount<Composite>());
}

// Every value in a document, as a pointer to it.
void leavesOf(const Json& json, const Json::json_pointer& at, std::vector<Json::json_pointer>& out) {
  const Json& here = json.at(at);
  if (!here.is_structured()) return out.push_back(at);
  if (here.is_object())
    for (const auto& [name, value] : here.items()) leavesOf(json, at / name, out);
  else
    for (std::size_t i = 0; i < here.size(); ++i) leavesOf(json, at / i, out);
}

// spec.json is what the compiler reads: each of its values is in the key as it stands there.
TEST(ActionKey, EachValueOfTheSpecsDocument) {
  const Json document = fullSpec().toJson();
  std::vector<Json::json_pointer> leaves;
  leavesOf(document, Json::json_pointer(), leaves);
  ASSERT_GT(leaves.size(), 40u);
  const BuiltAction built = buildAction(ActionKind::kCompile, fullSpec()).value();
  const Digest text = digestOf(toCanonicalJson(document).value());
  EXPECT_TRUE(std::any_of(built.blobs.begin(), built.blobs.end(), [&](const storage::UploadItem& blob) {
    return blob.digest == text;
  })) << "the compiler sees this document";
  std::set<std::string> texts{toCanonicalJson(document).value()};
  for (const Json::json_pointer& leaf : leaves) {
    Json changed = document;
    Json& value = changed.at(leaf);
    if (value.is_boolean())
      value = !value.get<bool>();
    else if (value.is_number())
      value = value.get<std::int64_t>() + 1;
    else if (value.is_null())
      value = 1;
    else
      value = value.get<std::string>() + "x";
    EXPECT_TRUE(texts.insert(toCanonicalJson(changed).value()).second) << leaf.to_string();
    auto spec = CompileSpec::fromJson(changed);
    if (!spec) continue;  // not every change of a text is a spec
    EXPECT_NE(keyOf(*spec), keyOf(fullSpec())) << leaf.to_string();
  }
}

TEST(ActionKey, Case17OneBitOfTheWeights) {
  std::string weights(64, '\0');
  auto withWeights = [&] {
    CompileSpec spec = fullSpec();
    spec.files[1].digest = digestOf(weights);
    return keyOf(spec);
  };
  std::set<Digest> seen{withWeights()};
  for (std::size_t bit = 0; bit < weights.size() * 8; ++bit) {
    weights[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_TRUE(seen.insert(withWeights()).second) << "bit " << bit;
    weights[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
}

template <class T>
T blobOf(const BuiltAction& built, const reapi::Digest& digest) {
  T message;
  for (const storage::UploadItem& item : built.blobs)
    if (item.digest == *fromProto(digest)) EXPECT_TRUE(message.ParseFromString(item.bytes));
  return message;
}

// What the worker hands to the sandbox is the Command, and the Action names it: each argument, each variable
// and each output path, and every field that these messages have.
TEST(ActionKey, Case17EachArgumentVariableAndOutputPath) {
  const BuiltAction built = buildAction(ActionKind::kCompile, fullSpec()).value();
  reapi::Action action;
  for (const storage::UploadItem& item : built.blobs)
    if (item.digest == built.action) ASSERT_TRUE(action.ParseFromString(item.bytes));
  const auto command = blobOf<reapi::Command>(built, action.command_digest());
  ASSERT_EQ(*fromProto(action.command_digest()), digestOf(command.SerializeAsString()));
  auto keyWith = [&](const reapi::Command& changed) {
    reapi::Action other = action;
    *other.mutable_command_digest() = toProto(digestOf(changed.SerializeAsString()));
    return digestOf(other.SerializeAsString());
  };
  ASSERT_EQ(keyWith(command), built.action);
  std::set<Digest> seen{built.action};
  auto changes = [&](const std::function<void(reapi::Command&)>& change, const std::string& what) {
    reapi::Command changed = command;
    change(changed);
    EXPECT_TRUE(seen.insert(keyWith(changed)).second) << what;
  };
  for (int i = 0; i < command.arguments_size(); ++i)
    changes([i](auto& c) { *c.mutable_arguments(i) += "x"; }, command.arguments(i));
  for (int i = 0; i < command.environment_variables_size(); ++i) {
    changes([i](auto& c) { *c.mutable_environment_variables(i)->mutable_name() += "x"; }, "a name");
    changes([i](auto& c) { *c.mutable_environment_variables(i)->mutable_value() += "x"; },
            command.environment_variables(i).name());
    changes([i](auto& c) { c.mutable_environment_variables()->DeleteSubrange(i, 1); }, "one less");
  }
  changes([](auto& c) { c.set_output_paths(0, "elsewhere"); }, "output path");
  changes([](auto& c) { c.set_working_directory("input"); }, "working directory");
  // What Kiln's own actions leave out.
  changes([](auto& c) { c.add_output_files("a file"); }, "output files");
  changes([](auto& c) { c.add_output_directories("a directory"); }, "output directories");
  changes([](auto& c) { c.mutable_platform(); }, "platform");
  changes([](auto& c) { c.add_output_node_properties("mtime"); }, "node properties");
  changes([](auto& c) { c.set_output_directory_format(reapi::Command::DIRECTORY_ONLY); }, "format");
  EXPECT_EQ(reapi::Command::descriptor()->field_count(), 9);
}

v1::SubmitJobRequest sampleSubmission() {
  v1::SubmitJobRequest request;
  request.set_instance("default");
  request.set_idempotency_key("k");
  request.add_targets("cpu:x86-64-v3");
  for (const char* path : {"m.onnx", "a.bin", "b.bin"}) {
    auto* source = request.add_sources();
    source->set_path(path);
    *source->mutable_blob() = toProto(digestOf(path));
  }
  request.set_spec_json(
      R"({"profiles":[{"name":"p","dims":[{"dim":"M","min":1,"opt":1,"max":1},{"dim":"N","min":1,"opt":2,"max":4}]}],)"
      R"("fallback":"fail","pins":[{"input":"a","values":["1"]},{"input":"b","values":["2"]}]})");
  return request;
}

Digest keyOf(const v1::SubmitJobRequest& request) {
  auto submission = readSubmission(request);
  EXPECT_TRUE(submission) << submission.error().message;
  if (!submission) return {};
  return keyOf(compileSpec(submission->spec, submission->sources, digestOf(std::string_view("toolchain")),
                           index::TargetRecord{submission->targets.at(0)})
                   .value());
}

TEST(ActionKey, NothingOfADeliverySpec) {
  const std::map<std::string, std::function<void(DeliverySpec&)>> changes{
      {"builders", [](auto& d) { d.builders = 4; }},
      {"operators", [](auto& d) { d.operators = 2; }},
      {"majority", [](auto& d) { d.majority = true; }},
      {"priority", [](auto& d) { d.priority = 7; }},
      {"timeLimitSeconds", [](auto& d) { d.timeLimitSeconds = 60; }},
      {"noCache", [](auto& d) { d.noCache = true; }},
      {"deadlineSeconds", [](auto& d) { d.deadlineSeconds = 600; }},
      {"deadline", [](auto& d) { d.deadline = TimePoint(std::chrono::hours(500'000)); }},
      {"maxWorkerSeconds", [](auto& d) { d.maxWorkerSeconds = 900; }},
      {"rebuild",
       [](auto& d) {
         d.rebuild = RebuildRequest{digestOf(std::string_view("artifact")), {}};
         d.noCache = true;
         d.builders = 1;
       }},
      {"check", [](auto& d) { d.check = CheckRequest{digestOf(std::string_view("{}")), {}}; }},
      {"keepIr", [](auto& d) { d.keepIr = true; }},
      {"tuning", [](auto& d) { d.tuning = TuningRequest{.search = true}; }},
      // What the farm makes of it, entries that name no kernel, is the CompileSpec's.
      {"defaultSchedules", [](auto& d) { d.defaultSchedules = true; }},
  };
  EXPECT_EQ(changes.size(), memberCount<DeliverySpec>()) << "a member without a case";
  const Digest base = keyOf(sampleSubmission());
  std::set<std::string> texts;
  for (const auto& [name, change] : changes) {
    DeliverySpec delivery{.builders = 3};
    change(delivery);
    v1::SubmitJobRequest request = sampleSubmission();
    request.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
    EXPECT_TRUE(texts.insert(request.delivery_json()).second) << name;
    EXPECT_EQ(keyOf(request), base) << name;
  }
}

TEST(ActionKey, NoOrderNameOrOriginOfASubmission) {
  const Digest base = keyOf(sampleSubmission());
  v1::SubmitJobRequest request = sampleSubmission();
  request.mutable_sources()->SwapElements(1, 2);
  EXPECT_EQ(keyOf(request), base) << "external data in another order";
  request = sampleSubmission();
  request.set_spec_json(
      R"({"pins":[{"values":["1"],"input":"a"},{"values":["2"],"input":"b"}],"fallback":"fail",)"
      R"("profiles":[{"dims":[{"max":1,"min":1,"opt":1,"dim":"M"},{"opt":2,"max":4,"dim":"N","min":1}],"name":"p"}]})");
  EXPECT_EQ(keyOf(request), base) << "members in another order; lists that are maps have one order only";
  request = sampleSubmission();
  request.set_idempotency_key("another");
  request.mutable_sources(0)->set_path("renamed.onnx");
  auto* origin = request.mutable_sources(0)->mutable_origin();
  origin->set_url("https://host/repo");
  origin->set_commit(std::string(40, 'a'));
  origin->set_path("renamed.onnx");
  request.add_targets("cpu:x86-64-v4");
  EXPECT_EQ(keyOf(request), base) << "names, origins and further targets";
}

}  // namespace
}  // namespace kiln::jobs

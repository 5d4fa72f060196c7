#include "api/python/native/request.h"

#include <algorithm>

#include "api/client/model_check.h"
#include "api/client/model_files.h"
#include "api/python/native/errors.h"
#include "manifest/base/digest.h"
#include "manifest/json/json.h"
#include "manifest/spec/delivery_spec.h"
#include "manifest/spec/profile_option.h"
#include "manifest/spec/target.h"

namespace kiln::python {
namespace {

struct Built {
  std::string spec, delivery;
  std::vector<client::ModelFileOnDisk> files;
};

using Texts = std::vector<std::string>;

Result<CompileSpec> specOf(const Json& options) {
  CompileSpec spec;
  const Texts targets = options.at("targets");
  KILN_ASSIGN(spec.profiles, parseProfiles(options.at("profiles").get<Texts>()));
  for (const std::string& pin : options.at("pins").get<Texts>()) KILN_TRY(addPin(pin, spec.pins));
  for (const std::string& one : options.at("sequences").get<Texts>())
    KILN_TRY(addComposite(one, spec.sequences));
  if (const std::string given = options.at("precision"); !given.empty()) spec.numerics.precision = given;
  if (const std::string given = options.at("reassociation"); !given.empty())
    spec.numerics.reassociation = given;
  if (const std::string given = options.at("fallback"); !given.empty()) spec.fallback = given;
  PartitionOptionTexts rules;
  rules.affinities = options.at("affinities").get<Texts>();
  rules.exclusions = options.at("exclusions").get<Texts>();
  rules.fallback = spec.fallback;
  KILN_ASSIGN(spec.partition, parseRules(rules));
  for (const std::string& target : targets) {
    KILN_TRY(parseTarget(target));
    KILN_TRY(checkRules(spec.partition, targetNames(target)));
  }
  spec.maxArtifactBytes = options.at("max_artifact_bytes");
  spec.maxPlannedBytes = options.at("max_planned_bytes");
  return spec;
}

Result<DeliverySpec> deliveryOf(const Json& options) {
  DeliverySpec delivery;
  delivery.operators = options.at("operators");
  delivery.builders = std::max(options.at("builders").get<int>(), delivery.operators);
  delivery.majority = options.at("majority");
  delivery.noCache = !options.at("cache").get<bool>();
  const std::string tune = options.at("tune");
  if (tune == "reuse" || tune == "search")
    delivery.tuning = TuningRequest{.search = tune == "search"};
  else if (tune == "off")
    delivery.defaultSchedules = true;
  else if (tune != "catalogue")
    return fail(Code::kInvalidArgument, "tune: must be catalogue, off, reuse or search");
  if (options.at("check").get<bool>())
    delivery.check = CheckRequest{.plan = kiln::digestOf("{}"), .files = {}};
  KILN_TRY(DeliverySpec::fromJson(delivery.toJson()));
  return delivery;
}

Result<Built> build(const std::string& text, const std::string& model, const Texts& data) {
  KILN_ASSIGN(const Json options, parseJson(text));
  KILN_ASSIGN(const CompileSpec spec, specOf(options));
  KILN_ASSIGN(const DeliverySpec delivery, deliveryOf(options));
  Built out;
  KILN_ASSIGN(out.spec, toCanonicalJson(submittedToJson(spec)));
  KILN_ASSIGN(out.delivery, toCanonicalJson(delivery.toJson()));
  KILN_ASSIGN(out.files, client::findModelFiles(model, data));
  KILN_TRY(client::checkModelFile(model, spec, client::externalSizes(out.files)));
  return out;
}

}  // namespace

PyObject* buildRequest(PyObject*, PyObject* arguments) {
  const char *options = nullptr, *model = nullptr;
  PyObject* data = nullptr;
  if (PyArg_ParseTuple(arguments, "ssO", &options, &model, &data) == 0) return nullptr;
  Texts files;
  for (Py_ssize_t i = 0; i < PySequence_Size(data); ++i) {
    const Ref one(PySequence_GetItem(data, i));
    const char* file = one ? PyUnicode_AsUTF8AndSize(one.get(), nullptr) : nullptr;
    if (file == nullptr) return nullptr;
    files.emplace_back(file);
  }
  const auto built = [&] {
    const WithoutGil others;
    return build(options, model, files);
  }();
  if (!built) return raise(built.error());
  Ref list(PyList_New(0));
  for (const auto& file : built->files) {
    const Ref name = toPython(file.name), path = toPython(file.path);
    const Ref one(name && path ? PyTuple_Pack(2, name.get(), path.get()) : nullptr);
    if (!list || !one || PyList_Append(list.get(), one.get()) != 0) return nullptr;
  }
  const Ref spec = toPython(built->spec), delivery = toPython(built->delivery);
  return list && spec && delivery ? PyTuple_Pack(3, spec.get(), delivery.get(), list.get()) : nullptr;
}

}  // namespace kiln::python

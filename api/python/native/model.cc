#include "api/python/native/model.h"

#include <cstring>

#include "api/python/native/call.h"
#include "api/python/native/errors.h"
#include "api/python/native/texts.h"

namespace kiln::python {
namespace {

struct State {
  std::shared_ptr<Loaded> loaded;  // null: closed
  Names names;
  ~State() { release(std::move(loaded)); }
};

struct Object {
  PyObject_HEAD State state;
};

PyTypeObject*& modelType() {
  static PyTypeObject* type = nullptr;  // made with the module, which is of one interpreter
  return type;
}

State& stateOf(PyObject* self) {
  return reinterpret_cast<Object*>(self)->state;
}

// One owner more, so that closing meanwhile takes nothing from under a run; null with an exception set.
std::shared_ptr<Loaded> loadedOf(PyObject* self) {
  std::shared_ptr<Loaded> loaded = stateOf(self).loaded;
  if (!loaded) {
    raise({Code::kFailedPrecondition, "the model is closed; load it again", R"({"exitCode":2})"});
    return nullptr;
  }
  if (const Status here = loaded->checkProcess(); !here) {
    raise(here.error());
    return nullptr;
  }
  return loaded;
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  stateOf(self).~State();
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* run(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "run(inputs, out)");
  const auto loaded = loadedOf(self);
  if (!loaded) return nullptr;
  Call call(*loaded, stateOf(self).names);
  if (const Status taken = call.take(arguments[0], arguments[1]); !taken) return raise(taken.error());
  if (const Status ran = call.run(); !ran) return raise(ran.error());
  return call.results();
}

PyObject* warmup(PyObject* self, PyObject*) {
  const auto loaded = loadedOf(self);
  if (!loaded) return nullptr;
  Status warm;
  {
    const WithoutGil others;
    warm = Loaded::statusOf(kiln_session_warmup(loaded->session().handle()));
  }
  return warm ? Py_NewRef(Py_None) : raise(warm.error());
}

// What was opened is closed with the last run; a second close finds nothing to do.
PyObject* close(PyObject* self, PyObject*) {
  std::shared_ptr<Loaded> loaded = std::move(stateOf(self).loaded);
  {
    const WithoutGil others;  // threads are joined
    release(std::move(loaded));
  }
  return Py_NewRef(Py_None);
}

PyObject* describe(const std::vector<runtime::TensorSpec>& specs) {
  Ref all(PyList_New(0));
  for (const auto& spec : specs) {
    Ref dims(PyTuple_New(static_cast<Py_ssize_t>(spec.dims.size())));
    for (std::size_t i = 0; dims && i < spec.dims.size(); ++i) {
      PyObject* dim =
          spec.shape[i] >= 0 ? PyLong_FromLongLong(spec.shape[i]) : toPython(spec.dims[i]).release();
      PyTuple_SetItem(dims.get(), static_cast<Py_ssize_t>(i), dim);
    }
    const Ref name = toPython(spec.name), dtype = toPython(spec.isText ? "str" : dtypeName(spec.dtype));
    if (!all || !dims || !name || !dtype) return nullptr;
    const Ref one(PyTuple_Pack(3, name.get(), dtype.get(), dims.get()));
    if (!one || PyList_Append(all.get(), one.get()) != 0) return nullptr;
  }
  return all.release();
}

PyObject* inputs(PyObject* self, PyObject*) {
  const auto loaded = loadedOf(self);
  return loaded ? describe(loaded->inputs()) : nullptr;
}

PyObject* outputs(PyObject* self, PyObject*) {
  const auto loaded = loadedOf(self);
  return loaded ? describe(loaded->outputs()) : nullptr;
}

PyObject* ready(PyObject* self, PyObject*) {
  const auto loaded = loadedOf(self);
  return loaded ? PyBool_FromLong(loaded->session().ready()) : nullptr;
}

PyObject* digest(PyObject* self, PyObject*) {
  const auto loaded = loadedOf(self);
  return loaded ? toPython(loaded->digest()).release() : nullptr;
}

PyObject* counters(PyObject* self, PyObject*) {
  const auto loaded = loadedOf(self);
  if (!loaded) return nullptr;
  const kiln_counters now = loaded->session().counters();
  const auto wide = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  return Py_BuildValue(
      "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:I,s:z,s:K,s:K,s:K,s:K,s:z,s:K}", "runs",
      wide(now.runs), "failed_runs", wide(now.failed_runs), "guard_failures", wide(now.guard_failures),
      "transfer_bytes", wide(now.transfer_bytes), "tensor_bytes", wide(now.tensor_bytes), "padding_bytes",
      wide(now.padding_bytes), "planned_bytes", wide(now.planned_bytes), "observed_peak_bytes",
      wide(now.observed_peak_bytes), "weight_bytes", wide(now.weight_bytes), "load_nanoseconds",
      wide(now.load_nanoseconds), "warmup_nanoseconds", wide(now.warmup_nanoseconds), "first_run_nanoseconds",
      wide(now.first_run_nanoseconds), "run_nanoseconds", wide(now.run_nanoseconds), "threads", now.threads,
      "path", now.path, "device_planned_bytes", wide(now.device_planned_bytes), "device_observed_bytes",
      wide(now.device_observed_bytes), "device_transfer_bytes", wide(now.device_transfer_bytes),
      "replayed_runs", wide(now.replayed_runs), "device_name", now.device_name, "out_of_range_indices",
      wide(now.out_of_range_indices));
}

PyObject* recheck(PyObject* self, PyObject* arguments) {
  const char *root = nullptr, *policy = nullptr, *recalls = nullptr;
  if (PyArg_ParseTuple(arguments, "szz", &root, &policy, &recalls) == 0) return nullptr;
  const auto loaded = loadedOf(self);
  if (!loaded) return nullptr;
  OpenOptions options{.root = root};
  if (policy != nullptr) options.policy = policy;
  if (recalls != nullptr) options.recalls = recalls;
  const Status holds = [&] {
    const WithoutGil others;
    return loaded->recheck(options);
  }();
  return holds ? Py_NewRef(Py_None) : raise(holds.error());
}

PyObject* numbersOfTexts(PyObject* self, PyObject* arguments) {
  const auto loaded = loadedOf(self);
  return loaded ? numbersOf(arguments, loaded->strings()) : nullptr;
}

PyObject* textsOfNumbers(PyObject* self, PyObject* tensor) {
  const auto loaded = loadedOf(self);
  return loaded ? textsOf(tensor, loaded->strings()) : nullptr;
}

PyMethodDef kMethods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run)), METH_FASTCALL, nullptr},
    {"warmup", warmup, METH_NOARGS, nullptr},
    {"close", close, METH_NOARGS, nullptr},
    {"inputs", inputs, METH_NOARGS, nullptr},
    {"outputs", outputs, METH_NOARGS, nullptr},
    {"ready", ready, METH_NOARGS, nullptr},
    {"digest", digest, METH_NOARGS, nullptr},
    {"counters", counters, METH_NOARGS, nullptr},
    {"recheck", recheck, METH_VARARGS, nullptr},
    {"numbers_of", numbersOfTexts, METH_VARARGS, nullptr},
    {"texts_of", textsOfNumbers, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot kSlots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_methods, kMethods},
    {0, nullptr},
};
PyType_Spec kSpec = {"kiln._native.Model", sizeof(Object), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kSlots};

std::vector<Ref> namesOf(const std::vector<runtime::TensorSpec>& specs) {
  std::vector<Ref> names;
  for (const auto& spec : specs) names.push_back(toPython(spec.name));
  return names;
}

}  // namespace

bool addModelType(PyObject* module) {
  modelType() = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kSpec));
  return modelType() != nullptr && PyModule_AddType(module, modelType()) == 0;
}

PyObject* openModel(PyObject*, PyObject* arguments) {
  const char *directory = nullptr, *digest = nullptr, *root = nullptr, *policy = nullptr, *recalls = nullptr,
             *driver = nullptr;
  unsigned int threads = 0;
  int checked = 0, device = 0;
  if (PyArg_ParseTuple(arguments, "szszzIpzi", &directory, &digest, &root, &policy, &recalls, &threads,
                       &checked, &driver, &device) == 0)
    return nullptr;
  const auto given = [](const char* text) {
    return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
  };
  const OpenOptions options{.directory = directory,
                            .root = root,
                            .digest = given(digest),
                            .policy = given(policy),
                            .recalls = given(recalls),
                            .threads = threads,
                            .checked = checked != 0,
                            .deviceDriver = given(driver),
                            .device = device};
  auto loaded = [&] {
    const WithoutGil others;
    return Loaded::open(options);
  }();
  if (!loaded) return raise(loaded.error());
  auto* object = PyObject_New(Object, modelType());
  if (object == nullptr) return nullptr;
  new (&object->state) State{std::move(*loaded), {}};
  object->state.names.inputs = namesOf(object->state.loaded->inputs());
  object->state.names.outputs = namesOf(object->state.loaded->outputs());
  return reinterpret_cast<PyObject*>(object);
}

}  // namespace kiln::python

#include "api/python/native/call.h"

#include <algorithm>
#include <cstring>

#include "api/python/native/errors.h"
#include "manifest/base/printable.h"

namespace kiln::python {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::string textOf(PyObject* name) {
  const char* text = PyUnicode_Check(name) != 0 ? PyUnicode_AsUTF8AndSize(name, nullptr) : nullptr;
  PyErr_Clear();
  return text != nullptr ? printable(text) : "a name that is no text";
}

std::string list(const std::vector<runtime::TensorSpec>& specs) {
  std::string out;
  for (const auto& spec : specs) out += (out.empty() ? "" : ", ") + spec.name;
  return out.empty() ? "nothing" : out;
}

bool isStatic(const runtime::TensorSpec& spec) {
  return std::ranges::none_of(spec.shape, [](std::int64_t size) { return size < 0; });
}

}  // namespace

Result<Ref> Call::find(PyObject* dictionary, PyObject* name) const {
  PyObject* found = PyDict_GetItemWithError(dictionary, name);
  if (found == nullptr && PyErr_Occurred() != nullptr) return fail(takeException());
  return Ref::share(found);
}

Status Call::checkKnown(PyObject* dictionary, const std::vector<Ref>& names, const char* kind) const {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dictionary, &at, &key, &value) != 0;) {
    const bool known = std::ranges::any_of(names, [&](const Ref& name) {
      return PyUnicode_Check(key) != 0 && PyUnicode_Compare(key, name.get()) == 0;
    });
    const auto& specs = &names == &names_.inputs ? loaded_.inputs() : loaded_.outputs();
    if (!known)
      return fail(Code::kInvalidArgument, std::string("there is no ") + kind + " \"" + textOf(key) +
                                              "\"; the artifact has " + list(specs));
  }
  return {};
}

Status Call::take(PyObject* given, PyObject* out) {
  if (PyDict_Check(given) == 0)
    return fail(Code::kInvalidArgument, "give the inputs as a dictionary of arrays by name");
  if (out != Py_None && PyDict_Check(out) == 0)
    return fail(Code::kInvalidArgument, "out: give a dictionary of arrays by output name, or None");
  KILN_TRY(takeInputs(given));
  return takeOutputs(out);
}

Status Call::takeInputs(PyObject* given) {
  const auto& specs = loaded_.inputs();
  arrays_.reserve(specs.size());
  inputs_.reserve(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    KILN_ASSIGN(const Ref object, find(given, names_.inputs[i].get()));
    const std::string place = "input \"" + specs[i].name + "\"";
    if (!object) {
      KILN_TRY(checkKnown(given, names_.inputs, "input"));  // a wrong name is why one is missing
      return fail(Code::kInvalidArgument, place + " is missing; the artifact takes " + list(specs));
    }
    KILN_ASSIGN(Array array, Array::of(object.get(), place, specs[i].dtype));
    arrays_.push_back(std::move(array));
    const Array& held = arrays_.back();
    inputs_.push_back({specs[i].name.c_str(), dtypeName(specs[i].dtype).data(), held.shape(), held.rank(),
                       held.data(), held.bytes()});
  }
  if (static_cast<std::size_t>(PyDict_Size(given)) == specs.size()) return {};
  return checkKnown(given, names_.inputs, "input");
}

Status Call::takeOutputs(PyObject* out) {
  const auto& specs = loaded_.outputs();
  made_.resize(specs.size());
  writtenPlace_.assign(specs.size(), kNone);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    made_[i].dtype = specs[i].dtype;
    made_[i].shape.assign(specs[i].shape.size(), 0);
    outputs_.push_back({specs[i].name.c_str(), dtypeName(specs[i].dtype).data(), nullptr, 0,
                        made_[i].shape.data(), specs[i].shape.size(), 0});
    if (out == Py_None) continue;
    KILN_ASSIGN(Ref object, find(out, names_.outputs[i].get()));
    if (!object) continue;
    KILN_ASSIGN(Array array,
                Array::of(object.get(), "out: output \"" + specs[i].name + "\"", specs[i].dtype, true));
    writtenPlace_[i] = written_.size();
    written_.emplace_back(std::move(object), std::move(array));
  }
  return out == Py_None ? Status() : checkKnown(out, names_.outputs, "output");
}

Status Call::prepareOutputs() {
  const auto& specs = loaded_.outputs();
  if (std::ranges::all_of(specs, isStatic)) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      made_[i].shape = specs[i].shape;
      outputs_[i].shape = made_[i].shape.data();
      outputs_[i].bytes = dtypeBytes(specs[i].dtype);
      for (const std::int64_t size : specs[i].shape) outputs_[i].bytes *= static_cast<std::size_t>(size);
    }
  } else {
    KILN_TRY(Loaded::statusOf(kiln_session_output_shapes(loaded_.session().handle(), inputs_.data(),
                                                         inputs_.size(), outputs_.data(), outputs_.size())));
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    kiln_output& output = outputs_[i];
    output.capacity = output.bytes;
    if (writtenPlace_[i] == kNone) {
      KILN_ASSIGN(made_[i].memory, Memory::allocate(output.bytes));
      output.data = made_[i].memory->data();
      continue;
    }
    const Array& array = written_[writtenPlace_[i]].second;
    if (!std::ranges::equal(made_[i].shape, std::span(array.shape(), array.rank())))
      return fail(Code::kInvalidArgument,
                  "out: output \"" + specs[i].name + "\": the array has another shape than this run gives");
    output.data = array.data();
  }
  return {};
}

Status Call::run() {
  const WithoutGil others;
  KILN_TRY(prepareOutputs());
  KILN_TRY(Loaded::statusOf(kiln_session_run(loaded_.session().handle(), inputs_.data(), inputs_.size(),
                                             outputs_.data(), outputs_.size())));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (writtenPlace_[i] != kNone && outputs_[i].bytes != outputs_[i].capacity)
      return fail(Code::kInvalidArgument,
                  std::string("out: output \"") + outputs_[i].name +
                      "\" came out smaller, for its size depends on values; leave it out of `out`");
    made_[i].bytes = outputs_[i].bytes;
  }
  return {};
}

PyObject* Call::results() {
  Ref all(PyDict_New());
  for (std::size_t i = 0; all && i < made_.size(); ++i) {
    const bool own = writtenPlace_[i] == kNone;
    const Ref value(own ? newTensor(std::move(made_[i]))
                        : Ref::share(written_[writtenPlace_[i]].first.get()).release());
    if (!value || PyDict_SetItem(all.get(), names_.outputs[i].get(), value.get()) != 0) return nullptr;
  }
  return all.release();
}

}  // namespace kiln::python

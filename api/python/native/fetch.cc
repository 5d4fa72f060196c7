#include "api/python/native/fetch.h"

#include "api/node/open.h"
#include "api/pull/fetch_from.h"
#include "api/python/native/errors.h"
#include "api/python/native/reader_store.h"
#include "manifest/base/exit_code.h"

namespace kiln::python {
namespace {

std::optional<std::string> given(const char* text) {
  return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
}

Result<Digest> digestOf(const char* text) {
  auto parsed = Digest::parse(text, 0);
  if (!parsed) return fail(parsed.error().in("digest"));
  return parsed;
}

PyObject* toPython(const signing::Verdict& verdict) {
  Ref lines(PyList_New(0));
  for (const signing::VerdictLine& line : verdict.lines) {
    const Ref check = python::toPython(line.check), detail = python::toPython(line.detail);
    const Ref one(check && detail ? PyTuple_Pack(2, check.get(), detail.get()) : nullptr);
    if (!lines || !one || PyList_Append(lines.get(), one.get()) != 0) return nullptr;
  }
  const Ref digest = python::toPython(verdict.artifact.text());
  return lines && digest ? PyTuple_Pack(2, digest.get(), lines.get()) : nullptr;
}

// Without the GIL: `work` reads files, and calls Python where it reads from a farm.
template <class Work>
PyObject* verdictOf(Work work) {
  const Result<signing::Verdict> verdict = [&] {
    const WithoutGil others;
    return work();
  }();
  return verdict ? toPython(*verdict) : raise(verdict.error());
}

}  // namespace

PyObject* verify(PyObject*, PyObject* arguments) {
  const char *directory = nullptr, *digest = nullptr, *root = nullptr, *policy = nullptr, *recalls = nullptr;
  if (PyArg_ParseTuple(arguments, "szszz", &directory, &digest, &root, &policy, &recalls) == 0)
    return nullptr;
  return verdictOf([&]() -> Result<signing::Verdict> {
    std::optional<Digest> wanted;
    if (digest != nullptr) {
      KILN_ASSIGN(wanted, digestOf(digest));
    }
    KILN_ASSIGN(const auto trust, node::Trust::load(root, given(policy), given(recalls)));
    KILN_ASSIGN(auto opened, node::openArtifact(directory, wanted, trust, SystemClock()));
    return std::move(opened.verdict);
  });
}

PyObject* fetch(PyObject*, PyObject* arguments) {
  const char *digest = nullptr, *directory = nullptr, *url = nullptr, *instance = nullptr, *root = nullptr,
             *policy = nullptr, *recalls = nullptr, *ca = nullptr, *certificate = nullptr, *key = nullptr,
             *token = nullptr;
  if (PyArg_ParseTuple(arguments, "ssssszzssss", &digest, &directory, &url, &instance, &root, &policy,
                       &recalls, &ca, &certificate, &key, &token) == 0)
    return nullptr;
  return verdictOf([&]() -> Result<signing::Verdict> {
    KILN_ASSIGN(const Digest wanted, digestOf(digest));
    KILN_ASSIGN(auto trust, node::Trust::load(root, given(policy), given(recalls)));
    KILN_ASSIGN(const auto mirror, pull::Mirror::open(url, instance, {ca, certificate, key, token}));
    return pull::fetchFrom(*mirror, wanted, {directory}, root, trust, SystemClock());
  });
}

namespace {

// "hash, size" at `at` of a tuple; kInvalidArgument sets no exception.
Result<Digest> digestAt(PyObject* tuple, Py_ssize_t at) {
  const Ref hash(PySequence_GetItem(tuple, at)), size(PySequence_GetItem(tuple, at + 1));
  const char* text = hash ? PyUnicode_AsUTF8AndSize(hash.get(), nullptr) : nullptr;
  const std::uint64_t bytes = size ? PyLong_AsUnsignedLongLong(size.get()) : 0;
  if (text == nullptr || PyErr_Occurred() != nullptr) return fail(takeException());
  return Digest::parse(text, bytes);
}

Result<node::ArtifactRef> partsOf(const char* instance, PyObject* artifact, PyObject* bundles,
                                  PyObject* fixtures) {
  node::ArtifactRef ref;
  ref.instance = instance;
  KILN_ASSIGN(ref.artifact, digestAt(artifact, 0));
  for (Py_ssize_t i = 0; i < PySequence_Size(bundles); ++i) {
    const Ref one(PySequence_GetItem(bundles, i));
    KILN_ASSIGN(const Digest digest, digestAt(one.get(), 0));
    ref.bundles.push_back(digest);
  }
  for (Py_ssize_t i = 0; i < PySequence_Size(fixtures); ++i) {
    const Ref one(PySequence_GetItem(fixtures, i));
    const Ref path(PySequence_GetItem(one.get(), 0));
    const char* text = path ? PyUnicode_AsUTF8AndSize(path.get(), nullptr) : nullptr;
    if (text == nullptr) return fail(takeException());
    KILN_ASSIGN(const Digest digest, digestAt(one.get(), 1));
    ref.fixtures.push_back({text, digest});
  }
  return ref;
}

}  // namespace

PyObject* fetchWith(PyObject*, PyObject* arguments) {
  const char *instance = nullptr, *offered = nullptr, *directory = nullptr, *root = nullptr,
             *policy = nullptr, *recalls = nullptr;
  PyObject *artifact = nullptr, *bundles = nullptr, *fixtures = nullptr, *reader = nullptr;
  if (PyArg_ParseTuple(arguments, "(sOOOs)Osszz", &instance, &artifact, &bundles, &fixtures, &offered,
                       &reader, &directory, &root, &policy, &recalls) == 0)
    return nullptr;
  auto ref = partsOf(instance, artifact, bundles, fixtures);
  if (!ref) return raise(ref.error());
  ref->recalls = offered;
  const auto store = readBlobsWith(reader);
  return verdictOf([&]() -> Result<signing::Verdict> {
    KILN_ASSIGN(auto trust, node::Trust::load(root, given(policy), given(recalls)));
    KILN_TRY(trust.learnCarried(ref->recalls));
    return node::fetchArtifact(*store, *ref, directory, trust, SystemClock());
  });
}

PyObject* exitCode(PyObject*, PyObject* arguments) {
  int code = 0;
  if (PyArg_ParseTuple(arguments, "i", &code) == 0) return nullptr;
  return PyLong_FromLong(exitCodeOf(static_cast<Code>(code)));
}

}  // namespace kiln::python

#include "api/python/native/fetch.h"

#include "api/node/open.h"
#include "api/pull/fetch_from.h"
#include "api/python/native/errors.h"
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
    return pull::fetchFrom(*mirror, wanted, directory, root, trust, SystemClock());
  });
}

PyObject* exitCode(PyObject*, PyObject* arguments) {
  int code = 0;
  if (PyArg_ParseTuple(arguments, "i", &code) == 0) return nullptr;
  return PyLong_FromLong(exitCodeOf(static_cast<Code>(code)));
}

}  // namespace kiln::python

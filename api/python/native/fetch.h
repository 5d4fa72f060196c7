// Fetching and verifying, as `kiln fetch` and `kiln verify` do.
#pragma once

#include "api/python/native/python.h"

namespace kiln::python {

// verify(directory, digest, root, policy, recalls) of Python: (digest, [(check, detail)]); digest, policy and
// recalls may be None.
PyObject* verify(PyObject* module, PyObject* arguments);
// fetch(digest, directory, url, instance, root, policy, recalls, ca, certificate, key, token): the same;
// policy and recalls may be None, the credentials "".
PyObject* fetch(PyObject* module, PyObject* arguments);
// fetch_with(parts, reader, directory, root, policy, recalls): the same from whoever knows where the parts
// are. `parts` is (instance, (hash, size) of the artifact, [(hash, size)] of bundles, [(path, hash, size)] of
// fixtures, recalls.json or ""), and `reader` gives for hash and size an iterator of bytes; nothing of either
// is believed.
PyObject* fetchWith(PyObject* module, PyObject* arguments);
// exit_code(code) of Python: what `kiln` ends with for an error that does not say more than its code.
PyObject* exitCode(PyObject* module, PyObject* arguments);

}  // namespace kiln::python

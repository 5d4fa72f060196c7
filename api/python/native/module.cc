// kiln._native: what Python calls of the node library. kiln/_native.pyi says the types.
#include "api/python/native/fetch.h"
#include "api/python/native/model.h"
#include "api/python/native/request.h"
#include "api/python/native/tensor.h"

namespace {

PyMethodDef kFunctions[] = {
    {"open_model", kiln::python::openModel, METH_VARARGS, nullptr},
    {"empty", kiln::python::emptyTensor, METH_VARARGS, nullptr},
    {"verify", kiln::python::verify, METH_VARARGS, nullptr},
    {"fetch", kiln::python::fetch, METH_VARARGS, nullptr},
    {"fetch_with", kiln::python::fetchWith, METH_VARARGS, nullptr},
    {"request", kiln::python::buildRequest, METH_VARARGS, nullptr},
    {"exit_code", kiln::python::exitCode, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "kiln._native", nullptr, -1, kFunctions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native() {
  kiln::python::Ref module(PyModule_Create(&kModule));
  if (!module || !kiln::python::addTensorType(module.get()) || !kiln::python::addModelType(module.get()))
    return nullptr;
  return module.release();
}

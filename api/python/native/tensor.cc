#include "api/python/native/tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "api/python/native/dlpack.h"
#include "api/python/native/element_type.h"
#include "api/python/native/errors.h"

namespace kiln::python {
namespace {

constexpr std::size_t kAlignment = 64;

struct Object {
  PyObject_HEAD TensorData data;
};

// The type's own reference: made with the module, and of one interpreter, as the module says.
PyTypeObject*& tensorType() {
  static PyTypeObject* type = nullptr;
  return type;
}

TensorData& dataOf(PyObject* self) {
  return reinterpret_cast<Object*>(self)->data;
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  dataOf(self).~TensorData();
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* shapeOf(PyObject* self, void*) {
  const auto& shape = dataOf(self).shape;
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (std::size_t i = 0; tuple && i < shape.size(); ++i)
    PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  return tuple.release();
}

PyObject* dtypeOf(PyObject* self, void*) {
  return toPython(dtypeName(dataOf(self).dtype)).release();
}

PyObject* bytesOf(PyObject* self, void*) {
  return PyLong_FromSize_t(dataOf(self).bytes);
}

PyObject* describe(PyObject* self) {
  const Ref shape(shapeOf(self, nullptr));
  const Ref dtype(dtypeOf(self, nullptr));
  if (!shape || !dtype) return nullptr;
  return PyUnicode_FromFormat("<kiln.Tensor %U%R>", dtype.get(), shape.get());
}

// The view's shape and strides are the object's own, which the view keeps alive.
int getBuffer(PyObject* self, Py_buffer* view, int flags) {
  TensorData& data = dataOf(self);
  if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && data.shape.size() > 1) {
    PyErr_SetString(PyExc_BufferError, "the tensor is row-major");
    view->obj = nullptr;
    return -1;
  }
  static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));
  view->buf = data.memory->data();
  view->obj = self;
  Py_INCREF(self);
  view->len = static_cast<Py_ssize_t>(data.bytes);
  view->readonly = 0;
  view->itemsize = static_cast<Py_ssize_t>(dtypeBytes(data.dtype));
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(formatOf(data.dtype)) : nullptr;
  view->ndim = static_cast<int>(data.shape.size());
  view->shape = (flags & PyBUF_ND) != 0 ? reinterpret_cast<Py_ssize_t*>(data.shape.data()) : nullptr;
  view->strides =
      (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? reinterpret_cast<Py_ssize_t*>(data.strides.data()) : nullptr;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  return 0;
}

// What a consumer of DLPack holds: the memory, and the shape, which it may read for as long.
struct Lent {
  TensorData data;
  dlpack::Managed old{};
  dlpack::ManagedVersioned versioned{};
};

dlpack::Tensor lend(Lent& lent, const dlpack::DataType& type) {
  TensorData& data = lent.data;
  return {.data = data.memory->data(),
          .device = {dlpack::kCpu, 0},
          .rank = static_cast<std::int32_t>(data.shape.size()),
          .dtype = type,
          .shape = data.shape.data(),
          .strides = nullptr,
          .offset = 0};
}

// Both kinds begin so for whom nobody took: what was taken is freed by the taker.
void freeUntaken(PyObject* capsule) {
  for (const char* name : {"dltensor", "dltensor_versioned"})
    if (PyCapsule_IsValid(capsule, name) != 0) {
      const bool old = std::strcmp(name, "dltensor") == 0;
      void* held = PyCapsule_GetPointer(capsule, name);
      if (old)
        static_cast<dlpack::Managed*>(held)->free(static_cast<dlpack::Managed*>(held));
      else
        static_cast<dlpack::ManagedVersioned*>(held)->free(static_cast<dlpack::ManagedVersioned*>(held));
    }
}

PyObject* refuse(const char* why) {
  PyErr_SetString(PyExc_BufferError, why);
  return nullptr;
}

PyObject* toDlpack(PyObject* self, PyObject* arguments, PyObject* named) {
  static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  if (PyArg_ParseTupleAndKeywords(arguments, named, "|$OOOO", const_cast<char**>(names), &stream, &version,
                                  &device, &copy) == 0)
    return nullptr;
  if (stream != Py_None) return refuse("a tensor in the processor's memory has no stream");
  if (copy == Py_True) return refuse("a tensor is lent, not copied; copy what you got");
  int type = dlpack::kCpu, id = 0, major = 0, minor = 0;
  if (device != Py_None && PyArg_ParseTuple(device, "ii", &type, &id) == 0) return nullptr;
  if (type != dlpack::kCpu) return refuse("the tensor is in the processor's memory; move what you got");
  if (version != Py_None && PyArg_ParseTuple(version, "ii", &major, &minor) == 0) return nullptr;
  const auto dtype = dlpackOf(dataOf(self).dtype);
  if (!dtype) return refuse("DLPack has no form of this element type; use the buffer protocol");
  auto lent = std::make_unique<Lent>(Lent{.data = dataOf(self)});
  Ref capsule;
  if (major >= 1) {
    lent->versioned = {.version = {1, 0},
                       .context = lent.get(),
                       .free = [](auto* managed) { delete static_cast<Lent*>(managed->context); },
                       .flags = 0,
                       .tensor = lend(*lent, *dtype)};
    capsule = Ref(PyCapsule_New(&lent->versioned, "dltensor_versioned", freeUntaken));
  } else {
    lent->old = {.tensor = lend(*lent, *dtype), .context = lent.get(), .free = [](auto* managed) {
                   delete static_cast<Lent*>(managed->context);
                 }};
    capsule = Ref(PyCapsule_New(&lent->old, "dltensor", freeUntaken));
  }
  if (capsule) lent.release();  // the capsule's, or its taker's
  return capsule.release();
}

PyObject* dlpackDevice(PyObject*, PyObject*) {
  return Py_BuildValue("ii", dlpack::kCpu, 0);
}

PyMethodDef kMethods[] = {
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(toDlpack)),
     METH_VARARGS | METH_KEYWORDS, "The tensor for another library, without a copy (DLPack)."},
    {"__dlpack_device__", dlpackDevice, METH_NOARGS, "The processor's memory."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef kProperties[] = {
    {"shape", shapeOf, nullptr, "Sizes of the dimensions.", nullptr},
    {"dtype", dtypeOf, nullptr, "Kiln's name of the element type, such as \"f32\".", nullptr},
    {"nbytes", bytesOf, nullptr, "Bytes of all elements.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot kSlots[] = {
    {Py_tp_doc,
     const_cast<char*>("A dense tensor that other libraries see without a copy: numpy.asarray(t) by "
                       "the buffer protocol, torch.from_dlpack(t) by DLPack.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_repr, reinterpret_cast<void*>(describe)},
    {Py_tp_methods, kMethods},
    {Py_tp_getset, kProperties},
    {Py_bf_getbuffer, reinterpret_cast<void*>(getBuffer)},
    {0, nullptr},
};

PyType_Spec kSpec = {"kiln.Tensor", sizeof(Object), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                     kSlots};

Result<std::size_t> bytesOf(DType dtype, const std::vector<std::int64_t>& shape) {
  std::size_t bytes = dtypeBytes(dtype);
  for (const std::int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(size), &bytes) ||
        bytes > PY_SSIZE_T_MAX)
      return fail(Code::kInvalidArgument, "shape: no memory can hold that");
  return bytes;
}

}  // namespace

Result<std::shared_ptr<Memory>> Memory::allocate(std::size_t bytes) {
  const std::size_t rounded = bytes > PY_SSIZE_T_MAX - kAlignment ? 0 : (bytes / kAlignment + 1) * kAlignment;
  void* data = rounded == 0 ? nullptr : std::aligned_alloc(kAlignment, rounded);
  if (data == nullptr)
    return fail(Code::kResourceExhausted,
                "there is no memory for a tensor of " + std::to_string(bytes) + " bytes");
  return std::shared_ptr<Memory>(new Memory(data));
}
Memory::~Memory() {
  std::free(data_);
}

bool addTensorType(PyObject* module) {
  tensorType() = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kSpec));
  return tensorType() != nullptr && PyModule_AddType(module, tensorType()) == 0;
}

PyObject* newTensor(TensorData data) {
  std::int64_t stride = static_cast<std::int64_t>(dtypeBytes(data.dtype));
  data.strides.resize(data.shape.size());
  for (std::size_t i = data.shape.size(); i-- > 0; stride *= data.shape[i]) data.strides[i] = stride;
  auto* object = PyObject_New(Object, tensorType());
  if (object == nullptr) return nullptr;
  new (&object->data) TensorData(std::move(data));
  return reinterpret_cast<PyObject*>(object);
}

PyObject* emptyTensor(PyObject*, PyObject* arguments) {
  PyObject* shape = nullptr;
  const char* name = nullptr;
  if (PyArg_ParseTuple(arguments, "Os", &shape, &name) == 0) return nullptr;
  const auto dtype = parseDType(name);
  if (!dtype) return raise(dtype.error());
  TensorData data{.memory = nullptr, .dtype = *dtype};
  const Py_ssize_t rank = PySequence_Size(shape);
  if (rank < 0) return nullptr;
  if (rank > 64) return raise({Code::kInvalidArgument, "shape: has more than 64 dimensions", {}});
  for (Py_ssize_t i = 0; i < rank; ++i) {
    const Ref size(PySequence_GetItem(shape, i));
    data.shape.push_back(size ? PyLong_AsLongLong(size.get()) : -1);
    if (PyErr_Occurred() != nullptr) return nullptr;
  }
  const auto bytes = bytesOf(data.dtype, data.shape);
  if (!bytes) return raise(bytes.error());
  data.bytes = *bytes;
  auto memory = Memory::allocate(data.bytes);
  if (!memory) return raise(memory.error());
  std::memset((*memory)->data(), 0, data.bytes);
  data.memory = std::move(*memory);
  return newTensor(std::move(data));
}

}  // namespace kiln::python

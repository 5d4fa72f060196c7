#include "api/python/native/array.h"

#include "api/python/native/element_type.h"
#include "api/python/native/errors.h"
#include "manifest/base/printable.h"

namespace kiln::python {
namespace {

constexpr std::int32_t kMostDimensions = 64;  // of the buffer protocol, too
constexpr char kDense[] = "is not dense and row-major; give numpy.ascontiguousarray(x) or x.contiguous()";

tl::unexpected<Error> refused(const std::string& place, const std::string& what) {
  return fail(Code::kInvalidArgument, place + " " + what);
}

std::string otherType(DType wanted, std::string_view given) {
  return "takes " + std::string(dtypeName(wanted)) + ", given " + printable(given) +
         "; convert the array (numpy: x.astype)";
}

std::string typeName(PyObject* object) {
  const Ref type(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
  const char* name = type ? PyUnicode_AsUTF8AndSize(type.get(), nullptr) : nullptr;
  std::string out = name != nullptr ? name : "an object";
  PyErr_Clear();
  return out;
}

bool isDense(const dlpack::Tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t wanted = 1;
  for (std::int32_t i = tensor.rank; i-- > 0;) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != wanted) return false;
    wanted *= tensor.shape[i];
  }
  return true;
}

// A capsule of an array whose library knows DLPack 1.0, else of an older one.
Ref capsuleOf(PyObject* object) {
  const Ref method(PyObject_GetAttrString(object, "__dlpack__"));
  const Ref none(method ? PyTuple_New(0) : nullptr);
  const Ref newest(none ? Py_BuildValue("{s:(ii)}", "max_version", 1, 0) : nullptr);
  if (!newest) return {};
  Ref capsule(PyObject_Call(method.get(), none.get(), newest.get()));
  if (capsule || PyErr_ExceptionMatches(PyExc_TypeError) == 0) return capsule;
  PyErr_Clear();
  return Ref(PyObject_Call(method.get(), none.get(), nullptr));
}

// The processor's memory; another device is named.
Status checkDevice(PyObject* object, const std::string& place) {
  const Ref device(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  const Ref type(device ? PySequence_GetItem(device.get(), 0) : nullptr);
  const long number = type ? PyLong_AsLong(type.get()) : -1;
  if (PyErr_Occurred() != nullptr) return refused(place, "has no device: " + takeException().message);
  if (number == dlpack::kCpu || number == dlpack::kCudaHost) return {};
  return refused(place, "is on a device (DLPack type " + std::to_string(number) + "); give x.cpu()");
}

}  // namespace

Result<Array> Array::of(PyObject* object, const std::string& place, DType dtype, bool written) {
  Array out;
  if (PyObject_CheckBuffer(object) != 0) {
    KILN_TRY(out.fromBuffer(object, place, dtype, written));
    return out;
  }
  if (PyObject_HasAttrString(object, "__dlpack__") != 0) {
    KILN_TRY(out.fromDlpack(object, place, dtype, written));
    return out;
  }
  return refused(place, "is no array but " + typeName(object) +
                            "; give one with the buffer protocol or DLPack, as NumPy's and PyTorch's");
}

Status Array::fromBuffer(PyObject* object, const std::string& place, DType dtype, bool written) {
  if (PyObject_GetBuffer(object, &view_, PyBUF_FORMAT | PyBUF_STRIDES | (written ? PyBUF_WRITABLE : 0)) !=
      0) {
    view_.obj = nullptr;
    return refused(
        place, "gives no buffer: " + takeException().message +
                   (written ? "" : "; for a type that NumPy does not know give x.view(\"V2\") or \"V1\""));
  }
  const std::string_view format = view_.format != nullptr ? view_.format : "B";
  const auto size = static_cast<std::size_t>(view_.itemsize);
  if (isSwapped(format, size))
    return refused(place, "has its bytes in another order (" + printable(format) +
                              "); give x.astype(x.dtype.newbyteorder(\"=\"))");
  if (!fits(format, size, dtype)) return refused(place, otherType(dtype, nameOf(format)));
  if (PyBuffer_IsContiguous(&view_, 'C') == 0) return refused(place, kDense);
  data_ = view_.buf;
  bytes_ = static_cast<std::size_t>(view_.len);
  rank_ = static_cast<std::size_t>(view_.ndim);
  static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));
  shape_ = reinterpret_cast<const std::int64_t*>(view_.shape);
  return {};
}

Status Array::fromDlpack(PyObject* object, const std::string& place, DType dtype, bool written) {
  KILN_TRY(checkDevice(object, place));
  capsule_ = capsuleOf(object);
  if (!capsule_) return refused(place, "gives nothing by DLPack: " + takeException().message);
  if (PyCapsule_IsValid(capsule_.get(), "dltensor_versioned") != 0) {
    const auto* managed = static_cast<const dlpack::ManagedVersioned*>(
        PyCapsule_GetPointer(capsule_.get(), "dltensor_versioned"));
    if (managed->version.major > 1) return refused(place, "comes in a later DLPack than 1");
    if (written && (managed->flags & dlpack::kReadOnly) != 0) return refused(place, "is read-only");
    return take(managed->tensor, place, dtype);
  }
  if (PyCapsule_IsValid(capsule_.get(), "dltensor") == 0) return refused(place, "gives no capsule of DLPack");
  return take(static_cast<const dlpack::Managed*>(PyCapsule_GetPointer(capsule_.get(), "dltensor"))->tensor,
              place, dtype);
}

Status Array::take(const dlpack::Tensor& tensor, const std::string& place, DType dtype) {
  if (tensor.device.type != dlpack::kCpu && tensor.device.type != dlpack::kCudaHost)
    return refused(place, "is on a device; give x.cpu()");
  const auto wanted = dlpackOf(dtype);
  const bool same = wanted && tensor.dtype.code == wanted->code && tensor.dtype.bits == wanted->bits &&
                    tensor.dtype.lanes == 1;
  if (!same) return refused(place, otherType(dtype, nameOf(tensor.dtype)));
  if (tensor.rank < 0 || tensor.rank > kMostDimensions || (tensor.rank > 0 && tensor.shape == nullptr))
    return refused(place, "has no shape of 64 dimensions at most");
  if (!isDense(tensor)) return refused(place, kDense);
  rank_ = static_cast<std::size_t>(tensor.rank);
  shape_ = tensor.shape;
  bytes_ = dtypeBytes(dtype);
  for (std::size_t i = 0; i < rank_; ++i) {
    if (shape_[i] < 0 || __builtin_mul_overflow(bytes_, static_cast<std::size_t>(shape_[i]), &bytes_))
      return refused(place, "has a shape that no memory can hold");
  }
  data_ = tensor.data == nullptr ? nullptr : static_cast<std::uint8_t*>(tensor.data) + tensor.offset;
  return {};
}

Array::Array(Array&& other) noexcept
    : view_(std::exchange(other.view_, {})),
      capsule_(std::move(other.capsule_)),
      data_(other.data_),
      bytes_(other.bytes_),
      rank_(other.rank_),
      shape_(other.shape_) {
  // A buffer of one dimension may keep its shape inside the view itself.
  if (view_.obj != nullptr && view_.shape == &other.view_.len) {
    view_.shape = &view_.len;
    shape_ = reinterpret_cast<const std::int64_t*>(view_.shape);
  }
}

// A capsule that nobody renamed frees its tensor itself, once it has no reference.
Array::~Array() {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
}

}  // namespace kiln::python

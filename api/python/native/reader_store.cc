#include "api/python/native/reader_store.h"

#include "api/python/native/errors.h"

namespace kiln::python {
namespace {

class ReaderStore final : public storage::BlobStore {
 public:
  explicit ReaderStore(PyObject* reader) : reader_(Ref::share(reader)) {}

  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string&, const Digest&) override {
    return fail(Code::kPermissionDenied, "a reader is read-only");
  }
  Status read(const std::string&, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override {
    if (offset != 0 || length != 0) return fail(Code::kUnimplemented, "blobs are read whole");
    const WithGil held;
    const Ref chunks(PyObject_CallFunction(reader_.get(), "sK", digest.hex().c_str(),
                                           static_cast<unsigned long long>(digest.size)));
    const Ref iterator(chunks ? PyObject_GetIter(chunks.get()) : nullptr);
    if (!iterator) return fail(takeException());
    while (const Ref chunk{PyIter_Next(iterator.get())}) {
      char* data = nullptr;
      Py_ssize_t size = 0;
      if (PyBytes_AsStringAndSize(chunk.get(), &data, &size) != 0) return fail(takeException());
      const WithoutGil others;
      KILN_TRY(sink(Bytes(reinterpret_cast<const std::uint8_t*>(data), static_cast<std::size_t>(size))));
    }
    return PyErr_Occurred() == nullptr ? Status() : fail(takeException());
  }
  Result<std::vector<Digest>> findMissing(const std::string&, std::span<const Digest>) override {
    return fail(Code::kUnimplemented, "a reader does not say what it lacks");
  }

 private:
  Ref reader_;
};

}  // namespace

std::unique_ptr<storage::BlobStore> readBlobsWith(PyObject* reader) {
  return std::make_unique<ReaderStore>(reader);
}

}  // namespace kiln::python

// libFuzzer: zstd as clients send it. Two bytes say how much was declared, one how the rest arrives; no byte
// more than was declared is passed on, and whole in memory the same stream gives the same.
#include <cstdlib>

#include "storage/remote/zstd_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::uint64_t declared = data[0] + 256u * data[1];
  const std::size_t piece = data[2] + 1u;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 3, size - 3);
  std::string out;
  kiln::storage::ZstdDecoder decoder(declared);
  const kiln::storage::ByteSink sink = [&](kiln::Bytes bytes) -> kiln::Status {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (out.size() > declared) std::abort();
    return {};
  };
  kiln::Status status;
  for (std::size_t at = 0; status && at < stream.size(); at += piece)
    status = decoder.push(kiln::asBytes(stream.substr(at, piece)), sink);
  if (status) status = decoder.finish();
  const auto whole = kiln::storage::zstdDecompress(stream, declared);
  if (status && (!whole || *whole != out)) std::abort();
  return 0;
}

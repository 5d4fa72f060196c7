// Times the local store and the CAS over gRPC for tests/bench/cas.sh; prints "NAME SECONDS BYTES" per
// measurement.
//   bench_cas FILE DIRECTORY ROUNDS [SMALL_COUNT]
#include <fmt/core.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "manifest/base/file.h"
#include "storage/blob/local_blob_store.h"
#include "storage/blob/upload.h"
#include "storage/remote/byte_stream_service.h"
#include "storage/remote/cas_service.h"
#include "storage/remote/remote_blob_store.h"
#include "storage/remote/wire_limits.h"

namespace kiln::storage {
namespace {

Status discard(Bytes) {
  return {};
}

// A store in a new directory below `parent`, served on a Unix socket beside it.
struct Setup {
  explicit Setup(const std::string& parent, std::size_t validationEntries = 1 << 16)
      : directory(parent + "/bench-store"), socket("unix:" + parent + "/bench.sock") {
    std::filesystem::remove_all(directory);
    local = LocalBlobStore::open({.directory = directory, .validationEntries = validationEntries}).value();
    cas = std::make_unique<CasService>(*local);
    streams = std::make_unique<ByteStreamService>(*local);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(socket, grpc::InsecureServerCredentials());
    builder.SetMaxReceiveMessageSize(kMaxServerMessageBytes);
    builder.RegisterService(cas.get());
    builder.RegisterService(streams.get());
    server = builder.BuildAndStart();
    remote =
        std::make_unique<RemoteBlobStore>(grpc::CreateChannel(socket, grpc::InsecureChannelCredentials()));
  }
  ~Setup() {
    server->Shutdown();
    std::filesystem::remove_all(directory);
  }

  std::string directory, socket;
  std::unique_ptr<LocalBlobStore> local;
  std::unique_ptr<CasService> cas;
  std::unique_ptr<ByteStreamService> streams;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<RemoteBlobStore> remote;
};

template <class F>
void measure(const char* name, std::uint64_t bytes, F run) {
  auto start = std::chrono::steady_clock::now();
  Status status = run();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (!status) {
    fmt::print(stderr, "{}: {}\n", name, status.error().message);
    std::exit(1);
  }
  fmt::print("{} {:.6f} {}\n", name, seconds.count(), bytes);
}

void largeBlobs(const std::string& file, const std::string& parent, const Digest& digest) {
  {
    Setup setup(parent);
    measure("put", digest.size, [&] { return putFile(*setup.local, "a", digest, file); });
    measure("get-hot", digest.size, [&] { return setup.local->read("a", digest, 0, 0, discard); });
    measure("remote-get", digest.size, [&] { return setup.remote->read("a", digest, 0, 0, discard); });
    auto verifying = LocalBlobStore::open({.directory = setup.directory, .readOnly = true}).value();
    measure("get-verify", digest.size, [&] { return verifying->read("a", digest, 0, 0, discard); });
  }
  Setup setup(parent);
  measure("remote-put", digest.size, [&] { return putFile(*setup.remote, "a", digest, file); });
}

// The least that durability costs: a file, its fsync, its rename, the directory's fsync.
Status plainFiles(const std::string& directory, const std::vector<UploadItem>& items) {
  std::filesystem::create_directory(directory);
  for (const UploadItem& item : items) {
    std::string temp = directory + "/temp", path = directory + "/" + item.digest.hex();
    {
      KILN_ASSIGN(UniqueFd fd, openFile(temp, O_WRONLY | O_CREAT | O_EXCL, 0444, temp));
      KILN_TRY(writeAll(fd.get(), asBytes(item.bytes), temp));
      if (::fsync(fd.get()) != 0) return fail(errnoError(errno, temp));
    }
    std::filesystem::rename(temp, path);
    KILN_TRY(syncDirectory(directory));
  }
  std::filesystem::remove_all(directory);
  return {};
}

void smallBlobs(const std::string& parent, std::size_t count) {
  constexpr std::size_t kSize = 4096;
  std::vector<UploadItem> items;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text = fmt::format("{:0{}}", i, kSize);
    items.push_back({digestOf(text), "", text});
  }
  measure("small-plain", count, [&] { return plainFiles(parent + "/plain", items); });
  Setup setup(parent);
  measure("small-one-by-one", count, [&]() -> Status {
    for (const UploadItem& item : items)
      KILN_TRY(putBlob(*setup.local, "a", item.digest, asBytes(item.bytes)));
    return {};
  });
  auto upload = [&](BlobStore& store, const char* instance) -> Status {
    KILN_TRY(uploadMissing(store, instance, items));
    return {};
  };
  measure("small-batch", count, [&] { return upload(*setup.local, "b"); });
  measure("small-remote-batch", count, [&] { return upload(*setup.remote, "c"); });
}

}  // namespace
}  // namespace kiln::storage

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: bench_cas FILE DIRECTORY ROUNDS [SMALL_COUNT]\n");
    return 2;
  }
  auto digest = kiln::digestOfFile(argv[1]);
  if (!digest) {
    fmt::print(stderr, "{}\n", digest.error().message);
    return 1;
  }
  for (int round = 0; round < std::atoi(argv[3]); ++round)
    kiln::storage::largeBlobs(argv[1], argv[2], *digest);
  if (argc > 4) kiln::storage::smallBlobs(argv[2], static_cast<std::size_t>(std::atoi(argv[4])));
}

// Appends to the log beside fsync's own rate on the same disk.
// usage: bench_log CONNINFO DIR LEAVES   (an empty database with durability on; DIR on the disk in question)
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "signing/follow/tile_directory.h"
#include "signing/log/leaf.h"
#include "signing/sequencer/sequencer.h"
#include "storage/index/schema.h"

using namespace kiln;
using namespace kiln::signing;

namespace {

double seconds(const std::function<Status()>& work, Status& status) {
  const auto start = std::chrono::steady_clock::now();
  status = work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A file of 4 KiB written, synced and renamed, and its directory synced: what one durable file costs at
// least.
Result<double> fsyncRate(const std::string& directory) {
  constexpr int kFiles = 200;
  const std::string page(4096, 'x'), path = directory + "/fsync";
  Status status;
  const double took = seconds(
      [&]() -> Status {
        for (int i = 0; i < kFiles; ++i) {
          KILN_ASSIGN(UniqueFd file, openFile(path + ".new", O_WRONLY | O_CREAT | O_TRUNC, 0644, path));
          KILN_TRY(writeAll(file.get(), asBytes(page), path));
          if (::fsync(file.get()) != 0) return fail(errnoError(errno, path));
          if (::rename((path + ".new").c_str(), path.c_str()) != 0) return fail(errnoError(errno, path));
          KILN_TRY(syncDirectory(directory));
        }
        return {};
      },
      status);
  if (!status) return fail(status.error());
  return kFiles / took;
}

// Leaves as a signer takes them in; one signature serves all, since nothing here looks at it.
Status takeIn(postgres::Connection& connection, const PrivateKey& key, std::uint64_t count) {
  static std::uint64_t number = 0;
  KILN_ASSIGN(Envelope envelope, signEnvelope(kInTotoPayload, "{}", key));
  return connection.transact([&](postgres::Connection& c) -> Status {
    for (std::uint64_t i = 0; i < count; ++i) {
      envelope.payload = "{\"n\":" + std::to_string(number++) + "}";
      KILN_ASSIGN(Leaf leaf, leafOf(envelope, key.publicKey()));
      KILN_TRY(index::addSignature(
          c, {"default", {leaf.digest, 0}, envelope.payload, leaf.text(), SystemClock().now()}));
    }
    return {};
  });
}

Status run(const std::string& conninfo, const std::string& directory, std::uint64_t leaves) {
  KILN_TRY(makeDirectory(directory, 0755));
  KILN_ASSIGN(double syncs, fsyncRate(directory));
  std::printf("durable files of 4 KiB: %.0f /s\n", syncs);
  KILN_ASSIGN(auto connection, postgres::Connection::open({.conninfo = conninfo}));
  KILN_TRY(postgres::migrate(connection, index::migrations()));
  KILN_ASSIGN(auto artifactKey, PrivateKey::create());
  KILN_ASSIGN(auto logKey, Ed25519PrivateKey::create());
  KILN_ASSIGN(WritableTiles tiles, WritableTiles::open(directory + "/tiles"));
  SystemClock clock;
  for (std::uint64_t batch : {1u, 16u, 256u, 4096u}) {
    SequencerSettings settings;
    settings.database = {.conninfo = conninfo};
    settings.origin = "log.bench.example";
    settings.batch = batch;
    const std::uint64_t count = std::min(leaves, batch * 50);
    KILN_TRY(takeIn(connection, artifactKey, count));
    std::uint64_t commits = 0;
    Status status;
    const double took = seconds(
        [&]() -> Status {
          KILN_ASSIGN(auto sequencer, Sequencer::open(settings, logKey, tiles, clock));
          for (std::uint64_t done = 0; done < count; ++commits) {
            KILN_ASSIGN(std::uint64_t appended, sequencer->append());
            done += appended;
          }
          return {};
        },
        status);
    KILN_TRY(status);
    std::printf("batches of %4llu: %6.0f appends/s, %5.1f commits/s, %.2f appends per durable file\n",
                static_cast<unsigned long long>(batch), static_cast<double>(count) / took,
                static_cast<double>(commits) / took, static_cast<double>(count) / took / syncs);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || std::atoi(argv[3]) < 1) {
    std::fprintf(stderr, "usage: bench_log CONNINFO DIR LEAVES\n");
    return 2;
  }
  if (Status status = run(argv[1], argv[2], static_cast<std::uint64_t>(std::atoi(argv[3]))); !status) {
    std::fprintf(stderr, "bench_log: %s\n", status.error().message.c_str());
    return 1;
  }
  return 0;
}

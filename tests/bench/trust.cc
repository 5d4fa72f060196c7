// What trust costs per artifact: signing, log and index; verifying; hashing. See trust.sh.
// usage: bench_trust CONNINFO DIR ARTIFACTS   (an empty database with durability on; DIR on the disk in
// question)
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "signing/follow/tile_directory.h"
#include "signing/log/checkpoint.h"
#include "signing/log/leaf.h"
#include "signing/sequencer/sequencer.h"
#include "signing/server/logged_records.h"
#include "signing/verify/verify.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/index/schema.h"
#include "tests/signing/farm_fixture.h"
#include "tests/signing/log/memory_tiles.h"

namespace kiln::signing {
namespace {

double seconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Seconds that `work` takes, `times` over, for one: of the processor where nothing waits, as openssl speed
// counts, so that neighbours on the machine do not show.
Result<double> timed(int times, const std::function<Status(int)>& work, clockid_t clock = CLOCK_MONOTONIC) {
  const double start = seconds(clock);
  for (int i = 0; i < times; ++i) KILN_TRY(work(i));
  return (seconds(clock) - start) / times;
}

Status hashing() {
  constexpr int kRounds = 16;
  const std::string block(64u << 20, 'x');
  const auto hash = [&](int) -> Status {
    return digestOf(block).size == block.size() ? Status() : fail(Code::kInternal, "");
  };
  KILN_ASSIGN(const double took, timed(kRounds, hash, CLOCK_THREAD_CPUTIME_ID));
  std::printf("hash %.3f GB/s\n", static_cast<double>(block.size()) / took / 1e9);
  return {};
}

// A bundle by the farm's key that a log of `size` entries holds in its middle; the farm's root then names the
// log.
std::string loggedBundle(Farm& farm, std::uint64_t size) {
  const auto logKey = Ed25519PrivateKey::create().value();
  const VerifierKey log{"log.bench.example", NoteKeyKind::kEd25519, logKey.publicKey()};
  farm.root.logs = {{log.name, log.key.der(), farm.root.keys[0].validFrom, farm.root.keys[0].validUntil}};
  const std::string statement = provenanceStatement(farm.artifact, farm.provenance).value();
  Envelope envelope = signEnvelope(kInTotoPayload, statement, farm.key).value();
  std::vector<std::string> leaves(size, leafOf(envelope, farm.key.publicKey())->text());
  testing_support::MemoryTiles tiles;
  tiles.put(grow(tiles, 0, leaves).value());
  TileTree tree(tiles, size);
  const TreeHash root = treeRoot(tree, size).value();
  const std::string note = signCheckpoint({log.name, size, root}, logKey)->toString();
  return makeBundle(envelope, farm.key.publicKey(),
                    LogEntry{log.id(), size / 2, size, root, inclusionProof(tree, size / 2, size).value(),
                             note, leaves[size / 2]})
      .value();
}

Status verifying() {
  constexpr int kTimes = 2000;
  Farm farm;
  Policy policy =
      Policy::parse(R"({"apiVersion":"kiln/v1","kind":"Policy","name":"bench","allowDevelopment":true,
    "builderIds":["*"],"minBuilders":2,"minOperators":2,"targets":["*"],"toolchains":["*"],"requireLog":true})")
          .value();
  const std::vector<std::string> bundles{loggedBundle(farm, 100'000)};
  const std::map<std::string, std::string> files{{"manifest.json", farm.manifestText},
                                                 {"program.so", testing_support::kSampleProgram},
                                                 {"weights/0000.bin", testing_support::kSampleWeights}};
  const VerifyRequest request{farm.ociText, farm.artifact,
                              [&](const ArtifactFile& file, const std::function<Status(Bytes)>& sink) {
                                return sink(asBytes(files.at(file.path)));
                              },
                              bundles};
  const auto verify = [&](int) { return verifyArtifact(request, farm.root, policy, farm.clock).status(); };
  KILN_ASSIGN(const double took, timed(kTimes, verify, CLOCK_THREAD_CPUTIME_ID));
  std::printf("verify %.3f ms\n", took * 1e3);
  const std::string message(300, 'x'), signature = farm.key.sign(asBytes(message)).value();
  const PublicKey key = farm.key.publicKey();
  const auto verifyOne = [&](int) { return key.verify(asBytes(message), asBytes(signature)); };
  KILN_ASSIGN(const double one, timed(kTimes, verifyOne, CLOCK_THREAD_CPUTIME_ID));
  std::printf("ecdsa-verify %.3f ms\n", one * 1e3);
  return {};
}

index::PublicationRecord publicationOf(const Farm& farm, const std::string& bundle, int number) {
  index::PublicationRecord out;
  out.artifact = {.instance = "default",
                  .digest = digestOf("artifact " + std::to_string(number)),
                  .config = digestOf(farm.manifestText),
                  .target = "cpu:x86-64-v3",
                  .toolchainLabel = "kiln",
                  .toolchainDigest = farm.manifest.spec.toolchainDigest,
                  .fixtures = {},
                  .published = farm.clock.now(),
                  .files = {{"program.so", "application/x", digestOf("program")}},
                  .bundles = {},
                  .builders = {},
                  .jobs = {}};
  out.job = {"default", "j"};
  out.action = digestOf("action " + std::to_string(number));
  out.bundle = {digestOf("payload " + std::to_string(number)), digestOf(bundle), kProvenanceType, "j",
                farm.clock.now()};
  for (const Material& one : farm.provenance.resolvedDependencies)
    out.materials.push_back({"model", one.name, one.uri, one.digest});
  out.builders = {{"w1", "acme"}, {"w2", "other"}};
  return out;
}

Status signing(const std::string& conninfo, const std::string& directory, int artifacts) {
  KILN_ASSIGN(auto connection, postgres::Connection::open({.conninfo = conninfo}));
  KILN_TRY(postgres::migrate(connection, index::migrations()));
  Farm farm;
  postgres::Pool pool({.conninfo = conninfo}, 2);
  LoggedRecords records(pool, LegacyRecords(directory + "/records"), farm.key.publicKey(), farm.clock);
  LocalSigner signer(farm.key, farm.authority.certificate(), records, farm.store, farm.clock);
  std::vector<std::string> bundles;
  KILN_ASSIGN(const double sign, timed(artifacts, [&](int i) -> Status {
                farm.provenance.invocationId = "job-" + std::to_string(i);
                KILN_ASSIGN(std::string bundle, signer.sign(farm.request()));
                bundles.push_back(std::move(bundle));
                return {};
              }));
  KILN_ASSIGN(const auto logKey, Ed25519PrivateKey::create());
  KILN_ASSIGN(WritableTiles tiles, WritableTiles::open(directory + "/tiles"));
  SequencerSettings settings;
  settings.database = {.conninfo = conninfo};
  settings.origin = "log.bench.example";
  settings.batch = 1;  // each waits for a checkpoint of its own, as on a quiet farm
  KILN_ASSIGN(auto sequencer, Sequencer::open(settings, logKey, tiles, farm.clock));
  KILN_ASSIGN(const double log, timed(artifacts, [&](int) -> Status {
                KILN_ASSIGN(const std::uint64_t appended, sequencer->append());
                return appended == 1 ? Status() : fail(Code::kInternal, "nothing was appended");
              }));
  KILN_ASSIGN(const double index, timed(artifacts, [&](int i) {
                return connection.transact([&](postgres::Connection& c) -> Status {
                  const auto record = publicationOf(farm, bundles[static_cast<std::size_t>(i)], i);
                  KILN_TRY(c.execute("INSERT INTO actions VALUES ('default', $1, $2, 3, '')",
                                     {Bytes(record.action.hash), record.action.size}));
                  return index::insertPublication(c, record);
                });
              }));
  std::printf("sign %.3f ms\nlog %.3f ms\nindex %.3f ms\ntogether %.3f ms\n", sign * 1e3, log * 1e3,
              index * 1e3, (sign + log + index) * 1e3);
  return {};
}

}  // namespace
}  // namespace kiln::signing

int main(int argc, char** argv) {
  if (argc != 4 || std::atoi(argv[3]) < 1) {
    std::fprintf(stderr, "usage: bench_trust CONNINFO DIR ARTIFACTS\n");
    return 2;
  }
  kiln::Status done = kiln::signing::hashing();
  if (done) done = kiln::signing::verifying();
  if (done) done = kiln::signing::signing(argv[1], argv[2], std::atoi(argv[3]));
  if (done) return 0;
  std::fprintf(stderr, "bench_trust: %s\n", done.error().message.c_str());
  return 1;
}

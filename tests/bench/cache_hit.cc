// Round trip of a job whose artifact the farm already has: submit until ended, one after the other.
// usage: bench_cache_hit ENDPOINT MODEL JOBS   (the model must have been built once for cpu:x86-64-v3)
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "api/client/client.h"
#include "storage/tree/digest_proto.h"

using namespace kiln;

namespace {

Result<double> roundTrip(client::Client& farm, const Digest& model, int number) {
  v1::SubmitJobRequest request;
  request.set_idempotency_key("bench-" + std::to_string(getpid()) + "-" + std::to_string(number));
  request.add_targets("cpu:x86-64-v3");
  v1::Source* source = request.add_sources();
  source->set_path("model.onnx");
  *source->mutable_blob() = toProto(model);
  auto start = std::chrono::steady_clock::now();
  KILN_ASSIGN(v1::Job job, farm.submit(request));
  if (!client::hasEnded(job)) {
    KILN_ASSIGN(job, farm.watch(job.id(), [](const v1::Job&) { return Status(); }));
  }
  double milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (job.state() != v1::JOB_SUCCEEDED || !job.artifacts(0).cached())
    return fail(Code::kFailedPrecondition, "not a cache hit; build the model once before");
  return milliseconds;
}

Status run(const std::string& endpoint, const std::string& path, int count) {
  KILN_ASSIGN(auto farm, client::Client::open({.endpoint = endpoint}));
  KILN_ASSIGN(Digest model, storage::putFile(farm->blobs(), farm->instance(), path));
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    KILN_ASSIGN(double time, roundTrip(*farm, model, i));
    times.push_back(time);
  }
  std::sort(times.begin(), times.end());
  std::printf("{\"jobs\": %d, \"p50_ms\": %.2f, \"p99_ms\": %.2f}\n", count, times[times.size() / 2],
              times[times.size() * 99 / 100]);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || std::atoi(argv[3]) < 1) {
    std::fprintf(stderr, "usage: bench_cache_hit ENDPOINT MODEL JOBS\n");
    return 2;
  }
  if (Status status = run(argv[1], argv[2], std::atoi(argv[3])); !status) {
    std::fprintf(stderr, "bench_cache_hit: %s\n", status.error().message.c_str());
    return 1;
  }
  return 0;
}

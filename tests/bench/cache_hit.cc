// Round trip of a job whose artifact the farm already has: submit until ended, one after the other for each
// client. With many clients: how many of them the farm answers per second.
// usage: bench_cache_hit ENDPOINT MODEL JOBS [CLIENTS]   (the model must have been built once for
// cpu:x86-64-v3; each client does JOBS)
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <vector>

#include "api/client/client.h"
#include "storage/tree/digest_proto.h"

using namespace kiln;

namespace {

Result<double> roundTrip(client::Client& farm, const Digest& model, const std::string& key) {
  v1::SubmitJobRequest request;
  request.set_idempotency_key("bench-" + std::to_string(getpid()) + "-" + key);
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

// What one client measures, on a connection of its own.
Result<std::vector<double>> oneClient(const std::string& endpoint, const Digest& model, int client,
                                      int count) {
  KILN_ASSIGN(auto farm, client::Client::open({.endpoint = endpoint}));
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    KILN_ASSIGN(double time, roundTrip(*farm, model, std::to_string(client) + "-" + std::to_string(i)));
    times.push_back(time);
  }
  return times;
}

Status run(const std::string& endpoint, const std::string& path, int count, int clients) {
  KILN_ASSIGN(auto farm, client::Client::open({.endpoint = endpoint}));
  KILN_ASSIGN(Digest model, storage::putFile(farm->blobs(), farm->instance(), path));
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::future<Result<std::vector<double>>>> running;
  for (int i = 0; i < clients; ++i)
    running.push_back(std::async(std::launch::async, oneClient, endpoint, model, i, count));
  std::vector<double> times;
  for (auto& one : running) {
    KILN_ASSIGN(const std::vector<double> measured, one.get());
    times.insert(times.end(), measured.begin(), measured.end());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::sort(times.begin(), times.end());
  std::printf("{\"jobs\": %zu, \"clients\": %d, \"p50_ms\": %.2f, \"p99_ms\": %.2f, \"per_second\": %.0f}\n",
              times.size(), clients, times[times.size() / 2], times[times.size() * 99 / 100],
              static_cast<double>(times.size()) / seconds);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const int clients = argc == 5 ? std::atoi(argv[4]) : 1;
  if (argc < 4 || argc > 5 || std::atoi(argv[3]) < 1 || clients < 1) {
    std::fprintf(stderr, "usage: bench_cache_hit ENDPOINT MODEL JOBS [CLIENTS]\n");
    return 2;
  }
  if (Status status = run(argv[1], argv[2], std::atoi(argv[3]), clients); !status) {
    std::fprintf(stderr, "bench_cache_hit: %s\n", status.error().message.c_str());
    return 1;
  }
  return 0;
}

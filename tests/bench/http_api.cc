// Asks a farm the same over HTTP and over gRPC, in turn, on as many threads as given: bench_http_api ENDPOINT
// SOCKET THREADS SECONDS. One line per call: its name, requests per second by HTTP and by gRPC, bytes of an
// answer by each. For tests/bench/http_api.py.
#include <curl/curl.h>
#include <grpcpp/create_channel.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kiln/v1/artifact.grpc.pb.h"
#include "kiln/v1/audit.grpc.pb.h"
#include "kiln/v1/job.grpc.pb.h"

namespace {

using namespace kiln;
using Clock = std::chrono::steady_clock;

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "bench_http_api: %s\n", why.c_str());
  std::exit(1);
}

// One connection; bytes of an answer.
class Http {
 public:
  explicit Http(const std::string& socket) {
    curl_easy_setopt(curl_.get(), CURLOPT_UNIX_SOCKET_PATH, socket.c_str());
    curl_easy_setopt(curl_.get(), CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl_.get(), CURLOPT_WRITEDATA, &bytes_);
    const auto count = +[](char*, std::size_t size, std::size_t items, void* to) {
      *static_cast<std::size_t*>(to) += size * items;
      return size * items;
    };
    curl_easy_setopt(curl_.get(), CURLOPT_WRITEFUNCTION, count);
  }
  std::size_t get(const std::string& path) {
    bytes_ = 0;
    long status = 0;
    curl_easy_setopt(curl_.get(), CURLOPT_URL, ("http://localhost" + path).c_str());
    const CURLcode done = curl_easy_perform(curl_.get());
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    if (done != CURLE_OK || status != 200)
      stop(path + ": " + std::to_string(status) + " " + curl_easy_strerror(done));
    return bytes_;
  }

 private:
  std::unique_ptr<CURL, void (*)(CURL*)> curl_{curl_easy_init(), curl_easy_cleanup};
  std::size_t bytes_ = 0;
};

// A call of one thread, made anew for it, that says how large the answer was.
using Call = std::function<std::size_t()>;

template <class Service, class Request, class Response>
Call rpc(const std::string& endpoint,
         grpc::Status (Service::Stub::*method)(grpc::ClientContext*, const Request&, Response*)) {
  grpc::ChannelArguments own;
  own.SetInt("kiln.bench", rand());  // a connection for each thread, as over HTTP
  std::shared_ptr<typename Service::Stub> stub =
      Service::NewStub(grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), own));
  return [stub, method] {
    grpc::ClientContext context;
    Request request;
    Response response;
    request.set_instance("default");
    const grpc::Status status = ((*stub).*method)(&context, request, &response);
    if (!status.ok()) stop(status.error_message());
    return response.ByteSizeLong();
  };
}

struct Figures {
  double perSecond = 0;
  std::size_t bytes = 0;
};

Figures measure(int threads, double seconds, const std::function<Call()>& make) {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::size_t> bytes{0};
  std::vector<std::jthread> all;
  const auto begin = Clock::now();
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&] {
      const Call call = make();
      while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds) {
        bytes = call();
        ++calls;
      }
    });
  all.clear();
  return {static_cast<double>(calls) / std::chrono::duration<double>(Clock::now() - begin).count(), bytes};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bench_http_api ENDPOINT SOCKET THREADS SECONDS\n");
    return 2;
  }
  const std::string endpoint = argv[1], socket = argv[2], base = "/api/v1/instances/default/";
  const int threads = std::atoi(argv[3]);
  const double seconds = std::atof(argv[4]);
  const auto http = [&](const std::string& path) {
    return [=] {
      const auto client = std::make_shared<Http>(socket);
      return Call([=] { return client->get(base + path); });
    };
  };
  struct Row {
    const char* name;
    std::function<Call()> http, grpc;
  };
  const Row rows[] = {
      {"ListJobs", http("jobs"),
       [&] { return rpc<v1::JobService>(endpoint, &v1::JobService::Stub::ListJobs); }},
      {"ListArtifacts", http("artifacts"),
       [&] { return rpc<v1::ArtifactService>(endpoint, &v1::ArtifactService::Stub::ListArtifacts); }},
      {"ListIndexedArtifacts", http("index/artifacts"),
       [&] { return rpc<v1::AuditService>(endpoint, &v1::AuditService::Stub::ListIndexedArtifacts); }},
  };
  for (const Row& row : rows) {
    const Figures ours = measure(threads, seconds, row.http), theirs = measure(threads, seconds, row.grpc);
    std::printf("%s %.0f %.0f %zu %zu\n", row.name, ours.perSecond, theirs.perSecond, ours.bytes,
                theirs.bytes);
    std::fflush(stdout);
  }
  return 0;
}

#include "compiler_core/tuner/serve.h"

#include <chrono>
#include <map>
#include <optional>

#include "compiler_core/tuner/bench.h"
#include "compiler_core/tuner/child.h"
#include "compiler_core/tuner/messages.h"
#include "compiler_core/tuner/results.h"

namespace kiln::tuner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostSeconds = 0.4;  // of the samples of one request: fewer then
constexpr std::size_t kLeastSamples = 3;

class Server {
 public:
  static Result<Server> open(const MeasureSetup& setup) {
    Server server;
    KILN_ASSIGN(server.bench_, Bench::open(setup.processors));
    KILN_ASSIGN(server.inputs_, KernelInputs::make(setup.tensors, setup.seed));
    server.outputs_ = setup.tensors.outputs;
    return server;
  }

  Result<MeasureAnswer> answer(const MeasureRequest& request) {
    MeasureAnswer answer;
    if (request.kind == MeasureRequest::Kind::kForget) {
      runs_.erase(request.id);
      return answer;
    }
    if (request.kind == MeasureRequest::Kind::kTry) {
      KILN_ASSIGN(KernelRun run, KernelRun::load(request.program, outputs_, bench_->threads()));
      KILN_TRY(run.run(*bench_, inputs_, 0));
      answer.results = run.results();
      if (!first_) first_.emplace(outputs_, run.outputs());
      answer.distance = first_->distanceOf(run.outputs());
      runs_.erase(request.id);
      runs_.emplace(request.id, std::move(run));
    }
    const auto found = runs_.find(request.id);
    if (found == runs_.end()) return fail(Code::kNotFound, "no such program is loaded");
    const Clock::time_point from = Clock::now();
    while (answer.nanoseconds.size() < request.samples) {
      KILN_ASSIGN(const std::uint64_t sample, found->second.sample(*bench_, inputs_));
      answer.nanoseconds.push_back(sample);
      if (std::chrono::duration<double>(Clock::now() - from).count() > kMostSeconds &&
          answer.nanoseconds.size() >= kLeastSamples)
        break;
    }
    answer.runsPerSample = found->second.runsPerSample();
    return answer;
  }

 private:
  std::unique_ptr<Bench> bench_;
  KernelInputs inputs_;
  std::vector<KernelTensor> outputs_;
  std::optional<Results> first_;
  std::map<std::uint64_t, KernelRun> runs_;
};

Status serve(int in, int out) {
  KILN_ASSIGN(const std::string first, receiveMessage(in, kMostRequestBytes));
  KILN_ASSIGN(const MeasureSetup setup, unpackSetup(first));
  auto server = Server::open(setup);
  MeasureAnswer opened;
  if (!server) opened.error = server.error();
  KILN_TRY(sendMessage(out, pack(opened)));
  while (server) {
    KILN_ASSIGN(const std::string message, receiveMessage(in, kMostRequestBytes));
    KILN_ASSIGN(const MeasureRequest request, unpackRequest(message));
    const auto made = server->answer(request);
    MeasureAnswer failed;
    if (!made) failed.error = made.error();
    KILN_TRY(sendMessage(out, pack(made ? *made : failed)));
  }
  return {};
}

}  // namespace

void serveMeasurements(int in, int out) {
  // The other side sees the end of this one, whatever it was.
  (void)serve(in, out);
}

}  // namespace kiln::tuner

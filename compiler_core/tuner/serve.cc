#include "compiler_core/tuner/serve.h"

#include <chrono>
#include <optional>

#include "compiler_core/tuner/child.h"
#include "compiler_core/tuner/results.h"

namespace kiln::tuner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMaxSeconds = 0.4;  // of the samples of one request: fewer then
constexpr std::size_t kMinSamples = 3;

class Server {
 public:
  static Result<Server> open(const std::string& message, const OpenEngine& open) {
    KILN_ASSIGN(const MeasureSetup setup, unpackSetup(message));
    Server server;
    KILN_ASSIGN(server.engine_, open(setup));
    server.outputs_ = setup.tensors.outputs;
    return server;
  }

  const Engine& engine() const { return *engine_; }

  Result<MeasureAnswer> answer(const MeasureRequest& request) {
    MeasureAnswer answer;
    if (request.kind == MeasureRequest::Kind::kForget) {
      engine_->unload(request.id);
      return answer;
    }
    if (request.kind == MeasureRequest::Kind::kTry) KILN_TRY(load(request, answer));
    const Clock::time_point from = Clock::now();
    while (answer.nanoseconds.size() < request.samples) {
      KILN_ASSIGN(const std::uint64_t sample, engine_->sample(request.id));
      answer.nanoseconds.push_back(sample);
      if (std::chrono::duration<double>(Clock::now() - from).count() > kMaxSeconds &&
          answer.nanoseconds.size() >= kMinSamples)
        break;
    }
    if (!answer.nanoseconds.empty()) answer.runsPerSample = engine_->runsPerSample(request.id);
    return answer;
  }

 private:
  Status load(const MeasureRequest& request, MeasureAnswer& answer) {
    KILN_ASSIGN(const std::vector<void*> places, engine_->load(request.id, request.program));
    Hasher hasher;
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      hasher.update({static_cast<const std::uint8_t*>(places[i]), outputs_[i].bytes()});
    answer.results = hasher.finish();
    if (!first_) first_.emplace(outputs_, places);
    answer.distance = first_->distanceOf(places);
    return {};
  }

  std::unique_ptr<Engine> engine_;
  std::vector<KernelTensor> outputs_;
  std::optional<Results> first_;
};

Status serve(int in, int out, const OpenEngine& openEngine) {
  KILN_ASSIGN(const std::string first, receiveMessage(in, kMaxRequestBytes));
  auto server = Server::open(first, openEngine);
  MeasureAnswer opened;
  if (server)
    opened.device = server->engine().device();
  else
    opened.error = server.error();
  bool isOver = opened.isLast = !server;
  KILN_TRY(sendMessage(out, pack(opened)));
  while (!isOver) {
    KILN_ASSIGN(const std::string message, receiveMessage(in, kMaxRequestBytes));
    KILN_ASSIGN(const MeasureRequest request, unpackRequest(message));
    const auto made = server->answer(request);
    MeasureAnswer failed;
    if (!made) {
      failed.error = made.error();
      isOver = failed.isLast = server->engine().isSpent();
    }
    KILN_TRY(sendMessage(out, pack(made ? *made : failed)));
  }
  return {};
}

}  // namespace

void serveMeasurements(int in, int out, const OpenEngine& open) {
  // The other side sees the end of this one, whatever it was.
  (void)serve(in, out, open);
}

}  // namespace kiln::tuner

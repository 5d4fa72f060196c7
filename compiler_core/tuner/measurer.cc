#include "compiler_core/tuner/measurer.h"

#include "compiler_core/tuner/serve.h"

namespace kiln::tuner {
namespace {

constexpr std::chrono::seconds kOpening{60};  // until a device is there

}  // namespace

Status Measurer::ready() {
  if (child_) return {};
  const auto serve = [](int in, int out) { serveMeasurements(in, out, &openProcessors); };
  KILN_ASSIGN(child_, program_.empty() ? Child::fork(serve) : Child::start(program_));
  KILN_TRY(send(pack(setup_), std::max<Child::Clock::duration>(limit_, kOpening)));
  KILN_ASSIGN(const MeasureAnswer opened, receive());
  device_ = opened.device;
  for (const auto& [id, program] : loaded_)
    if (auto again = ask({MeasureRequest::Kind::kTry, id, 0, program}); !again) {
      child_.reset();
      return tl::make_unexpected(again.error());
    }
  return {};
}

Status Measurer::send(const std::string& message, Child::Clock::duration limit) {
  deadline_ = Child::Clock::now() + limit;
  Status sent = child_->send(message, deadline_, shouldStop_);
  if (!sent) child_.reset();
  return sent;
}

Result<MeasureAnswer> Measurer::receive() {
  const auto message = child_->receive(kMaxAnswerBytes, deadline_, shouldStop_);
  auto answer = message ? unpackAnswer(*message) : tl::make_unexpected(message.error());
  if (!answer) {
    child_.reset();
    return answer;
  }
  if (answer->isLast) child_.reset();
  if (answer->error) return fail(*answer->error);
  return answer;
}

Result<MeasureAnswer> Measurer::ask(const MeasureRequest& request) {
  KILN_TRY(send(pack(request), limit_));
  return receive();
}

Result<MeasureAnswer> Measurer::samplesOf(const MeasureRequest& request) {
  KILN_ASSIGN(MeasureAnswer answer, ask(request));
  if (answer.nanoseconds.empty() || answer.runsPerSample == 0) {
    child_.reset();
    return fail(Code::kDataLoss, "the process that measures answered without a sample");
  }
  return answer;
}

Result<MeasureAnswer> Measurer::tryOut(std::uint64_t id, KernelProgram program, std::uint32_t samples) {
  KILN_TRY(ready());
  MeasureRequest request{MeasureRequest::Kind::kTry, id, samples, std::move(program)};
  KILN_ASSIGN(MeasureAnswer answer, samplesOf(request));
  loaded_.insert_or_assign(id, std::move(request.program));
  return answer;
}

Result<MeasureAnswer> Measurer::sample(std::uint64_t id, std::uint32_t samples) {
  KILN_TRY(ready());
  auto answer = samplesOf({MeasureRequest::Kind::kSample, id, samples, {}});
  if (!answer) loaded_.erase(id);
  return answer;
}

void Measurer::forget(std::uint64_t id) {
  loaded_.erase(id);
  // One that cannot even do this is made anew by the next request.
  if (child_) (void)ask({MeasureRequest::Kind::kForget, id, 0, {}});
}

}  // namespace kiln::tuner

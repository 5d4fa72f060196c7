#include "compiler_core/tuner/measurer.h"

#include "compiler_core/tuner/serve.h"

namespace kiln::tuner {

Status Measurer::ready() {
  if (child_) return {};
  KILN_ASSIGN(child_, Child::fork(&serveMeasurements));
  KILN_TRY(send(pack(setup_)));
  KILN_TRY(receive());
  for (const auto& [id, program] : loaded_) KILN_TRY(ask({MeasureRequest::Kind::kTry, id, 0, program}));
  return {};
}

Status Measurer::send(const std::string& message) {
  deadline_ = Child::Clock::now() + limit_;
  Status sent = child_->send(message, deadline_, shouldStop_);
  if (!sent) child_.reset();
  return sent;
}

Result<MeasureAnswer> Measurer::receive() {
  const auto message = child_->receive(kMostAnswerBytes, deadline_, shouldStop_);
  auto answer = message ? unpackAnswer(*message) : tl::make_unexpected(message.error());
  if (!answer) {
    child_.reset();
    return answer;
  }
  if (answer->error) return fail(*answer->error);
  return answer;
}

Result<MeasureAnswer> Measurer::ask(const MeasureRequest& request) {
  KILN_TRY(send(pack(request)));
  return receive();
}

Status Measurer::begin(std::uint64_t id, KernelProgram program, std::uint32_t samples) {
  KILN_TRY(ready());
  begun_.emplace(id, std::move(program));
  return send(pack(MeasureRequest{MeasureRequest::Kind::kTry, id, samples, begun_->second}));
}

Result<MeasureAnswer> Measurer::finish() {
  auto [id, program] = std::move(*begun_);
  begun_.reset();
  KILN_ASSIGN(MeasureAnswer answer, receive());
  loaded_.insert_or_assign(id, std::move(program));
  return answer;
}

Result<MeasureAnswer> Measurer::sample(std::uint64_t id, std::uint32_t samples) {
  KILN_TRY(ready());
  auto answer = ask({MeasureRequest::Kind::kSample, id, samples, {}});
  if (!answer) loaded_.erase(id);
  return answer;
}

void Measurer::forget(std::uint64_t id) {
  loaded_.erase(id);
  // One that cannot even do this is made anew by the next request.
  if (child_) (void)ask({MeasureRequest::Kind::kForget, id, 0, {}});
}

}  // namespace kiln::tuner

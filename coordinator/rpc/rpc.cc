#include "coordinator/rpc/rpc.h"

#include "coordinator/jobs/job_error.h"
#include "google/rpc/status.pb.h"
#include "kiln/v1/job.pb.h"

namespace kiln::service {
namespace {

// Details travel in HTTP/2 trailers, which gRPC limits to 8 KiB; a longer list is left out and the message
// stands.
constexpr std::size_t kMaxDetails = 5 << 10;

}  // namespace

grpc::Status refusal(const Error& error) {
  grpc::Status plain = toGrpc(error);
  index::JobErrorRecord record = jobs::jobError(error);
  v1::JobError detail;
  detail.set_code(record.code);
  detail.set_message(plain.error_message());
  detail.set_exit_code(record.exitCode);
  if (record.details.size() <= kMaxDetails) detail.set_details_json(record.details);
  google::rpc::Status rich;
  rich.set_code(plain.error_code());
  rich.set_message(plain.error_message().substr(0, 512));
  rich.add_details()->PackFrom(detail);
  return {plain.error_code(), plain.error_message(), rich.SerializeAsString()};
}

}  // namespace kiln::service

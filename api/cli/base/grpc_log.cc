#include "api/cli/base/grpc_log.h"

#include <grpc/support/log.h>

#include <string>
#include <string_view>

#include "api/cli/base/print.h"
#include "manifest/base/printable.h"

namespace kiln::cli {

void takeGrpcLog() {
  ::gpr_set_log_function([](gpr_log_func_args* said) {
    if (std::string_view(said->file).ends_with("hpack_parser.cc")) return;
    note("kiln: gRPC: " + kiln::printable(said->message));
  });
}

}  // namespace kiln::cli

#include "api/cli/base/grpc_log.h"

#include <grpc/support/log.h>

#include <string>
#include <string_view>

#include "api/cli/base/print.h"
#include "manifest/base/printable.h"

namespace kiln::cli {

void takeGrpcLog() {
  ::gpr_set_log_function([](gpr_log_func_args* said) {
    // A header that is too long is told by the call as well; that threads end says nothing to a user.
    for (const char* file : {"hpack_parser.cc", "thread_pool.cc"})
      if (std::string_view(said->file).ends_with(file)) return;
    note("kiln: gRPC: " + kiln::printable(said->message));
  });
}

}  // namespace kiln::cli

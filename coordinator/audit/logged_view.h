// The rows that the farm keeps of the entries of its log, for whoever walks the log itself.
#pragma once

#include "kiln/v1/audit.pb.h"
#include "manifest/base/result.h"
#include "storage/postgres/connection.h"

namespace kiln::service {

// kiln.v1.AuditService.ListLogged.
Result<v1::ListLoggedResponse> listLogged(postgres::Connection& connection,
                                          const v1::ListLoggedRequest& request);

}  // namespace kiln::service

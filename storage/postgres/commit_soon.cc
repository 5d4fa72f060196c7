#include "storage/postgres/commit_soon.h"

namespace kiln::postgres {

Status commitSoon(Connection& connection) {
  return connection.executeScript("SET LOCAL synchronous_commit = off");
}

}  // namespace kiln::postgres

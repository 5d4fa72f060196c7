// The real processes under a simulated fleet: PostgreSQL, kiln-signer, kiln-log and several
// kiln-coordinators, on Unix sockets in a directory of their own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kiln/v1/job.grpc.pb.h"
#include "kiln/v1/worker.grpc.pb.h"
#include "signing/keys/certificate.h"
#include "storage/postgres/connection.h"
#include "storage/remote/remote_blob_store.h"
#include "tests/bench/simulator/options.h"
#include "tests/bench/simulator/usage.h"
#include "tests/support/child_process.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temp_directory.h"

namespace kiln::fleet {

// Not thread safe.
class Farm {
 public:
  // Starts everything and waits until each coordinator answers. Ends the program with the reason if one does
  // not.
  explicit Farm(const Options& options);

  // Makes an instance begin: a toolchain, and what receipts name.
  Status begin(const std::string& instance, std::string_view sandboxPolicy);

  const std::string& directory() const { return directory_.path(); }
  std::string endpoint(std::size_t coordinator) const;
  std::vector<std::string> endpoints() const;
  const signing::Authority& authority() const { return authority_; }
  postgres::Connection& database() { return *database_; }
  storage::BlobStore& blobs() { return *blobs_; }
  // A channel to one of the coordinators that is not killed.
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // SIGKILL, and as a supervisor does: again at once.
  void kill(std::size_t coordinator);
  void restart(std::size_t coordinator);

  // Of all coordinators together; those that were killed count with the time that they took.
  ProcessUsage coordinatorUsage() const;
  double postgresCpuSeconds() const;

 private:
  std::vector<std::string> coordinatorCommand(std::size_t coordinator) const;
  void waitFor(std::size_t coordinator);

  const Options options_;
  testing_support::TempDirectory directory_;
  testing_support::PostgresServer postgres_;
  std::string conninfo_;
  signing::Authority authority_;
  std::unique_ptr<testing_support::ChildProcess> signer_, log_;
  std::vector<std::unique_ptr<testing_support::ChildProcess>> coordinators_;
  double cpuOfTheKilled_ = 0;  // seconds
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<storage::RemoteBlobStore> blobs_;
  std::unique_ptr<postgres::Connection> database_;
};

}  // namespace kiln::fleet

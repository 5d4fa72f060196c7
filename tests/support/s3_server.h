// S3 servers for tests: the fake one in this process, and real ones that others wrote, as processes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/s3/client.h"

namespace kiln::testing_support {

// One server with the bucket "kiln-test"; its keys are accepted, others may be refused.
class S3Server {
 public:
  virtual ~S3Server() = default;
  virtual int port() const = 0;
  const std::string& name() const { return name_; }

  // Through `port`, for a proxy; 0: directly. Short pauses, so that tests of faults are quick.
  s3::ClientOptions options(const std::string& prefix, int port = 0) const;

 protected:
  explicit S3Server(std::string name) : name_(std::move(name)) {}
  // Waits until the server answers, and makes the bucket; aborts the program if neither comes to be.
  void makeBucket();

 private:
  const std::string name_;
};

// The servers at hand, each started at its first use and kept for the whole program: "Fake" always, "Moto"
// where KILN_MOTO_SERVER names the program moto_server, "Versity" where KILN_VERSITYGW names versitygw
// (tests/interop/s3_check.py has both).
std::vector<std::string> s3ServersAtHand();
S3Server& s3Server(const std::string& name);

}  // namespace kiln::testing_support

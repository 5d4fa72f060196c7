// Real workers, sandbox and all, for a farm of real processes.
#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "kiln/v1/worker.grpc.pb.h"
#include "tests/fault/farm_processes.h"

namespace kiln::fault {

// Workers of operator "op".
class Workers {
 public:
  explicit Workers(FarmProcesses& farm, std::initializer_list<const char*> names = {"w1", "w2"})
      : farm_(farm) {
    for (const char* name : names) start(name);
  }
  void start(const std::string& name, const std::vector<std::string>& more = {},
             const std::vector<std::string>& environment = {}) {
    std::string prefix = farm_.directory_ / name;
    signing::PrivateKey key = signing::PrivateKey::create().value();
    auto certificate = farm_.authority_.issue(name, "op", key.publicKey(), farm_.clock_.now()).value();
    std::ofstream(prefix + ".pem") << certificate.pem();
    EXPECT_TRUE(key.save(prefix + ".key"));
    std::vector<std::string> command{KILN_BIN "/kiln-worker",
                                     "--coordinator",
                                     farm_.endpoint(),
                                     "--certificate",
                                     prefix + ".pem",
                                     "--key",
                                     prefix + ".key",
                                     "--state",
                                     prefix + ".state",
                                     "--slots",
                                     "2"};
    command.insert(command.end(), more.begin(), more.end());
    running_[name] = std::make_unique<ChildProcess>(command, prefix + ".log", environment, true);
  }
  // What the farm says of its workers.
  v1::ListWorkersResponse list() {
    grpc::ClientContext context;
    v1::ListWorkersRequest request;
    request.set_instance("default");
    v1::ListWorkersResponse response;
    (void)v1::FleetService::NewStub(farm_.channel_)->ListWorkers(&context, request, &response);
    return response;
  }
  bool registered() {
    return eventually([&] { return list().workers_size() == static_cast<int>(running_.size()); });
  }
  void kill(const std::string& name) { running_.at(name)->kill(); }
  std::string log(const std::string& name) {
    std::ifstream file(farm_.directory_ / (name + ".log"));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  FarmProcesses& farm_;
  std::map<std::string, std::unique_ptr<ChildProcess>> running_;
};

inline std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline bool ended(const v1::Job& job) {
  return job.state() == v1::JOB_SUCCEEDED || job.state() == v1::JOB_FAILED;
}

}  // namespace kiln::fault

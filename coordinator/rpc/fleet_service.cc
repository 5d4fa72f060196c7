#include "coordinator/rpc/fleet_service.h"

#include <algorithm>
#include <map>

#include "coordinator/view/job_view.h"
#include "storage/index/fleet/worker_repository.h"
#include "storage/remote/status.h"

namespace kiln::service {
namespace {

constexpr std::size_t kMaxQueues = 1000;

void setDuration(google::protobuf::Duration* out, Duration value) {
  out->set_seconds(value.count() / 1'000'000);
  out->set_nanos(static_cast<std::int32_t>(value.count() % 1'000'000 * 1000));
}

// How long `runs` take one after another; the longest that fits where they are too many.
Duration times(Duration one, std::uint64_t runs) {
  constexpr Duration kLongest = std::chrono::hours(24 * 365 * 100);
  if (one.count() == 0) return one;
  return runs > static_cast<std::uint64_t>(kLongest / one) ? kLongest : one * static_cast<std::int64_t>(runs);
}

std::uint64_t sizeOf(const v1::Queue& queue) {
  std::uint64_t size = 0;
  for (const v1::Queue::Kind& kind : queue.kinds()) size += kind.queued() + kind.running();
  return size;
}

v1::Queue::Kind& kindIn(v1::Queue& queue, index::ActionKind kind) {
  for (v1::Queue::Kind& there : *queue.mutable_kinds())
    if (there.kind() == static_cast<v1::ActionKind>(kind)) return there;
  v1::Queue::Kind& added = *queue.add_kinds();
  added.set_kind(static_cast<v1::ActionKind>(kind));
  return added;
}

void add(v1::Queue& queue, const queue::Depth& depth, const QueueLook::Look& look) {
  v1::Queue::Kind& kind = kindIn(queue, depth.kind);
  if (depth.leased) {
    kind.set_running(depth.runs);
    return;
  }
  kind.set_queued(depth.runs);
  setTimestamp(kind.mutable_oldest(), depth.oldest);
  if (const auto usual = look.usualTime.find(depth.kind); usual != look.usualTime.end())
    setDuration(kind.mutable_expected(), times(usual->second, depth.runs));
}

void describe(v1::Queue& queue, const std::string& instance, const quota::QuotaRules& rules) {
  const quota::Quota& quota = rules.of(instance);
  queue.set_instance(instance);
  queue.set_weight(quota.weight);
  if (quota.queued) queue.set_max_queued(*quota.queued);
  if (quota.running) queue.set_max_running(*quota.running);
}

}  // namespace

grpc::Status FleetService::ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest* request,
                                       v1::ListWorkersResponse* response) {
  auto connection = stores_.database.acquire();
  if (!connection) return toGrpc(connection.error());
  auto workers = index::listWorkersOf(**connection, request->instance());
  if (!workers) return toGrpc(workers.error());
  TimePoint now = stores_.clock.now();
  auto held = queue::heldBack(**connection, now);
  if (!held) return toGrpc(held.error());
  for (const index::WorkerRecord& worker : *workers) {
    v1::ListWorkersResponse::Worker* out = response->add_workers();
    if (!out->mutable_description()->ParseFromString(worker.description)) out->clear_description();
    out->mutable_description()->set_name(worker.name);
    out->mutable_description()->set_operator_(worker.operatorName);
    setTimestamp(out->mutable_last_contact(), worker.lastContact);
    out->set_draining(worker.draining);
    out->set_lost(now - worker.lastContact > leasing_.queue.settings().lease);
    const std::vector<std::string> here{request->instance()};
    auto runs = leasing_.queue.leasedTo(**connection, {worker.name, worker.operatorName, worker.key, here});
    if (!runs) return toGrpc(runs.error());
    for (const index::RunRecord& run : *runs) out->add_running(run.action.hex());
    for (const queue::HeldBack& one : *held)
      if (one.worker == worker.name && one.operatorName == worker.operatorName)
        setTimestamp(out->mutable_held_back_until(), one.until);
  }
  return grpc::Status::OK;
}

grpc::Status FleetService::GetQueue(grpc::ServerContext*, const v1::GetQueueRequest* request,
                                    v1::Queue* response) {
  const auto look = look_.current();
  if (!look) return toGrpc(look.error());
  describe(*response, request->instance(), *leasing_.quotas->current());
  for (const queue::Depth& depth : (*look)->depths)
    if (depth.instance == request->instance()) add(*response, depth, **look);
  return grpc::Status::OK;
}

grpc::Status FleetService::ListQueues(grpc::ServerContext*, const v1::ListQueuesRequest*,
                                      v1::ListQueuesResponse* response) {
  const auto look = look_.current();
  if (!look) return toGrpc(look.error());
  const auto rules = leasing_.quotas->current();
  std::map<std::string, v1::Queue> byInstance;
  for (const queue::Depth& depth : (*look)->depths) {
    v1::Queue& queue = byInstance[depth.instance];
    if (queue.instance().empty()) describe(queue, depth.instance, *rules);
    add(queue, depth, **look);
  }
  std::vector<v1::Queue> queues;
  for (auto& [instance, queue] : byInstance) queues.push_back(std::move(queue));
  std::ranges::sort(queues, [](const v1::Queue& a, const v1::Queue& b) {
    const std::uint64_t ofA = sizeOf(a), ofB = sizeOf(b);
    return ofA != ofB ? ofA > ofB : a.instance() < b.instance();
  });
  const std::size_t shown = std::min(queues.size(), kMaxQueues);
  for (std::size_t i = 0; i < shown; ++i) *response->add_queues() = std::move(queues[i]);
  response->set_left_out(queues.size() - shown);
  return grpc::Status::OK;
}

}  // namespace kiln::service

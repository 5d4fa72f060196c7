#include "coordinator/rpc/action_cache_service.h"

#include <fmt/format.h>

#include "coordinator/jobs/foreign_action.h"
#include "coordinator/reapi/client_result.h"
#include "coordinator/reapi/inlined.h"
#include "coordinator/reapi/result_blobs.h"
#include "storage/index/reapi/client_results.h"
#include "storage/remote/reapi_rules.h"
#include "storage/remote/status.h"

namespace kiln::service {
namespace {

struct Asked {
  std::string instance;
  Digest action;
};

template <class Request>
Result<Asked> readAsked(const Request& request) {
  KILN_TRY(storage::checkDigestFunction(request.digest_function()));
  KILN_TRY(storage::checkReapiInstance(request.instance_name()));
  const auto action = fromProto(request.action_digest());
  if (!action) return fail(action.error().in("action_digest"));
  return Asked{storage::instanceNamed(request.instance_name()), *action};
}

Error missing(std::string_view what, const std::vector<Digest>& blobs) {
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(blobs.size(), 5); ++i)
    names += (i == 0 ? "" : ", ") + blobs[i].text();
  return {Code::kFailedPrecondition, fmt::format("{} not in the store: {}{}; upload what FindMissingBlobs "
                                                 "names first",
                                                 what, names, blobs.size() > 5 ? " and others" : "")};
}

// The action must be there, as REAPI wants it, and allow that its result is kept.
Status checkAction(storage::BlobStore& blobs, const Asked& asked) {
  const auto text = storage::getBlob(blobs, asked.instance, asked.action, jobs::kMaxForeignAction);
  if (!text && text.error().code == Code::kNotFound) return fail(missing("the action is", {asked.action}));
  if (!text) return fail(text.error().in("action_digest"));
  reapi::Action action;
  if (!action.ParseFromString(*text))
    return fail(Code::kInvalidArgument, "action_digest names a blob that is no Action");
  const auto command = fromProto(action.command_digest());
  if (!command) return fail(command.error().in("the action's command_digest"));
  KILN_ASSIGN(const bool there, storage::hasBlob(blobs, asked.instance, *command));
  if (!there) return fail(missing("the action's command is", {*command}));
  if (action.do_not_cache())
    return fail(Code::kFailedPrecondition, "the action says do_not_cache, so its result is not kept");
  return {};
}

}  // namespace

grpc::Status ActionCacheService::GetActionResult(grpc::ServerContext*,
                                                 const reapi::GetActionResultRequest* request,
                                                 reapi::ActionResult* response) {
  const auto asked = readAsked(*request);
  if (!asked) return toGrpc(asked.error());
  auto found = results_.find(asked->instance, asked->action);
  if (!found) return toGrpc(found.error());
  if (!*found)
    return toGrpc(Error{Code::kNotFound, "no result of action " + asked->action.text() +
                                             " is known whose outputs are all in the store"});
  *response = std::move(**found);
  return toGrpc(reapi_cache::addInlined(stores_.blobs, asked->instance,
                                        reapi_cache::Inlining::askedBy(*request), *response));
}

Status ActionCacheService::store(const reapi::UpdateActionResultRequest& request, const ResultWriter& writer,
                                 reapi::ActionResult& kept) {
  KILN_ASSIGN(const Asked asked, readAsked(request));
  KILN_ASSIGN(kept, reapi_cache::readClientResult(request.action_result()));
  KILN_TRY(checkAction(stores_.blobs, asked));
  KILN_ASSIGN(const auto lacking, reapi_cache::missingBlobs(stores_.blobs, asked.instance, kept));
  if (!lacking.empty()) return fail(missing("outputs are", lacking));

  const std::string message = kept.SerializeAsString();
  std::unique_ptr<quota::TakenBytes> taken;
  if (books_.count(asked.instance)) {
    KILN_ASSIGN(taken, quota::TakenBytes::take(books_, writer.uploader, asked.instance,
                                               static_cast<std::int64_t>(message.size())));
  }
  KILN_ASSIGN(auto connection, stores_.database.acquire());
  KILN_TRY(index::putClientResult(*connection,
                                  {asked.instance, asked.action, message, writer.who, stores_.clock.now()}));
  if (taken) taken->keep();
  return {};
}

grpc::Status ActionCacheService::update(const reapi::UpdateActionResultRequest& request,
                                        const ResultWriter& writer, reapi::ActionResult& response) {
  reapi::ActionResult kept;
  const Status stored = store(request, writer, kept);
  if (stored) response = std::move(kept);
  return toGrpc(stored);
}

grpc::Status ActionCacheService::UpdateActionResult(grpc::ServerContext*,
                                                    const reapi::UpdateActionResultRequest* request,
                                                    reapi::ActionResult* response) {
  return update(*request, {}, *response);
}

}  // namespace kiln::service

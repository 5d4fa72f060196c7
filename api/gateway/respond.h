// The gateway's answer to each route.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>

#include "api/gateway/connection.h"
#include "api/gateway/gateway.h"
#include "api/gateway/route.h"

namespace kiln::gateway {

// Thread safe. The backend's interfaces outlive it.
class Responder {
 public:
  Responder(GatewayBackend backend, std::shared_ptr<const Clock> clock);
  // Answers one request; true if the connection may be used again.
  bool respond(const Request& request, const Peer& peer, ResponseWriter& writer);
  // Whether the request asks for health where that is served: such a one goes to health() instead.
  bool asksForHealth(const Request& request) const;
  // The whole answer to it.
  std::string health(const Request& request, const Status& healthy);

 private:
  struct Answer;
  class ApiAnswer;
  Status admit(const Request& request, const Peer& peer, const Route& route) const;
  bool asksApi(const Request& request) const;
  void serve(Answer& answer, const Route& route);
  Status checkRelease(const std::string& instance, const Digest& artifact) const;
  // Where several artifacts name a blob, one that may go out is enough.
  Status checkReleaseOf(const std::string& instance, const Digest& blob) const;
  void refuse(Answer& answer, unsigned status, std::string body);
  void refuse(Answer& answer, const Error& error, RouteKind route);
  void text(Answer& answer, unsigned status, std::string_view type, std::string_view body);
  // Its bytes never change, so a client that has them under this digest is told so; one that wants others is
  // refused. True if that was the answer.
  bool settled(Answer& answer, const Digest& digest);
  void document(Answer& answer, const Digest& digest, std::string_view type, std::string_view text);
  void manifest(Answer& answer, const Route& route);
  void referrers(Answer& answer, const Route& route);
  void blob(Answer& answer, const Route& route);
  void logFile(Answer& answer, const Route& route);
  void page(Answer& answer, const Route& route);

  GatewayBackend backend_;
  const std::shared_ptr<const Clock> clock_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Counter& bytes_;
};

}  // namespace kiln::gateway

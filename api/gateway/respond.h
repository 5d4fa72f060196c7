// What the gateway answers to each route.
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
  explicit Responder(GatewayBackend backend);
  // Answers one request; true if the connection may be used again.
  bool respond(const Request& request, ResponseWriter& writer);

 private:
  struct Answer;
  void refuse(Answer& answer, unsigned status, std::string body);
  void refuse(Answer& answer, const Error& error, RouteKind route);
  void text(Answer& answer, unsigned status, std::string_view type, std::string_view body);
  void manifest(Answer& answer, const Route& route);
  void blob(Answer& answer, const Route& route);
  void logFile(Answer& answer, const Route& route);

  GatewayBackend backend_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Counter& bytes_;
};

}  // namespace kiln::gateway

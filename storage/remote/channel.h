// The channel from a client to a coordinator: a Unix socket as it is, everything else through TLS.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "manifest/base/result.h"

namespace kiln::storage {

// Files, "" for none; all PEM but the token, which is one line. Not used for a Unix socket.
struct ClientCredentials {
  std::string ca;           // authorities of the server's certificate; wanted
  std::string certificate;  // of this client, with its chain
  std::string key;          // its private key, which nobody else may read
  std::string token;        // of a CI system; read again for each call, since such tokens are short-lived
};

// "unix:/path", or "host:port" with digits as its port.
bool isSocketEndpoint(const std::string& endpoint);
bool isNetworkEndpoint(const std::string& endpoint);

// kInvalidArgument where a "unix:" endpoint's path is longer than the system's sockets can have.
Status checkSocketPath(const std::string& endpoint);

// kInvalidArgument naming the options that a network endpoint wants (as kiln and kiln-worker call them);
// errors of reading name the file.
Result<std::shared_ptr<grpc::ChannelCredentials>> channelCredentials(const std::string& endpoint,
                                                                     const ClientCredentials& files);

// TLS as the files say: authorities are wanted, a certificate or a token of this client may be left out.
// Errors of reading name the file.
Result<std::shared_ptr<grpc::ChannelCredentials>> tlsCredentials(const ClientCredentials& files);

// Limits of a channel to a coordinator: one that comes back is noticed within a second, one that has fallen
// silent in the middle of a call within 50 seconds.
grpc::ChannelArguments channelArguments(const std::string& endpoint);

}  // namespace kiln::storage

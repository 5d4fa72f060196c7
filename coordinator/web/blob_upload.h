// A blob that is put over HTTP: it goes on as google.bytestream.ByteStream/Write within this process, through
// the same guards, quotas and store.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "api/gateway/api.h"
#include "coordinator/access/gate.h"
#include "manifest/base/clock.h"
#include "manifest/base/digest.h"

namespace kiln::server {

// Stores the body as `digest`, whose size is the body's, in the instance, for `caller`. Who may not is
// refused before anything of the body is taken. OK once the blob is durable: of one that is there already the
// body is taken and thrown away. A body that ends too early or is another one leaves nothing.
// INVALID_ARGUMENT for an instance that no resource name can have; further errors are those of ByteStream,
// and of the body.
grpc::Status uploadBlob(const std::shared_ptr<grpc::Channel>& channel, const std::string& instance,
                        const Digest& digest, gateway::ApiBody& body, const access::Credentials& caller,
                        Duration limit);

}  // namespace kiln::server

// A submission of one model for cpu:x86-64-v3, for tests.
#pragma once

#include <string>

#include "kiln/v1/job.pb.h"
#include "manifest/spec/delivery_spec.h"
#include "storage/tree/digest_proto.h"

namespace kiln::testing_support {

inline v1::SubmitJobRequest sampleRequest(const std::string& key, int builders, const Digest& model) {
  v1::SubmitJobRequest out;
  out.set_instance("default");
  out.set_idempotency_key(key);
  out.add_targets("cpu:x86-64-v3");
  auto* source = out.add_sources();
  source->set_path("m.onnx");
  *source->mutable_blob() = toProto(model);
  DeliverySpec delivery;
  delivery.builders = builders;
  out.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
  return out;
}

}  // namespace kiln::testing_support

module kiln/engines/clients

go 1.25

require github.com/bazelbuild/remote-apis-sdks v0.0.0-20240806195620-e9017eaf5982

// What all four programs say alike. Ports and folders come from the environment (tests/interop/buildbarn.py).
{
  anyone: { allow: {} },
  at(name): '127.0.0.1:' + std.extVar(name),
  server(name): [{ listenAddresses: [$.at(name)], authenticationPolicy: $.anyone }],
  store: { grpc: { client: { address: $.at('STORAGE_PORT') } } },
  largestMessage: 16777216,
  dir: std.extVar('DIR'),
}

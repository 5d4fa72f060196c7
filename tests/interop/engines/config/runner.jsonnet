// Starts commands, as the user who started it, without a sandbox.
local common = import 'common.libsonnet';
{
  buildDirectoryPath: common.dir + '/build',
  grpcServers: [{ listenPaths: [common.dir + '/runner.sock'], authenticationPolicy: common.anyone }],
}

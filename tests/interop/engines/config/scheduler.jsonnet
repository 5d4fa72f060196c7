// Queues by platform. An action whose platform no worker has waits for one that long, then fails.
local common = import 'common.libsonnet';
{
  clientGrpcServers: common.server('CLIENTS_PORT'),
  workerGrpcServers: common.server('WORKERS_PORT'),
  adminHttpServers: common.server('ADMIN_PORT'),
  contentAddressableStorage: common.store,
  maximumMessageSizeBytes: common.largestMessage,
  executeAuthorizer: common.anyone,
  modifyDrainsAuthorizer: common.anyone,
  killOperationsAuthorizer: common.anyone,
  synchronizeAuthorizer: common.anyone,
  actionRouter: { simple: {
    platformKeyExtractor: { actionAndCommand: {} },
    invocationKeyExtractors: [{ toolInvocationId: {} }],
    initialSizeClassAnalyzer: { defaultExecutionTimeout: '600s', maximumExecutionTimeout: '3600s' },
  } },
  platformQueueWithNoWorkersTimeout: '900s',
}

// CAS and ActionCache in memory: 256 MiB and more of blobs. Execute goes on to the scheduler.
local common = import 'common.libsonnet';
local memory(newBlocks, blockBytes) = { 'local': {
  keyLocationMapInMemory: { entries: 100000 },
  keyLocationMapMaximumGetAttempts: 16,
  keyLocationMapMaximumPutAttempts: 64,
  oldBlocks: 8,
  currentBlocks: 24,
  newBlocks: newBlocks,
  blocksInMemory: { blockSizeBytes: blockBytes },
} };
{
  grpcServers: common.server('STORAGE_PORT'),
  maximumMessageSizeBytes: common.largestMessage,
  contentAddressableStorage: {
    backend: memory(3, 16777216),
    getAuthorizer: common.anyone,
    putAuthorizer: common.anyone,
    findMissingAuthorizer: common.anyone,
  },
  actionCache: {
    backend: { completenessChecking: { backend: memory(1, 1048576), maximumTotalTreeSizeBytes: 67108864 } },
    getAuthorizer: common.anyone,
    putAuthorizer: common.anyone,
  },
  schedulers: { '': { endpoint: { address: common.at('CLIENTS_PORT') } } },
  executeAuthorizer: common.anyone,
}

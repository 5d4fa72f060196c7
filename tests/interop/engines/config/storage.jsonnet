// CAS and ActionCache. Execute goes on to the scheduler. No blob may be larger than a block, and weights of a network may have
// 600 MB: blocks of 768 MiB lie in a file, of which the disk holds what was written.
local common = import 'common.libsonnet';
local local_(blocks) = { 'local': {
  keyLocationMapInMemory: { entries: 100000 },
  keyLocationMapMaximumGetAttempts: 16,
  keyLocationMapMaximumPutAttempts: 64,
  oldBlocks: 2,
  currentBlocks: 4,
  newBlocks: 1,
} + blocks };
local cas = local_({ blocksOnBlockDevice: {
  source: { file: { path: common.dir + '/blobs', sizeBytes: 8 * 768 * 1048576 } },
  spareBlocks: 1,
} });
local ac = local_({ blocksInMemory: { blockSizeBytes: 1048576 } });
{
  grpcServers: common.server('STORAGE_PORT'),
  maximumMessageSizeBytes: common.largestMessage,
  contentAddressableStorage: {
    backend: cas,
    getAuthorizer: common.anyone,
    putAuthorizer: common.anyone,
    findMissingAuthorizer: common.anyone,
  },
  actionCache: {
    backend: { completenessChecking: { backend: ac, maximumTotalTreeSizeBytes: 67108864 } },
    getAuthorizer: common.anyone,
    putAuthorizer: common.anyone,
  },
  schedulers: { '': { endpoint: { address: common.at('CLIENTS_PORT') } } },
  executeAuthorizer: common.anyone,
}

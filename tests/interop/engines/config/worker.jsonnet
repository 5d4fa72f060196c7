// Two actions at a time, in plain folders, on the platform OSFamily=linux.
local common = import 'common.libsonnet';
{
  blobstore: { contentAddressableStorage: common.store, actionCache: common.store },
  browserUrl: 'http://127.0.0.1/',
  maximumMessageSizeBytes: common.largestMessage,
  scheduler: { address: common.at('WORKERS_PORT') },
  buildDirectories: [{
    native: {
      buildDirectoryPath: common.dir + '/build',
      cacheDirectoryPath: common.dir + '/cache',
      maximumCacheFileCount: 10000,
      maximumCacheSizeBytes: 1073741824,
      cacheReplacementPolicy: 'LEAST_RECENTLY_USED',
    },
    runners: [{
      endpoint: { address: 'unix://' + common.dir + '/runner.sock' },
      concurrency: 2,
      maximumFilePoolFileCount: 10000,
      maximumFilePoolSizeBytes: 268435456,
      platform: { properties: [{ name: 'OSFamily', value: 'linux' }] },
      workerId: { node: 'loopback' },
    }],
  }],
  filePool: { blockDevice: { file: { path: common.dir + '/filepool', sizeBytes: 536870912 } } },
  directoryCache: { maximumCount: 1000, maximumSizeBytes: 1048576, cacheReplacementPolicy: 'LEAST_RECENTLY_USED' },
  inputDownloadConcurrency: 4,
  outputUploadConcurrency: 4,
  supportLegacyOutputFilesAndDirectories: true,
}

// Goal: etcd is asked to end a watch when it has no leader: a member that is cut off would otherwise say nothing.
import { type Metadata, Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { Etcd3 } from 'etcd3';
import { expect, test } from 'vitest';
import { watchKeys } from '../../../transports/cluster/etcd.streams.ts';

const asIs = (bytes: Buffer): Buffer => bytes;
const bytes = {
  ...{ requestSerialize: asIs, requestDeserialize: asIs, responseSerialize: asIs, responseDeserialize: asIs },
  ...{ requestStream: true, responseStream: true },
};

test('a watch is asked for with a leader', async () => {
  const server = new Server();
  const asked = new Promise<Metadata>((resolve) => {
    const Watch = (stream: ServerDuplexStream<Buffer, Buffer>) => {
      stream.on('error', () => undefined);
      stream.on('data', () => resolve(stream.metadata));
    };
    server.addService({ Watch: { path: '/etcdserverpb.Watch/Watch', ...bytes } }, { Watch });
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  const etcd = new Etcd3({ hosts: `http://127.0.0.1:${port}` });
  const range = { key: Buffer.from('a'), range_end: Buffer.from('b') };
  const stop = watchKeys(
    etcd,
    range,
    1,
    () => undefined,
    () => undefined,
  );
  expect((await asked).get('hasleader')).toEqual(['true']);
  stop();
  etcd.close();
  server.forceShutdown();
});

// Goal: a watch of etcd ends when its member is cut off, and says of no change that it has come before it has.
import { type Metadata, Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { Etcd3 } from 'etcd3';
import { afterEach, expect, test } from 'vitest';
import { watchKeys } from '../../../transports/cluster/etcd.streams.ts';

const asIs = (bytes: Buffer): Buffer => bytes;
const bytes = {
  ...{ requestSerialize: asIs, requestDeserialize: asIs, responseSerialize: asIs, responseDeserialize: asIs },
  ...{ requestStream: true, responseStream: true },
};

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close();
});

/** Watches at a server that does this once it is asked; events are identified by their revision. */
async function watching(
  asked: (stream: ServerDuplexStream<Buffer, Buffer>) => void,
  heard: (n: number) => void,
) {
  const server = new Server();
  const Watch = (stream: ServerDuplexStream<Buffer, Buffer>) => {
    stream.on('error', () => undefined);
    stream.on('data', () => asked(stream));
  };
  server.addService({ Watch: { path: '/etcdserverpb.Watch/Watch', ...bytes } }, { Watch });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  closers.push(() => server.forceShutdown());
  const etcd = new Etcd3({ hosts: `http://127.0.0.1:${port}` });
  closers.push(() => etcd.close());
  const range = { key: Buffer.from('a'), range_end: Buffer.from('b') };
  const hear = ({ header }: { readonly header: { readonly revision: string } }) =>
    heard(Number(header.revision));
  closers.push(watchKeys(etcd, range, 1, hear, () => undefined));
}

test('a watch is asked for with a leader', async () => {
  const metadata = await new Promise<Metadata>(
    (resolve) =>
      void watching(
        (stream) => resolve(stream.metadata),
        () => undefined,
      ),
  );
  expect(metadata.get('hasleader')).toEqual(['true']);
});

test('the creation response of a watch contains no earlier changes', async () => {
  const heard: number[] = [];
  // The fields of WatchResponse: header with the revision, and created.
  const madeAt5 = Buffer.from('0a0218051801', 'hex');
  const changedAt6 = Buffer.from('0a021806', 'hex');
  const done = new Promise<void>((resolve) => {
    void watching(
      (stream) => {
        stream.write(madeAt5);
        stream.write(changedAt6);
      },
      (revision) => {
        heard.push(revision);
        if (revision === 6) resolve();
      },
    );
  });
  await done;
  expect(heard).toEqual([6]);
});

// Goal: a renewal of a lease takes no answer for another's, and harms no other when it fails.
import { EventEmitter } from 'node:events';
import type { Etcd3 } from 'etcd3';
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { Renewals } from '../../../transports/cluster/etcd.streams.ts';

class Stream extends EventEmitter {
  readonly written: string[] = [];
  cancelled = false;

  write({ ID }: { ID: string }): void {
    this.written.push(ID);
  }

  cancel(): void {
    this.cancelled = true;
  }
}

function arrange() {
  const clock = new VirtualClock();
  const streams: Stream[] = [];
  const leaseKeepAlive = async () => {
    const stream = new Stream();
    streams.push(stream);
    return stream;
  };
  const etcd = { leaseClient: { leaseKeepAlive } } as unknown as Etcd3;
  return { clock, streams, renewals: new Renewals(etcd, clock) };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a renewal', () => {
  test('is answered over one stream for all', async () => {
    const { streams, renewals } = arrange();
    const first = renewals.renew('7', 1000);
    await settled();
    streams[0]?.emit('data', { TTL: '10' });
    expect(await first).toBe(10);
    const second = renewals.renew('7', 1000);
    streams[0]?.emit('data', { TTL: '9' });
    expect(await second).toBe(9);
    expect(streams.map(({ written }) => written)).toEqual([['7', '7']]);
  });

  test('ends its stream when it has no answer in time: a late one is not taken for the next', async () => {
    const { clock, streams, renewals } = arrange();
    const first = renewals.renew('7', 1000).catch(({ message }: Error) => message);
    await settled();
    clock.advance(1000);
    expect(await first).toBe('etcd did not renew the lease within 1000 ms.');
    const second = renewals.renew('7', 1000);
    await settled();
    streams[0]?.emit('data', { TTL: '10' });
    streams[1]?.emit('data', { TTL: '8' });
    expect(await second).toBe(8);
    expect(streams.map(({ cancelled }) => cancelled)).toEqual([true, false]);
  });

  test('does not end the stream of the next lease when its own was given up', async () => {
    const { clock, streams, renewals } = arrange();
    const first = renewals.renew('7', 1000).catch(() => 'failed');
    await settled();
    renewals.close();
    clock.advance(500);
    const second = renewals.renew('8', 1000);
    await settled();
    clock.advance(500);
    expect(await first).toBe('failed');
    streams[1]?.emit('data', { TTL: '10' });
    expect(await second).toBe(10);
    expect(streams.map(({ cancelled }) => cancelled)).toEqual([true, false]);
  });
});

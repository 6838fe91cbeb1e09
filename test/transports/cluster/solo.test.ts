// Goal: a process that is a cluster of its own owns all it claims, and no lease of its can lapse.
import { expect, test } from 'vitest';
import type { ClusterView, ShardInfo } from '../../../actors/placement/ports.ts';
import { SoloDirectory } from '../../../transports/cluster/directory.solo.ts';

const SELF: ShardInfo = {
  ...{ id: 'alone', instance: 'run', address: '127.0.0.1:1', adminUrl: null, host: 'here', pid: 1 },
  ...{ weight: 100, worker: 0, version: '1.0.0', startedMs: 1, draining: false },
};

test('a directory of one shard lets it own every partition', async () => {
  const directory = new SoloDirectory(4);
  const views: ClusterView[] = [];
  const last = () => views.at(-1) as ClusterView;
  const epochs = () => last().owners.map((owner) => owner?.epoch ?? null);
  expect([await directory.worker(), directory.safeUntilMs()]).toEqual([0, Number.POSITIVE_INFINITY]);
  expect(await directory.claim([0])).toEqual([]);
  await directory.enter(SELF, {
    changed: (view) => void views.push(view),
    lost: () => undefined,
    renewed: () => undefined,
  });
  expect(last()).toMatchObject({ shards: [SELF], owners: [null, null, null, null] });
  expect(await directory.claim([0, 1, 2, 3])).toEqual([0, 1, 2, 3]);
  await directory.publish(
    new Map([
      [1, 7],
      [2, 8],
    ]),
  );
  expect(epochs()).toEqual([0, 7, 8, 0]);
  await directory.release([2]);
  expect(epochs()).toEqual([0, 7, null, 0]);
  await directory.update({ draining: true });
  expect(last().shards).toMatchObject([{ draining: true }]);
  expect(views.map(({ revision }) => revision)).toEqual(views.map((_, at) => at + 1));
  await directory.leave();
  const { length } = views;
  await directory.release([0]);
  expect(views).toHaveLength(length);
});

// Goal: the proxy of activities finds a path's target without a query for each request, and soon follows a change.
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import type { Application } from '../../../engine/user/facts.ts';
import type { ApplicationId } from '../../../protocol/ids.ts';
import { activityTargets } from '../../../services/activities/targets.ts';

const GAME = '7' as ApplicationId;

test('the target is returned at once while the mappings are cached, and follows a change after a second', async () => {
  const clock = new VirtualClock();
  let [target, reads] = ['a.test', 0];
  const get = async () => {
    reads += 1;
    return { activity: { urlMappings: [{ prefix: '/', target }] } } as unknown as Application;
  };
  const targetOf = activityTargets({ storage: { applications: { get } }, clock });
  const first = await targetOf(GAME, '/x');
  expect(first).toMatchObject({ host: 'a.test' });
  target = 'b.test';
  expect(targetOf(GAME, '/x')).toEqual(first);
  clock.advance(1_000);
  expect(await targetOf(GAME, '/x')).toMatchObject({ host: 'b.test' });
  expect(reads).toBe(2);
});

// Goal: an endpoint that fails for long is removed, and not one that replaced it meanwhile.
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { HERE } from '../../../actors/placement/routing.ts';
import { Lifetime } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { newApplication } from '../../../engine/user/application.ts';
import type { ApplicationId, UserId } from '../../../protocol/ids.ts';
import { startEndpoints } from '../../../services/applications/endpoints.ts';

const [APP, BOT, OWNER] = ['10' as ApplicationId, '10' as UserId, '20' as UserId];
const OLD = 'https://old.test/';
const ROUND_MS = 3 * 3_600_000;

/** Tests an application's URL `OLD`, which is `now` by the end of the tests. @returns the rows and log lines written. */
async function afterTests(now: string) {
  const clock = new VirtualClock();
  const scope = new Lifetime(clock);
  const made = newApplication(APP, BOT, { name: 'Lantern', ownerId: OWNER, flags: 0, verifyKey: 'a' });
  const written: unknown[] = [];
  const lines: string[] = [];
  startEndpoints({
    storage: {
      applications: {
        list: async () => [{ ...made, interactions_endpoint_url: OLD }],
        get: async () => ({ ...made, interactions_endpoint_url: now }),
        // Without a key nothing can be signed: no URL is reached.
        signingKey: async () => null,
      },
      webhookEvents: { waiting: async () => [], expire: async () => undefined },
      onEventsQueued: () => undefined,
      users: { get: async () => [] },
    } as never,
    privates: { open: async () => ({ ok: false }), call: async () => ({ ok: false }) } as never,
    commit: async () => undefined,
    transport: { send: async () => ({ ok: false, reason: 'unreachable' }), allows: () => true, close() {} },
    async commitAsOwner(_, facts) {
      written.push(...facts);
    },
    forget: () => undefined,
    notifyGuilds: async () => undefined,
    mailer: { send: async () => undefined },
    contact: async () => null,
    logger: { warn: (_, text) => void lines.push(text) },
    ...{ routing: HERE, wheel: new TimerWheel(clock), scope, nowMs: () => clock.now() },
    randomBytes: (size) => new Uint8Array(size),
    onFault: () => undefined,
  });
  for (let round = 0; round < 3; round += 1) {
    clock.advance(ROUND_MS + 1_000);
    for (let step = 0; step < 20; step += 1) await turn();
  }
  await scope.close();
  return { written, lines };
}

test('the third failure removes the endpoint and notifies the owner', async () => {
  const { written, lines } = await afterTests(OLD);
  expect(written).toMatchObject([
    { type: 'applicationUpdated', application: { interactions_endpoint_url: null } },
  ]);
  expect(lines).toEqual(['The interactions endpoint of Lantern was removed']);
});

test('an endpoint that replaced the failing one during its test is kept', async () => {
  expect(await afterTests('https://new.test/')).toEqual({ written: [], lines: [] });
});

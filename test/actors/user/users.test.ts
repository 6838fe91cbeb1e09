// Goal: a session of a user keeps its presence when another object represents it, as after a move between shards.
import { expect, it } from 'vitest';
import { Registry } from '../../../actors/runtime/registry.ts';
import { createSupervisor } from '../../../actors/runtime/supervisor.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { userMachine } from '../../../actors/user/user.machine.ts';
import { type UserSession, UserShell } from '../../../actors/user/user.shell.ts';
import { Users } from '../../../actors/user/users.ts';
import type { SessionPresence } from '../../../engine/presence/merge.ts';
import type { UserAccount } from '../../../engine/user/user.ts';

function arrange() {
  const clock = new VirtualClock();
  const replaced: UserSession[] = [];
  const ports = {
    ...{ clock, ownership: null, rulesMs: null, nextId: () => '1', tap: { listening: false } },
    writer: { depth: 0, flush: async () => undefined, commit: () => undefined },
    users: { get: async () => [{ id: '1', username: 'ada' }], guildIds: async () => ['9'] },
  } as unknown as ConstructorParameters<typeof UserShell>[1];
  const registry = new Registry<UserAccount, UserShell>({
    machine: userMachine,
    makeShell: (id, send) => new UserShell(id, ports, send),
    ...{ backlogMax: 100, idleMs: 1e9, supervisor: createSupervisor(), clock, wheel: new TimerWheel(clock) },
    onBug: (_id, error) => expect.fail(String(error)),
  });
  const routing = { ask: () => () => undefined } as never;
  const users = new Users(registry, routing, (session) => replaced.push(session), {
    usernameTaken: async () => false,
  });
  return { users, replaced };
}

const session = (over = false): UserSession =>
  ({ userId: '1', sessionId: 's', intents: 0, bot: false, shard: [0, 1], over }) as unknown as UserSession;
const idle = {
  sessionId: 's',
  status: 'idle',
  platform: 'desktop',
  activities: [],
} as unknown as SessionPresence;

it('a session keeps its presence when another object represents it, and its user is offline when that one closes', async () => {
  const { users, replaced } = arrange();
  const [first, second] = [session(), session()];
  expect(await users.open(first)).toMatchObject({ user: { username: 'ada' }, guildIds: ['9'] });
  expect(users.present(first, idle)).toBe(true);
  expect(users.presenceOf('1')).toMatchObject({ status: 'idle' });
  await users.open(second);
  expect([replaced, users.sessions('1')]).toEqual([[first], [second]]);
  expect(users.presenceOf('1')).toMatchObject({ status: 'idle' });
  expect([users.hasAnother(first), users.hasAnother(second)]).toEqual([true, false]);
  expect(users.close(first)).toBeUndefined();
  expect([users.close(second), users.sessions('1')]).toEqual([null, []]);
});

it('a session has no presence before it is open, and is not opened after it has ended', async () => {
  const { users } = arrange();
  expect(users.present(session(), idle)).toBe(false);
  await users.open(session(true));
  expect([users.sessions('1'), users.presenceOf('1')]).toEqual([[], null]);
});

// Goal: the owners of a session's user and guilds learn why the session left its shard, and what they ask of it is done.
import { describe, expect, it } from 'vitest';
import { createClusterSessions } from '../../../../actors/cluster/delivery/sessions.ts';
import type { SessionFrames, ShardInfo } from '../../../../actors/placement/ports.ts';
import { Lifetime } from '../../../../actors/runtime/clock.ts';
import { baseOf } from '../../../../actors/runtime/stream.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';
import type { LiveSession } from '../../../../actors/session/backend.ts';
import type { GuildId } from '../../../../protocol/ids.ts';
import { scriptedOwners } from '../../../support/scriptedowners.ts';

/** Ids are equal to their partitions. */
const USER = '1';
const GUILD = '8' as GuildId;

/** The session has the stream of the guild up to here. */
const CAUGHT_UP = { kind: 'following', epoch: 1, handle: 1, ownerId: GUILD, n: baseOf(1) + 5 } as const;

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Shard `self`, whose sessions are of a user and in a guild of shard `other`, and what it sends there. */
function arrange() {
  const clock = new VirtualClock();
  const { ownership, shards, give } = scriptedOwners();
  shards.push({ id: 'other', instance: 'other#1' } as ShardInfo);
  give('other#1', [USER, GUILD]);
  const served = new Map<string, (args: readonly unknown[], context: { readonly from: string }) => unknown>();
  const told: unknown[] = [];
  const asked: unknown[] = [];
  const receivers: SessionFrames[] = [];
  const router = {
    serve: (method: string, run: () => unknown) => void served.set(method, run),
    sessions: (receiver: SessionFrames) => void receivers.push(receiver),
    tellShard: (...all: readonly unknown[]) => void told.push(all),
    async askShard(to: string, method: string) {
      asked.push([to, method]);
      if (method !== 'remoteSessions.subscribe') return { guildIds: [GUILD] };
      for (const receiver of receivers) receiver.frames('other', [CAUGHT_UP]);
      return ['member'];
    },
  };
  const { backend } = createClusterSessions({
    ...{ cluster: { ownership, router }, links: { onBroken: () => undefined }, direct: null, clock },
    ...{ wheel: new TimerWheel(clock), lifetime: new Lifetime(clock), resumeWindowMs: 60_000 },
    ...{ guilds: {}, userBackend: {}, streamInterrupted: () => undefined, dispatchesMissed: () => undefined },
    onFault: (fault: unknown) => expect.fail(String(fault)),
  } as unknown as Parameters<typeof createClusterSessions>[0]);
  const session = {
    ...{ sessionId: 'one', userId: USER, principal: { userId: USER }, bot: false, intents: 1 },
    ...{ shard: [0, 1], largeThreshold: 50, following: () => undefined, left: () => undefined },
  } as unknown as LiveSession;
  /** A message of the other shard about the session, which it knows by its first handle. */
  const receive = (method: string, ...rest: readonly unknown[]) =>
    served.get(method)?.([1, 1, ...rest], { from: 'other' });
  return { clock, backend, session, told, asked, receive };
}

describe('a session whose user another shard owns', () => {
  it.each([
    ['ended', 'ended', false],
    ['moved to another shard', 'transferred', true],
  ] as const)('is reported to that shard as %s', async (_how, leave, isKept) => {
    const { backend, session, told, asked } = arrange();
    await backend.open(session);
    expect(asked).toEqual([['other', 'remoteSessions.open']]);
    told.length = 0;
    backend[leave](session);
    expect(told).toEqual([['other', 'remoteSessions.ended', ['self#1', 1, 1, isKept]]]);
  });
});

describe('a session that another shard replaced', () => {
  it.each([
    ['at the guild', GUILD, 'remoteSessions.subscribe'],
    ['at its user', null, 'remoteSessions.reopen'],
  ] as const)('is repeated %s, and nowhere else', async (_where, guildId, method) => {
    const { clock, backend, session, asked, receive } = arrange();
    await backend.open(session);
    await backend.subscribe(session, GUILD);
    asked.length = 0;
    receive('localSessions.replaced', guildId, CAUGHT_UP.n);
    for (let passed = 0; passed < 10; passed += 1) {
      clock.advance(100);
      await turn();
    }
    expect(asked).toEqual([['other', method]]);
  });
});

describe('a session whose socket has room', () => {
  it('is reported to the shard that asked, under the name of this shard', async () => {
    const { backend, session, told, receive } = arrange();
    await backend.open({ ...session, writable: () => Promise.resolve() });
    told.length = 0;
    await receive('localSessions.whenWritable', 7);
    expect(told).toEqual([['other', 'remoteSessions.writable', ['self#1', 1, 7]]]);
  });
});

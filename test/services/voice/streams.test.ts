// Goal: streams follow the calls that they belong to, and a request of a session that has ended has no effect.
import { describe, expect, it } from 'vitest';
import type { Calls } from '../../../actors/call/calls.ts';
import type { Streams } from '../../../actors/call/streams.ts';
import { HERE } from '../../../actors/placement/routing.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import type { LiveSession } from '../../../actors/session/backend.ts';
import {
  type ChannelId,
  type FreshId,
  type GuildId,
  snowflakeOf,
  type UserId,
} from '../../../protocol/ids.ts';
import type { StreamRequest } from '../../../protocol/sessionrequests.ts';
import { redirectingCalls } from '../../../services/voice/elsewhere.ts';
import { askInOwnTurn, ownedIds, streamsThenCalls } from '../../../services/voice/streams.ts';
import { identifyOf, RecordingSink, seatOf } from '../../actors/call/harness.ts';

const [GUILD, HALL] = ['900', '1000'] as unknown as [GuildId, ChannelId];

it('a user who joins, leaves or loses a channel does so in its streams before its call', () => {
  const log: string[] = [];
  const named = (who: string) => ({
    voiceJoined: () => log.push(`${who} joined`),
    voiceLeft: () => log.push(`${who} left`),
    ended: () => log.push(`${who} ended`),
  });
  const listener = streamsThenCalls(
    named('streams') as unknown as Streams,
    named('calls') as unknown as Calls,
  );
  listener.voiceJoined(seatOf('1'));
  listener.voiceLeft(GUILD, '1' as UserId);
  listener.ended(HALL);
  const order = ['joined', 'left', 'ended'].flatMap((what) => [`streams ${what}`, `calls ${what}`]);
  expect(log).toEqual(order);
});

describe('a stream request of a session', () => {
  function arrange() {
    const clock = new VirtualClock();
    const log: unknown[] = [];
    const faults: unknown[] = [];
    const streams = {
      ask(by: object, request: StreamRequest) {
        if (request.type === 'ping') throw new Error('a bug');
        log.push([by, request.type]);
      },
    } as unknown as Streams;
    const routing = {
      ...HERE,
      tell:
        (_method: string, run: (...args: readonly unknown[]) => void) =>
        (key: string, ...rest: readonly unknown[]) => {
          log.push(`to the owner of ${key}`);
          run(key, ...rest);
        },
    } as unknown as typeof HERE;
    const onFault = (fault: unknown) => void faults.push(fault);
    const session = { sessionId: 's1', userId: '1', over: false };
    const handle = askInOwnTurn(streams, { clock, routing, onFault });
    const ask = (request: StreamRequest) => handle(session as unknown as LiveSession, request);
    return { clock, log, faults, session, ask };
  }
  const BY = { userId: '1', sessionId: 's1' };
  const CREATE: StreamRequest = { type: 'create', place: { guildId: GUILD, channelId: HALL } };

  it('is handled in a turn of its own by the owner of the guild or of the private channel', () => {
    const { clock, log, ask } = arrange();
    ask(CREATE);
    expect(log).toEqual([]);
    ask({ type: 'create', place: { guildId: null, channelId: HALL } });
    ask({ type: 'watch', streamKey: `guild:${GUILD}:${HALL}:7` });
    ask({ type: 'watch', streamKey: 'malformed' });
    clock.settle();
    expect(log).toEqual([
      ...[`to the owner of ${GUILD}`, [BY, 'create']],
      ...[`to the owner of ${HALL}`, [BY, 'create']],
      ...[`to the owner of ${GUILD}`, [BY, 'watch']],
      [BY, 'watch'],
    ]);
  });

  it('is dropped when the session has ended meanwhile, and reports a bug as a fault', () => {
    const { clock, log, faults, session, ask } = arrange();
    ask(CREATE);
    session.over = true;
    clock.settle();
    expect(log).toEqual([]);
    session.over = false;
    ask({ type: 'ping', streamKey: '' });
    clock.settle();
    expect(faults).toEqual([new Error('a bug')]);
  });
});

it('a client that reaches a shard without its call learns that the call is at another shard', () => {
  const closed = { kind: 'closed', code: 4011, reason: 'Server not found.' } as const;
  const calls = { identify: () => closed, resume: () => closed };
  const at = (owned: boolean) =>
    redirectingCalls(calls, { owns: () => owned }).identify(identifyOf('1', ''), new RecordingSink());
  expect(at(true)).toEqual(closed);
  expect(at(false)).toEqual({ ...closed, reason: expect.stringContaining('at another shard') });
});

it('a stream has an id that its shard owns, or any when the shard owns none for a moment', () => {
  const ids = () => {
    let last = 0n;
    return () => {
      last += 1n;
      return snowflakeOf(last) as FreshId;
    };
  };
  expect(ownedIds(ids(), { owns: (id) => BigInt(id) % 5n === 0n })()).toBe('5');
  expect(ownedIds(ids(), { owns: () => false })()).toBe('64');
});

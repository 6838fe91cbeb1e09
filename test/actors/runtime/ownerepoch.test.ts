// Goal: a new owner of an aggregate continues the stream of the earlier ones and answers what they answered.
import { describe, expect, it } from 'vitest';
import { OwnerEpoch } from '../../../actors/runtime/ownerepoch.ts';
import { baseOf } from '../../../actors/runtime/stream.ts';
import type { UserId } from '../../../protocol/ids.ts';
import type { CommandRecord } from '../../../storage/cluster/port.ts';

const NOW_MS = 1_780_000_000_000;
const EVERYONE = { kind: 'guild' } as const;
const bounds = () => ({
  stream: { dispatchesMax: 100, ageMs: 60_000, bytesMax: 1 << 20, numbers: { high: 0 } },
  keys: { keysMax: 100, ageMs: 60_000 },
});
const epochOf = (epoch: number) => new OwnerEpoch('7', { ownerId: '7', epoch } as never, bounds());

const record = (n: number, over: Partial<CommandRecord> = {}): CommandRecord =>
  ({
    ...{ n, atMs: NOW_MS, commandKey: null, reply: null },
    dispatches: [{ t: 'GUILD_UPDATE', d: { n }, to: EVERYONE, n }],
    ...over,
  }) as CommandRecord;

/** What a command sent under this key is answered; null when it would be run. */
function answerOf(epoch: OwnerEpoch, key: string): unknown {
  let answer: unknown = null;
  epoch.keys.join(
    key,
    (reply) => {
      answer = reply;
    },
    () => undefined,
  );
  return answer;
}

describe('an owner', () => {
  it('has every dispatch that is recorded, up to the oldest one when older ones were left out', () => {
    const first = baseOf(1) + 5;
    const epoch = epochOf(2);
    epoch.restore({ records: [record(first), record(first + 1)], cut: true });
    expect(epoch.stream.since(first - 2)).toBe('tooOld');
    const kept = epoch.stream.since(first - 1);
    expect(kept === 'tooOld' ? kept : kept.map(({ n }) => n)).toEqual([first, first + 1]);
  });

  it('announces no position right after it has restored the stream', () => {
    const epoch = epochOf(2);
    epoch.restore({ records: [record(baseOf(1) + 5)], cut: true });
    expect(epoch.fannedOut(epoch.number({ t: 'GUILD_UPDATE', d: {}, to: EVERYONE }, NOW_MS))).toBe(false);
  });

  it('announces a position once numbers that subscribers know leave the range that is kept', () => {
    const epoch = epochOf(2);
    epoch.restore({ records: [], cut: false });
    const announced = Array.from({ length: 102 }, () =>
      epoch.fannedOut(epoch.number({ t: 'GUILD_UPDATE', d: {}, to: EVERYONE }, NOW_MS)),
    );
    expect(announced.indexOf(true)).toBe(100);
    expect(announced.filter(Boolean)).toHaveLength(1);
  });

  it('answers a repeated command as its predecessor did, and hands the answer on when no record has it', () => {
    const reply = { ok: true, value: 'first' } as const;
    const handed = epochOf(2);
    handed.handedOver([], 0, [{ key: 'unrecorded', reply, atMs: NOW_MS }]);
    handed.restore({ records: [record(baseOf(1) + 1, { commandKey: 'recorded', reply })], cut: false });
    expect([answerOf(handed, 'unrecorded'), answerOf(handed, 'recorded'), answerOf(handed, 'new')]).toEqual([
      reply,
      reply,
      null,
    ]);
    const third = epochOf(3);
    third.handedOver([], 0, [...handed.keys.unrecorded()]);
    third.restore({ records: [], cut: false });
    expect([answerOf(third, 'unrecorded'), answerOf(third, 'recorded')]).toEqual([reply, null]);
  });

  it('records a notification with the sessions that it is for, so that the next owner repeats it to them alone', () => {
    const epoch = epochOf(2);
    const filter = { kind: 'application', applicationId: '3' } as never;
    const origin = epoch.direct({ t: 'LOBBY_CREATE', d: {}, filter }, ['10' as UserId], NOW_MS, false);
    const dispatches = epoch.takeNumbered();
    expect(dispatches).toEqual([
      { t: 'LOBBY_CREATE', d: {}, to: { kind: 'users', userIds: ['10'] }, n: origin.n, filter },
    ]);
    const reply = { ok: true, value: null } as const;
    const { record: written } = epoch.recording({ nowMs: NOW_MS, commandKey: null, reply }, dispatches);
    const next = epochOf(3);
    next.restore({ records: [written as CommandRecord], cut: false });
    expect(next.stream.since(0)).toMatchObject([{ n: origin.n, filter }]);
    expect(epoch.takeNumbered()).toEqual([]);
  });

  it('records a command without dispatches under a number that nothing else has', () => {
    const epoch = epochOf(2);
    const before = epoch.number({ t: 'GUILD_UPDATE', d: {}, to: EVERYONE }, NOW_MS);
    const reply = { ok: true, value: null } as const;
    const { record: written } = epoch.recording({ nowMs: NOW_MS, commandKey: 'k', reply }, []);
    const after = epoch.number({ t: 'GUILD_UPDATE', d: {}, to: EVERYONE }, NOW_MS);
    expect([before, written?.n, after]).toEqual([1, 2, 3].map((at) => baseOf(2) + at));
  });

  it('gives each notification the number of the last one for everyone before it', () => {
    const epoch = epochOf(2);
    const [first, some, last] = [true, false, false].map((isForAll) =>
      epoch.direct({ t: 'LOBBY_CREATE', d: {} }, ['10' as UserId], NOW_MS, isForAll),
    );
    expect([first?.after, some?.after, last?.after]).toEqual([0, first?.n, first?.n]);
  });
});

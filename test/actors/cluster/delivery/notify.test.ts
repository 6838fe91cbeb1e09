// Goal: what is sent to one session of a user reaches it at the user's owner soon, wherever the user has moved.
import { describe, expect, it } from 'vitest';
import { createNotifier, type NotifierPorts } from '../../../../actors/cluster/delivery/notify.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { ALL_SESSIONS } from '../../../../engine/fanout/direct.ts';
import { NotServed } from '../../../../protocol/faults.ts';
import type { UserId } from '../../../../protocol/ids.ts';

const ANN = '10' as UserId;

/** The notifier of a shard that owns a user whose session is not open yet. */
function arrange(isAlone = false) {
  const clock = new VirtualClock();
  const state = {
    ...{ owns: true, isOpen: false, delivered: [] as string[], forwarded: [] as string[] },
    /** The users of each message to another shard. */
    sentTo: [] as string[],
    shardOf: (_userId: string): string | null => 'b',
    sessions: [] as object[],
  };
  const listeners = new Set<(change: { readonly moved: readonly number[] }) => void>();
  const ports = {
    clock,
    users: { sessions: () => state.sessions, listeners: () => [] },
    cluster: {
      ownership: {
        owns: (userId: string) => userId === ANN && state.owns,
        ownerOf: (userId: string) => {
          const shardId = state.shardOf(userId);
          return shardId === null ? null : { shardId };
        },
        onChange: (run: (change: { readonly moved: readonly number[] }) => void) => {
          listeners.add(run);
          return () => listeners.delete(run);
        },
      },
      routing: {
        tell: () => (to: readonly (readonly [string])[], t: string) => {
          state.forwarded.push(t);
          state.sentTo.push(to.map(([userId]) => userId).join());
        },
        ask: (_name: string, run: unknown) => run,
        onMoved: (run: (moved: () => boolean) => void) => listeners.add(() => run(() => true)),
      },
      router: { serve: () => undefined },
    },
    userDelivery: isAlone
      ? null
      : {
          deliver: (_userId: string, _which: string, { t }: { readonly t: string }) => {
            if (state.isOpen) state.delivered.push(t);
            return state.isOpen;
          },
        },
  } as unknown as NotifierPorts;
  const notifier = createNotifier(ports);
  /** Users move to other shards, and Ann with them unless she stays. */
  const moved = (stays = false): void => {
    state.owns = stays;
    for (const run of listeners) run({ moved: [3] });
    clock.settle();
  };
  return { clock, state, notifier, moved };
}

describe('a dispatch for a session that is not open', () => {
  it('is delivered when the session opens', () => {
    const { state, notifier } = arrange();
    notifier.notifySession(ANN, 's1', 'CALL_CREATE', {});
    state.isOpen = true;
    notifier.sessionOpened({ sessionId: 's1' });
    expect(state.delivered).toEqual(['CALL_CREATE']);
  });

  it('is sent to the next owner of its user at once, before the wait ends', () => {
    const { clock, state, notifier, moved } = arrange();
    notifier.notifySession(ANN, 's1', 'CALL_CREATE', {});
    moved();
    expect(state.forwarded).toEqual(['CALL_CREATE']);
    clock.advance(60_000);
    expect([state.forwarded, state.delivered]).toEqual([['CALL_CREATE'], []]);
  });

  it('goes on waiting when only other users move', () => {
    const { state, notifier, moved } = arrange();
    notifier.notifySession(ANN, 's1', 'CALL_CREATE', {});
    moved(true);
    state.isOpen = true;
    notifier.sessionOpened({ sessionId: 's1' });
    expect([state.forwarded, state.delivered]).toEqual([[], ['CALL_CREATE']]);
  });

  it('is dropped when the session has not opened within 30 seconds', () => {
    const { clock, state, notifier } = arrange();
    notifier.notifySession(ANN, 's1', 'CALL_CREATE', {});
    clock.advance(30_000);
    state.isOpen = true;
    notifier.sessionOpened({ sessionId: 's1' });
    expect([state.forwarded, state.delivered]).toEqual([[], []]);
  });

  it('waits its own 30 seconds when an earlier dispatch for the session was delivered meanwhile', () => {
    const { clock, state, notifier } = arrange();
    const open = () => {
      state.isOpen = true;
      notifier.sessionOpened({ sessionId: 's1' });
      state.isOpen = false;
    };
    notifier.notifySession(ANN, 's1', 'CALL_CREATE', {});
    open();
    clock.advance(10_000);
    notifier.notifySession(ANN, 's1', 'CALL_UPDATE', {});
    clock.advance(29_999);
    open();
    expect([state.delivered, clock.timers]).toEqual([['CALL_CREATE', 'CALL_UPDATE'], 0]);
  });

  it('is dropped when 10,000 others wait already', () => {
    const { state, notifier } = arrange();
    for (let count = 0; count <= 10_000; count += 1) notifier.notifySession(ANN, 's1', 'CALL_CREATE', {});
    state.isOpen = true;
    notifier.sessionOpened({ sessionId: 's1' });
    expect(state.delivered).toHaveLength(10_000);
  });
});

describe('a dispatch for a session of a process alone', () => {
  it('is delivered to that session and to no other of its user', () => {
    const { state, notifier } = arrange(true);
    const sessionOf = (sessionId: string) => ({
      sessionId,
      deliver: ({ t }: { readonly t: string }) => state.delivered.push(`${sessionId} ${t}`),
    });
    state.sessions = ['s1', 's2'].map(sessionOf);
    notifier.notifySession(ANN, 's2', 'CALL_CREATE', {});
    expect(state.delivered).toEqual(['s2 CALL_CREATE']);
  });
});

describe('a dispatch for users of other shards', () => {
  it('is one message for each shard, and one for each user without an owner', () => {
    const { clock, state, notifier } = arrange();
    state.owns = false;
    const shards = new Map([
      ['10', 'b'],
      ['11', 'c'],
      ['12', 'b'],
    ]);
    state.shardOf = (userId) => shards.get(userId) ?? null;
    const to = ['10', '13', '11', '12', '14'].map((userId) => [userId as UserId, ALL_SESSIONS] as const);
    notifier.notifyEach(to, 'USER_UPDATE', {});
    clock.settle();
    expect(state.sentTo).toEqual(['10,12', '13', '14', '11']);
  });
});

describe('a session', () => {
  it("is found at its user, and counts as the person's own only without an application", async () => {
    const { state, notifier } = arrange();
    state.sessions = [
      { sessionId: 's1', authorization: null },
      { sessionId: 's2', authorization: { applicationId: '77' } },
    ];
    const has = ['s1', 's2', 's3'].map((sessionId) => notifier.hasSession(ANN, sessionId));
    expect(await Promise.all(has)).toEqual([true, false, false]);
    const keeps = ['s1', 's2', 's3'].map((sessionId) => notifier.keepsSession(ANN, sessionId));
    expect(await Promise.all(keeps)).toEqual([true, true, false]);
  });

  it('is answered for only when it is open, in the five seconds after its user has moved', async () => {
    const { clock, state, notifier, moved } = arrange();
    expect(await notifier.hasSession(ANN, 's1')).toBe(false);
    moved(true);
    clock.advance(4_999);
    await expect(notifier.hasSession(ANN, 's1')).rejects.toThrow(NotServed);
    state.sessions = [{ sessionId: 's2', authorization: null }];
    expect(await notifier.hasSession(ANN, 's2')).toBe(true);
    clock.advance(1);
    expect(await notifier.hasSession(ANN, 's1')).toBe(false);
  });
});

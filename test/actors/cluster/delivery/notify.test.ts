// Goal: what is sent to one session of a user reaches it at the user's owner soon, wherever the user has moved.
import { describe, expect, it } from 'vitest';
import { createNotifier, type NotifierPorts } from '../../../../actors/cluster/delivery/notify.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import type { UserId } from '../../../../protocol/ids.ts';

const ANN = '10' as UserId;

/** The notifier of a shard that owns a user whose session is not open yet. */
function arrange() {
  const clock = new VirtualClock();
  const state = { owns: true, isOpen: false, delivered: [] as string[], forwarded: [] as string[] };
  const listeners = new Set<(change: { readonly moved: readonly number[] }) => void>();
  const ports = {
    clock,
    users: { sessions: () => [], listeners: () => [] },
    cluster: {
      ownership: {
        owns: () => state.owns,
        ownerOf: () => ({ shardId: 'b' }),
        onChange: (run: (change: { readonly moved: readonly number[] }) => void) => {
          listeners.add(run);
          return () => listeners.delete(run);
        },
      },
      routing: {
        tell: () => (_to: unknown, t: string) => state.forwarded.push(t),
        ask: () => () => Promise.resolve(),
      },
      router: { serve: () => undefined },
    },
    userDelivery: {
      deliver: (_userId: string, _which: string, { t }: { readonly t: string }) => {
        if (state.isOpen) state.delivered.push(t);
        return state.isOpen;
      },
    },
  } as unknown as NotifierPorts;
  const notifier = createNotifier(ports);
  const moved = (): void => {
    state.owns = false;
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

  it('is dropped when the session has not opened within 30 seconds', () => {
    const { clock, state, notifier } = arrange();
    notifier.notifySession(ANN, 's1', 'CALL_CREATE', {});
    clock.advance(30_000);
    state.isOpen = true;
    notifier.sessionOpened({ sessionId: 's1' });
    expect([state.forwarded, state.delivered]).toEqual([[], []]);
  });
});

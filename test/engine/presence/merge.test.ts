/** Goal: one user's sessions make one presence, whatever the order in which they are looked at. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergePresences, type SessionPresence } from '../../../engine/presence/merge.ts';

function session(sessionId: string, more: Partial<SessionPresence> = {}): SessionPresence {
  return { sessionId, status: 'online', platform: 'web', activities: [], changedMs: 0, ...more };
}
const playing = (name: string) =>
  [{ id: name, name, type: 0, created_at: 1 }] as SessionPresence['activities'];

const anySession = fc.record<SessionPresence>({
  sessionId: fc.uuid(),
  status: fc.constantFrom('online', 'dnd', 'idle', 'invisible', 'offline'),
  platform: fc.constantFrom('desktop', 'mobile', 'web', 'vr'),
  activities: fc.constantFrom([], playing('a'), playing('b')),
  changedMs: fc.integer({ min: 0, max: 3 }),
});
const sessions = fc.uniqueArray(anySession, { selector: (each) => each.sessionId, maxLength: 6 });

describe('the merged presence', () => {
  it('prefers not to be disturbed, then to be there, then to be away', () => {
    const status = (...all: SessionPresence['status'][]) =>
      mergePresences(all.map((each, at) => session(String(at), { status: each })))?.status;
    expect(status('idle', 'online', 'dnd')).toBe('dnd');
    expect(status('idle', 'online')).toBe('online');
    expect(status('idle', 'invisible')).toBe('idle');
  });

  it('is null for a user who is invisible, offline or without a session', () => {
    expect(mergePresences([])).toBeNull();
    expect(
      mergePresences([session('a', { status: 'invisible' }), session('b', { status: 'offline' })]),
    ).toBeNull();
  });

  it('has a status per platform', () => {
    const merged = mergePresences([
      session('a', { platform: 'mobile', status: 'idle' }),
      session('b', { platform: 'desktop', status: 'online' }),
      session('c', { platform: 'mobile', status: 'online' }),
      session('d', { platform: 'vr', status: 'invisible' }),
    ]);
    expect(merged?.client_status).toEqual({ mobile: 'online', desktop: 'online' });
  });

  it('shows the activities of the most visible, then the most recent session', () => {
    const does = (...all: SessionPresence[]) => mergePresences(all)?.activities[0]?.name;
    const old = session('a', { activities: playing('old'), changedMs: 1 });
    const recent = session('b', { activities: playing('recent'), changedMs: 2 });
    const away = session('c', { status: 'idle', activities: playing('away'), changedMs: 3 });
    expect(does(old, recent, away)).toBe('recent');
    expect(does(session('d', { changedMs: 9 }), away)).toBe('away');
    expect(does(session('e', { status: 'invisible', activities: playing('secret') }), old)).toBe('old');
  });

  it('does not hang on the order of the sessions', () => {
    const shuffled = sessions.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
    );
    fc.assert(
      fc.property(shuffled, ([all, mixed]) => {
        // Equal presences are not sent again, so their fields are in one order.
        expect(JSON.stringify(mergePresences(mixed))).toBe(JSON.stringify(mergePresences(all)));
      }),
    );
  });

  it('ignores invisible and offline sessions', () => {
    fc.assert(
      fc.property(sessions, (all) => {
        const open = all.filter(({ status }) => status !== 'invisible' && status !== 'offline');
        expect(mergePresences(all)).toEqual(mergePresences(open));
      }),
    );
  });
});

/** Goal: whatever a client sends as its activities, others see well-formed and bounded ones. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shownActivities } from '../../../engine/presence/activities.ts';

const NOW_MS = 1_000;

describe('activities', () => {
  it('of a bot have a name, a state, a type and a stream address', () => {
    const sent = { name: 'n', type: 1, url: 'https://www.twitch.tv/x', state: 's', details: 'no', party: {} };
    expect(shownActivities([sent], true, NOW_MS)).toEqual([
      {
        id: expect.any(String),
        name: 'n',
        type: 1,
        url: 'https://www.twitch.tv/x',
        state: 's',
        created_at: NOW_MS,
      },
    ]);
  });

  it('of a person have the rest too, and of buttons the labels', () => {
    const buttons = [
      { label: 'Join', url: 'https://x.test' },
      { label: 'Watch', url: 'u' },
      { label: 'third' },
    ];
    const sent = { name: 'n', type: 0, details: 'd', party: { id: 'p' }, buttons, unknown: 1 };
    expect(shownActivities([sent], false, NOW_MS)).toMatchObject([
      { name: 'n', details: 'd', party: { id: 'p' }, buttons: ['Join', 'Watch'] },
    ]);
    expect(shownActivities([sent], false, NOW_MS)[0]).not.toHaveProperty('unknown');
  });

  it('keep stream addresses of streams on known sites only', () => {
    const url = (type: number, address: string) =>
      shownActivities([{ name: 'n', type, url: address }], true, NOW_MS)[0]?.url;
    expect(url(1, 'https://youtu.be/x')).toBe('https://youtu.be/x');
    expect(url(0, 'https://youtu.be/x')).toBeUndefined();
    expect(url(1, 'https://twitch.tv.evil.test/x')).toBeUndefined();
  });

  it('survive anything, and stay within their bounds', () => {
    const entry = fc.oneof(
      fc.anything(),
      fc.record({ name: fc.string({ maxLength: 300 }), type: fc.integer(), state: fc.anything() }),
    );
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.array(entry, { maxLength: 20 })), fc.boolean(), (sent, bot) => {
        const shown = shownActivities(sent, bot, NOW_MS);
        expect(shown.length).toBeLessThanOrEqual(10);
        for (const { name, type } of shown) {
          expect(name.length).toBeGreaterThan(0);
          expect(name.length).toBeLessThanOrEqual(128);
          expect([0, 1, 2, 3, 4, 5]).toContain(type);
        }
        expect(new Set(shown.map(({ id }) => id)).size).toBe(
          shown.filter(({ id }) => id !== 'custom').length +
            (shown.some(({ id }) => id === 'custom') ? 1 : 0),
        );
      }),
    );
  });
});

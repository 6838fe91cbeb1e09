/** Goal: whatever a client sends as its activities, others see well-formed and bounded ones. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readActivities } from '../../../engine/presence/activities.ts';
import type { ApplicationId } from '../../../protocol/ids.ts';

const shownActivities = (...args: Parameters<typeof readActivities>) => readActivities(...args).shown;

const NOW_MS = 1_000;

describe('activities', () => {
  it('show the name, state, type and stream address of a bot', () => {
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

  it('show the rest too of a person, within bounds, and only the labels of buttons', () => {
    const sent = {
      name: 'Chess',
      type: 6,
      state: 'Thinking',
      state_url: 'https://chess.test/s',
      details: 'x'.repeat(200),
      details_url: 'javascript:alert(1)',
      status_display_type: 2,
      timestamps: { start: 1, end: 'never' },
      party: { id: 'p', size: [1, 4], privacy: 1, more: 1 },
      assets: { large_image: 'board', large_text: 'Board', large_url: 'https://chess.test', small_text: 'x' },
      supported_platforms: ['desktop', 'ps5', 'toaster', 'desktop'],
      instance: true,
      buttons: [{ label: 'Join', url: 'https://x.test' }, 'Watch', { label: 'third' }],
      unknown: 1,
    };
    expect(shownActivities([sent], false, NOW_MS)).toEqual([
      {
        id: expect.any(String),
        name: 'Chess',
        type: 6,
        created_at: NOW_MS,
        state: 'Thinking',
        state_url: 'https://chess.test/s',
        details: 'x'.repeat(128),
        status_display_type: 2,
        timestamps: { start: 1 },
        party: { id: 'p', size: [1, 4], privacy: 1 },
        assets: { large_image: 'board', large_text: 'Board', large_url: 'https://chess.test' },
        supported_platforms: ['desktop', 'ps5'],
        instance: true,
        buttons: ['Join', 'Watch'],
      },
    ]);
  });

  it('hide secrets: others see that there is something to join, and whose session has it', () => {
    const sent = {
      name: 'Chess',
      type: 0,
      flags: 1 | 2 | 4,
      party: { id: 'party', privacy: 1 },
      secrets: { join: 'sesame', match: 'm' },
      buttons: [{ label: 'Site', url: 'https://x.test' }],
    };
    const source = { sessionId: 'session', applicationId: '77' as ApplicationId };
    const { shown, hidden } = readActivities([sent], false, NOW_MS, source);
    expect(shown).toMatchObject([{ application_id: '77', session_id: 'session', flags: 1 | 2 }]);
    expect(JSON.stringify(shown)).not.toContain('sesame');
    expect(hidden).toEqual([
      {
        applicationId: '77',
        partyId: 'party',
        isPublic: true,
        secrets: { join: 'sesame', spectate: null },
        buttonUrls: ['https://x.test'],
      },
    ]);
  });

  it('name the application that sent them, whatever they claim', () => {
    const source = { sessionId: 's', applicationId: '77' as ApplicationId };
    const [of] = shownActivities([{ name: 'n', type: 0, application_id: '99' }], false, NOW_MS, source);
    expect(of?.application_id).toBe('77');
    expect(shownActivities([{ name: 'n', type: 0, application_id: '99' }], false, NOW_MS)[0]).toMatchObject({
      application_id: '99',
    });
  });

  it('keep stream addresses of streams on known sites only', () => {
    const url = (type: number, address: string) =>
      shownActivities([{ name: 'n', type, url: address }], true, NOW_MS)[0]?.url;
    expect(url(1, 'https://youtu.be/x')).toBe('https://youtu.be/x');
    expect(url(0, 'https://youtu.be/x')).toBeUndefined();
    expect(url(1, 'https://twitch.tv.evil.test/x')).toBeUndefined();
  });

  it('show addresses that are URIs, and drop what two readers read as two addresses', () => {
    const shown = (url: string) => {
      const sent = { name: 'n', type: 1, url: url.replace('example.org', 'twitch.tv') };
      const more = { details_url: url, state_url: url, assets: { large_url: url, small_url: url } };
      const source = { sessionId: 's', applicationId: '77' as ApplicationId };
      const buttons = [{ label: 'a\u202eb', url }];
      return readActivities([{ ...sent, ...more, buttons }], false, NOW_MS, source);
    };
    const kept = 'https://example.org/%C3%BC';
    const { shown: [of] = [], hidden } = shown('https://example.org/ü');
    expect(of).toMatchObject({
      ...{ url: 'https://twitch.tv/%C3%BC', details_url: kept, state_url: kept },
      ...{ assets: { large_url: kept, small_url: kept }, buttons: ['ab'] },
    });
    expect(hidden).toMatchObject([{ buttonUrls: [kept] }]);
    for (const url of ['https://example.org/a b"><x>', 'https://example.org\\@evil.test/']) {
      const { shown: [wrong] = [], hidden: none } = shown(url);
      expect(JSON.stringify(wrong)).not.toContain('example.org');
      expect(wrong).not.toHaveProperty('url');
      expect(none).toEqual([]);
    }
  });

  it('survive anything, and stay within their bounds', () => {
    const text = fc.string({ maxLength: 400, unit: 'grapheme' });
    const loose = fc.oneof(fc.anything(), text, fc.integer());
    const entry = fc.oneof(
      fc.anything(),
      fc.record(
        {
          name: text,
          type: fc.integer({ min: -1, max: 8 }),
          state: loose,
          details: loose,
          details_url: fc.oneof(fc.webUrl(), loose),
          flags: loose,
          application_id: fc.oneof(fc.constant('5'), loose),
          assets: fc.oneof(loose, fc.record({ large_text: loose, small_url: loose, large_image: loose })),
          party: fc.oneof(loose, fc.record({ id: loose, size: fc.array(loose), privacy: loose })),
          secrets: fc.oneof(loose, fc.record({ join: text.map((secret) => `hidden ${secret}`) })),
          buttons: fc.oneof(loose, fc.array(fc.record({ label: loose, url: loose }))),
        },
        { requiredKeys: ['name', 'type'] },
      ),
    );
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.array(entry, { maxLength: 20 })), fc.boolean(), (sent, bot) => {
        const { shown, hidden } = readActivities(sent, bot, NOW_MS);
        expect(shown.length).toBeLessThanOrEqual(10);
        for (const activity of shown) {
          const { name, type, state, details, buttons = [] } = activity;
          expect(name.length).toBeGreaterThan(0);
          for (const each of [name, state ?? '', details ?? ''])
            expect([...each].length).toBeLessThanOrEqual(128);
          expect(type).toBeLessThanOrEqual(bot ? 5 : 6);
          expect(buttons.length).toBeLessThanOrEqual(2);
          expect(activity).not.toHaveProperty('secrets');
        }
        expect(new Set(shown.map(({ id }) => id)).size).toBe(
          shown.filter(({ id }) => id !== 'custom').length +
            (shown.some(({ id }) => id === 'custom') ? 1 : 0),
        );
        for (const { secrets, buttonUrls } of hidden) {
          expect([...(secrets.join ?? '')].length).toBeLessThanOrEqual(128);
          expect(buttonUrls.every((url) => /^https?:/i.test(url))).toBe(true);
        }
        if (bot) expect(hidden).toEqual([]);
      }),
    );
  });
});

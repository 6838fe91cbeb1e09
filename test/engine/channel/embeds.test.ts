/** Goal: embeds are trimmed, counted, resolved and refused field by field, exactly at their bounds. */
import type { APIAttachment } from 'discord-api-types/v10';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildEmbeds, type EmbedDraft } from '../../../engine/channel/embeds.ts';
import { LIMITS } from '../../../protocol/limits.ts';

const file = (filename: string, more: Partial<APIAttachment> = {}): APIAttachment => ({
  id: '700000000000000001',
  filename,
  size: 3,
  url: `https://chat.example/attachments/1/7/${filename}`,
  proxy_url: `https://chat.example/attachments/1/7/${filename}`,
  ...more,
});

function embedsOf(drafts: EmbedDraft[], files: APIAttachment[] = []) {
  const built = buildEmbeds(drafts, files);
  if (!built.ok) throw new Error(JSON.stringify(built.refusal));
  return built.value;
}

function errorsOf(...drafts: EmbedDraft[]): unknown {
  const built = buildEmbeds(drafts, []);
  return built.ok ? null : built.refusal.errors;
}

const tooLong = (max: number) => ({
  _errors: [{ code: 'BASE_TYPE_MAX_LENGTH', message: `Must be ${max} or fewer in length.` }],
});

describe('buildEmbeds', () => {
  it('makes rich embeds with trimmed text and a whole timestamp', () => {
    const draft = {
      title: '  Tide  ',
      description: 'high\u0000',
      color: 255,
      timestamp: '2026-03-01T12:00:00Z',
      footer: { text: ' f ' },
      author: { name: 'a', icon_url: 'https://x.example/i.png' },
      fields: [{ name: 'n', value: 'v' }],
    };
    expect(embedsOf([draft]).embeds).toEqual([
      {
        type: 'rich',
        title: 'Tide',
        description: 'high',
        color: 255,
        timestamp: '2026-03-01T12:00:00.000000+00:00',
        footer: { text: 'f' },
        author: { name: 'a', icon_url: 'https://x.example/i.png' },
        fields: [{ name: 'n', value: 'v', inline: false }],
      },
    ]);
  });

  it('drops embeds that show nothing, and later ones with the same url', () => {
    const url = 'https://x.example/';
    const { embeds } = embedsOf([{}, { color: 3 }, { title: ' ' }, { url, title: 'a' }, { url, title: 'b' }]);
    expect(embeds.map(({ title }) => title)).toEqual(['a']);
  });

  it.each([
    ['title', 'embed_title_chars_max', (text: string) => ({ title: text })],
    ['description', 'embed_description_chars_max', (text: string) => ({ description: text })],
  ] as const)('bounds %s by code points after trimming', (key, bound, draft) => {
    const max = LIMITS[bound];
    expect(errorsOf(draft(` ${'😀'.repeat(max)} `))).toBeNull();
    expect(errorsOf(draft('😀'.repeat(max + 1)))).toEqual({ embeds: { 0: { [key]: tooLong(max) } } });
  });

  it('names every wrong field at once', () => {
    const errors = errorsOf({
      title: 'a'.repeat(257),
      url: 'ftp://x.example',
      image: { url: 'nowhere' },
      fields: [{ name: ' ', value: 'v' }],
    });
    expect(errors).toMatchObject({
      embeds: {
        0: {
          title: tooLong(256),
          url: { _errors: [{ code: 'URL_TYPE_INVALID_SCHEME' }] },
          image: { url: { _errors: [{ code: 'URL_TYPE_INVALID_URL' }] } },
          fields: { 0: { name: { _errors: [{ code: 'BASE_TYPE_REQUIRED' }] } } },
        },
      },
    });
  });

  it('keeps every address as a URI, and refuses what two readers read as two addresses', () => {
    const at = (url: string) => ({
      ...{ url, image: { url }, thumbnail: { url } },
      ...{ author: { name: 'a', url, icon_url: url }, footer: { text: 'f', icon_url: url } },
    });
    const kept = 'https://example.org/%C3%BC';
    expect(embedsOf([at('https://example.org/ü')]).embeds).toEqual([{ type: 'rich', ...at(kept) }]);
    const wrong = { _errors: [{ code: 'URL_TYPE_INVALID_URL', message: expect.any(String) }] };
    for (const url of [
      'https://example.org/a b"><x>',
      'https://example.org\\@evil.test/',
      'https://a@b.test',
    ])
      expect(errorsOf(at(url))).toEqual({
        embeds: {
          0: {
            ...{ url: wrong, image: { url: wrong }, thumbnail: { url: wrong } },
            ...{ author: { url: wrong, icon_url: wrong }, footer: { icon_url: wrong } },
          },
        },
      });
  });

  it('counts all embeds of a message together', () => {
    const part = (length: number) => ({ description: 'a'.repeat(length) });
    expect(errorsOf(part(4_000), part(2_000))).toBeNull();
    expect(errorsOf(part(4_000), part(2_001))).toMatchObject({
      embeds: { _errors: [{ code: 'MAX_EMBED_SIZE_EXCEEDED' }] },
    });
  });

  it('shows attachments by their name, and says which', () => {
    const picture = file('map.png', { width: 4, height: 3, content_type: 'image/png' });
    const { embeds, shownIds } = embedsOf([{ image: { url: 'attachment://map.png' } }], [picture]);
    const { url, proxy_url } = picture;
    expect(embeds[0]?.image).toEqual({ url, proxy_url, content_type: 'image/png', width: 4, height: 3 });
    expect([...shownIds]).toEqual([picture.id]);
  });

  it('knows an attachment by the name it was uploaded under too', () => {
    const picture = file('a_map.png', { title: 'a map' });
    expect(embedsOf([{ thumbnail: { url: 'attachment://a map.png' } }], [picture]).shownIds.size).toBe(1);
  });

  it.each(['attachment://gone.png', 'attachment://notes.txt'])('leaves out %s', (url) => {
    const { embeds, shownIds } = embedsOf([{ title: 't', image: { url } }], [file('notes.txt')]);
    expect(embeds).toEqual([{ type: 'rich', title: 't' }]);
    expect(shownIds.size).toBe(0);
  });

  it('never lets through more than its bounds, and never throws', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.constant('x'.repeat(3_000)),
      fc.constant(null),
    );
    const media = fc.record({ url: text }, { requiredKeys: [] });
    const draft = fc.record(
      {
        title: text,
        description: text,
        url: text,
        timestamp: text,
        color: fc.integer(),
        footer: fc.record({ text, icon_url: text }, { requiredKeys: [] }),
        image: media,
        author: fc.record({ name: text, url: text }, { requiredKeys: [] }),
        fields: fc.array(fc.record({ name: fc.string(), value: fc.string() }), { maxLength: 30 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(draft, { maxLength: 12 }), (drafts) => {
        const built = buildEmbeds(drafts, []);
        if (!built.ok) {
          expect(built.refusal.code).toBe(50035);
          return;
        }
        const { embeds } = built.value;
        expect(embeds.length).toBeLessThanOrEqual(10);
        const texts = embeds.flatMap((embed) => [
          embed.title ?? '',
          embed.description ?? '',
          embed.footer?.text ?? '',
          embed.author?.name ?? '',
          ...(embed.fields ?? []).flatMap(({ name, value }) => [name, value]),
        ]);
        expect([...texts.join('')].length).toBeLessThanOrEqual(6_000);
        for (const { color = 0, title = '' } of embeds) {
          expect(color).toBeGreaterThanOrEqual(0);
          expect(color).toBeLessThanOrEqual(0xffffff);
          expect(title).toBe(title.trim());
        }
      }),
      { numRuns: 60 },
    );
  });
});

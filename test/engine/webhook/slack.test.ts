/** Goal: a body made for Slack becomes a message that fits, whatever is in it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildEmbeds } from '../../../engine/channel/embeds.ts';
import { type SlackBody, slackReport } from '../../../engine/webhook/slack.ts';

describe('a Slack body', () => {
  it.each([
    ['a link with a label', '<https://example.com|here>', '[here](https://example.com)'],
    ['a bare link', '<https://example.com/a?b=1>', 'https://example.com/a?b=1'],
    ['mentions of all', '<!everyone> <!here> <!channel>', '@everyone @here @everyone'],
    ['bold and strikethrough', '*loud* and ~gone~', '**loud** and ~~gone~~'],
    ['arithmetic, which is no markup', '2 * 3 * 4', '2 * 3 * 4'],
    ['escapes', '1 &lt; 2 &amp;&amp; 3 &gt; 2', '1 < 2 && 3 > 2'],
    ['an escaped escape', '&amp;lt;', '&lt;'],
  ])('reads, with %s, as it does here', (_, text, content) => {
    expect(slackReport({ text }).content).toBe(content);
  });

  it('shows its attachments as embeds', () => {
    const body: SlackBody = {
      text: 'New ticket',
      username: 'desk',
      attachments: [
        {
          fallback: 'not shown',
          color: '#36a64f',
          pretext: 'Before',
          author_name: 'Bobby',
          author_link: 'https://example.com/bobby',
          author_icon: 'https://example.com/bobby.png',
          title: 'Ticket 7',
          title_link: 'https://example.com/7',
          text: 'It <https://example.com|burns>',
          fields: [
            { title: 'Priority', value: 'High', short: true },
            { title: 'Dropped', value: '' },
          ],
          image_url: 'https://example.com/i.png',
          thumb_url: 'https://example.com/t.png',
          footer: 'Desk',
          footer_icon: 'https://example.com/f.png',
          ts: 1_700_000_000,
        },
      ],
    };
    expect(slackReport(body)).toEqual({
      content: 'New ticket',
      username: 'desk',
      embeds: [
        {
          title: 'Ticket 7',
          url: 'https://example.com/7',
          description: 'Before\nIt [burns](https://example.com)',
          color: 0x36a64f,
          timestamp: '2023-11-14T22:13:20.000Z',
          footer: { text: 'Desk', icon_url: 'https://example.com/f.png' },
          author: {
            name: 'Bobby',
            url: 'https://example.com/bobby',
            icon_url: 'https://example.com/bobby.png',
          },
          image: { url: 'https://example.com/i.png' },
          thumbnail: { url: 'https://example.com/t.png' },
          fields: [{ name: 'Priority', value: 'High', inline: true }],
        },
      ],
    });
  });

  it.each([
    ['good', 0x2eb886],
    ['#abc', 0xaabbcc],
    ['439FE0', 0x439fe0],
    ['mauve', undefined],
  ])('knows the color %s', (color, expected) => {
    expect(slackReport({ attachments: [{ text: 'x', color }] }).embeds[0]?.color).toBe(expected);
  });

  it('shows the fallback of an attachment that shows nothing else', () => {
    expect(slackReport({ attachments: [{ fallback: 'plain' }] }).embeds).toEqual([{ description: 'plain' }]);
  });

  it('always makes embeds that a message may hold', () => {
    const text = fc.option(fc.string({ unit: 'binary', maxLength: 5_000 }));
    const attachment = fc.record(
      {
        title: text,
        text,
        pretext: text,
        footer: text,
        author_name: text,
        color: text,
        ts: fc.option(fc.double({ noNaN: true })),
        fields: fc.array(fc.record({ title: text, value: text }), { maxLength: 40 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(attachment, { maxLength: 12 }), text, (attachments, content) => {
        const report = slackReport({ text: content, attachments });
        expect([...(report.content ?? '')].length).toBeLessThanOrEqual(2_000);
        expect(buildEmbeds(report.embeds, []).ok).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

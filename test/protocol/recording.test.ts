// Goal: a recording's lines survive being written and read, and no secret of a value is in what is written.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  encodeRecordedLine,
  parseRecordedLine,
  type RecordedLine,
  TOO_LARGE,
} from '../../protocol/recording.ts';
import { resolveStandIns, StandIns, StandInsFull } from '../../protocol/standins.ts';
import { createRecorder } from '../../transports/recording/recorder.ts';

/** JSON values as `JSON.parse` makes them: no negative zero. */
const json = () => fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const at = fc.nat().map((value) => value / 1000);
const text = fc.string({ unit: 'binary', maxLength: 40 });
const line: fc.Arbitrary<RecordedLine> = fc.oneof(
  fc.record({ kind: fc.constant('frame' as const), at, connection: fc.nat(), op: fc.nat(), d: json() }),
  fc.record({ kind: fc.constant('dispatch' as const), at, connection: fc.nat(), t: text, d: json() }),
  fc.record({ kind: fc.constant('open' as const), at, connection: fc.nat() }),
  fc.record({
    ...{ kind: fc.constant('call' as const), at, ms: at, operation: text },
    ...{ authorization: fc.option(text), user_id: fc.option(text), reason: fc.option(text) },
    ...{ params: fc.dictionary(fc.stringMatching(/^[a-z_]{1,9}$/), text), query: json(), body: json() },
    files: fc.array(
      fc.record({
        ...{ field: text, filename: text, content_type: text, size: fc.nat() },
        data: fc.option(fc.base64String()),
      }),
      { maxLength: 3 },
    ),
    ...{ status: fc.nat(), answer: json() },
  }),
);

describe('a line', () => {
  test('is read as it was written, and has no line feed', () => {
    fc.assert(
      fc.property(line, (given) => {
        const written = encodeRecordedLine(given);
        expect(written).not.toContain('\n');
        expect(parseRecordedLine(written)).toEqual(given);
      }),
    );
  });

  test('stays within its bound: a long answer or payload is left out', () => {
    const long = 'x'.repeat(300_000);
    const written = encodeRecordedLine({ kind: 'dispatch', at: 1, connection: 1, t: 'READY', d: { long } });
    expect(written.length).toBeLessThan(1_000);
    expect(parseRecordedLine(written)).toMatchObject({ t: 'READY', d: TOO_LARGE });
  });

  test('keeps the digits of integers beyond 2^53', () => {
    const written = encodeRecordedLine({
      ...{ kind: 'frame', at: 1, connection: 1, op: 4 },
      d: { id: 1234567890123456789n },
    });
    expect(parseRecordedLine(written)).toMatchObject({ d: { id: '1234567890123456789' } });
  });

  test.each([
    ['{"kind":"frame"}', 'Malformed line of kind frame.'],
    ['{"kind":"constructor"}', 'Unknown kind of line'],
    ['[]', 'Unknown kind of line'],
    ['{"kind":"call","at":1,"params":{"a":1}}', 'Malformed line of kind call.'],
  ])('%s is refused', (given, why) => {
    expect(() => parseRecordedLine(given)).toThrow(why);
  });

  test('reads any text or refuses it with SyntaxError', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (given) => {
        try {
          parseRecordedLine(given);
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError);
        }
      }),
    );
  });
});

describe('stand-ins', () => {
  const secret = fc.stringMatching(/^[A-Za-z0-9_-]{12,40}$/);

  test('replace a secret where its field names it, and in every text after that', () => {
    fc.assert(
      fc.property(
        secret,
        json(),
        fc.constantFrom('token', 'password', 'access_token'),
        (hidden, rest, field) => {
          const standIns = new StandIns();
          const masked = JSON.stringify([
            standIns.value({ url: `https://x/${hidden}?a`, [field]: hidden, rest }),
            standIns.value({ content: `it is ${hidden}!`, [`key ${hidden}`]: [hidden] }),
          ]);
          fc.pre(!JSON.stringify(rest).includes(hidden));
          expect(masked).not.toContain(hidden);
          expect(masked).toContain('⟨secret:1⟩');
        },
      ),
    );
  });

  test('are the same for the same secret, and others for others', () => {
    const standIns = new StandIns();
    const value = standIns.value([
      { token: 'abcdefghijkl' },
      { password: 'mnopqrstuvwx' },
      { token: 'abcdefghijkl' },
    ]);
    expect(value).toEqual([{ token: '⟨secret:1⟩' }, { password: '⟨secret:2⟩' }, { token: '⟨secret:1⟩' }]);
  });

  test('replace tokens of this server in any text, although no field names them', () => {
    const token = 'MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcDE.abcdefghijklmnopqrstuvwxyz0123456789_-';
    expect(new StandIns().value({ content: `mine: ${token}` })).toEqual({ content: 'mine: ⟨secret:1⟩' });
  });

  test('replace the secrets of URLs, although no field names them', () => {
    const standIns = new StandIns();
    const location = 'https://game.example/back?code=Zq81_xyzPQ&state=7';
    expect(standIns.value({ location, hook: 'https://x/api/webhooks/12/abcdEFGH-1234' })).toEqual({
      location: 'https://game.example/back?code=⟨secret:1⟩&state=7',
      hook: 'https://x/api/webhooks/12/⟨secret:2⟩',
    });
    expect(standIns.value({ code: 'Zq81_xyzPQ', grant_type: 'authorization_code' })).toMatchObject({
      code: '⟨secret:1⟩',
    });
  });

  test('replace a secret in a text that comes before the object that names it', () => {
    const value = { url: '/x/abcdefghijkl', hook: { token: 'abcdefghijkl' } };
    expect(new StandIns().value(value)).toEqual({
      ...{ url: '/x/⟨secret:1⟩', hook: { token: '⟨secret:1⟩' } },
    });
  });

  test('are the same for a token with and without its scheme', () => {
    const standIns = new StandIns();
    expect(standIns.value([{ token: 'Bot abcdefghijkl' }, { token: 'abcdefghijkl' }])).toEqual([
      { token: 'Bot ⟨secret:1⟩' },
      { token: '⟨secret:1⟩' },
    ]);
  });

  test('resolve to the secret that stands for them; a text that only looks like one never does', () => {
    const standIns = new StandIns();
    const masked = standIns.value({ token: 'abcdefghijkl', content: 'I am ⟨secret:1⟩' });
    const secretOf = (standIn: string) => (standIn === '⟨secret:1⟩' ? 'revealed' : undefined);
    expect(JSON.parse(resolveStandIns(JSON.stringify(masked), secretOf))).toEqual({
      ...{ token: 'revealed', content: 'I am ⟨secret⟩:1⟩' },
    });
  });

  test('end a recording that has too many', () => {
    const standIns = new StandIns(2);
    standIns.value([{ token: 'a' }, { token: 'b' }, { token: 'a' }]);
    expect(() => standIns.value({ token: 'c' })).toThrow(StandInsFull);
  });
});

describe('a recorder', () => {
  test('leaves out the content of a file that contains a secret, and keeps others', () => {
    const lines: string[] = [];
    const write = (text: string) => lines.push(text) > 0;
    const recorder = createRecorder({ nowMs: () => 0, write, bytesMax: 1_000_000 });
    const file = (content: string) => ({
      ...{ field: 'files[0]', filename: 'a.txt', contentType: 'text/plain' },
      bytes: new TextEncoder().encode(content),
    });
    recorder.call({
      ...{ startMs: 0, operation: 'create_message', authorization: 'Bot abcdefghijkl', userId: '1' },
      ...{ params: {}, query: {}, body: {}, reason: null, status: 200, answer: {} },
      files: [file('TOKEN=abcdefghijkl'), file('hello')],
    });
    const [{ files, authorization }] = lines.map((text) => JSON.parse(text));
    expect(authorization).toBe('Bot ⟨secret:1⟩');
    expect(files.map(({ data }: { data: string | null }) => data)).toEqual([null, btoa('hello')]);
  });
});

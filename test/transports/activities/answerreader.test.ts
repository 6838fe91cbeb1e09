// Goal: an answer of a target is read as every other reader would read it, or not at all, however its bytes arrive.

import http, { type ClientRequest } from 'node:http';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AnswerReader, type AnswerStart } from '../../../transports/activities/answerreader.ts';

interface Seen {
  readonly start: AnswerStart | null;
  readonly body: string;
  readonly isComplete: boolean;
  /** False when bytes were malformed, or followed the answer. */
  readonly isSound: boolean;
  readonly idleSeconds: number | null;
}

/** Reads the parts of an answer, and then the end of the connection. */
function seen(parts: readonly string[], isHead = false): Seen {
  let [start, body, isComplete]: [AnswerStart | null, string, boolean] = [null, '', false];
  const reader = new AnswerReader();
  const sink = {
    onStart: (each: AnswerStart) => {
      start = each;
      return true;
    },
    onPart: (part: Buffer) => {
      body += part.toString('latin1');
      return true;
    },
    onComplete: () => {
      isComplete = true;
    },
  };
  reader.expect(sink, isHead);
  const isSound = parts.every((part) => {
    const bytes = Buffer.from(part, 'latin1');
    const isRead = reader.read(bytes);
    // The memory of a part is used again.
    bytes.fill(0);
    return isRead;
  });
  if (isSound) reader.end();
  return { start, body, isComplete, isSound, idleSeconds: reader.idleSeconds };
}

const bytewise = (text: string): string[] => [...text];

describe('an HTTP response', () => {
  test.each([
    ['with a length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', 'hello'],
    ['with length 0', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', ''],
    ['without a reason', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok', 'ok'],
    [
      'in chunks',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n',
      'hello',
    ],
    [
      'in chunks with extensions and trailers',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n5;a=b;c="d e";f\r\nhello\r\n0\r\nX: y\r\nZ: \r\n\r\n',
      'hello',
    ],
    ['up to the end of the connection', 'HTTP/1.1 200 OK\r\n\r\nhello', 'hello'],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nhello', 'hello'],
    [
      'after interim answers',
      'HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx',
      'x',
    ],
    ['with status 204', 'HTTP/1.1 204 No Content\r\n\r\n', ''],
    ['with status 304 and a length', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', ''],
  ])('%s is read, at once and byte by byte', (_, text, body) => {
    for (const parts of [[text], bytewise(text)])
      expect(seen(parts)).toMatchObject({ body, isComplete: true, isSound: true });
  });

  test('has no body after HEAD, whatever it announces', () => {
    for (const framing of ['Content-Length: 5', 'Transfer-Encoding: chunked', 'X: y']) {
      const text = `HTTP/1.1 200 OK\r\n${framing}\r\n\r\n`;
      expect(seen([text], true)).toMatchObject({ body: '', isComplete: true, isSound: true });
      expect(seen([`${text}HTTP/1.1 200 OK\r\n\r\n`], true).isSound).toBe(false);
    }
  });

  test('gives names in lower case, values without blanks around them, and the announced size', () => {
    const text =
      'HTTP/1.1 404 Not Found\r\nX-A: \t b c \r\nEmpty:\r\nX-A:caf\xe9\r\nContent-Length:  3 \r\n\r\nabc';
    expect(seen([text]).start).toEqual({
      status: 404,
      lines: ['x-a', 'b c', 'empty', '', 'x-a', 'caf\xe9', 'content-length', '3'],
      bytes: 3,
    });
  });

  test.each([
    ['Connection: close', 0],
    ['Connection: upgrade, Close', 0],
    ['Keep-Alive: timeout=5, max=10', 5],
    ['Keep-Alive: timeout=5\r\nConnection: close', 0],
    ['X: y', null],
  ])('leaves the connection open, with %s, for %s s', (header, idleSeconds) => {
    const text = (version: string) => `HTTP/${version} 200 OK\r\n${header}\r\nContent-Length: 0\r\n\r\n`;
    expect(seen([text('1.1')]).idleSeconds).toBe(idleSeconds);
    expect(seen([text('1.0')]).idleSeconds).toBe(0);
  });

  const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
  test.each([
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx'],
    ['a list of lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\nx'],
    ['a signed length', 'HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx'],
    ['a length in base 16', 'HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\nx'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'chunks and a length',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n',
    ],
    ['two encodings', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
    ['the encoding identity', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nx'],
    ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a folded line', 'HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n'],
    ['a blank before a colon', 'HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\nx'],
    ['a line without a colon', 'HTTP/1.1 200 OK\r\nnothing\r\n\r\n'],
    ['no name', 'HTTP/1.1 200 OK\r\n: x\r\n\r\n'],
    ['a bare line feed', 'HTTP/1.1 200 OK\r\nX: a\nY: b\r\n\r\n'],
    ['a bare carriage return', 'HTTP/1.1 200 OK\r\nX: a\rY: b\r\n\r\n'],
    ['a NUL', 'HTTP/1.1 200 OK\r\nX: a\0\r\n\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['a short status', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a long status', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a change of protocol', 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n'],
    [
      'an interim answer with two lengths',
      `HTTP/1.1 100 C\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n${OK}`,
    ],
    ['an interim answer with a length', `HTTP/1.1 100 C\r\nContent-Length: 0\r\n\r\n${OK}`],
    ['an interim answer in chunks', `HTTP/1.1 100 C\r\nTransfer-Encoding: chunked\r\n\r\n${OK}`],
    ['17 interim answers', 'HTTP/1.1 102 P\r\n\r\n'.repeat(17)],
    ['257 headers', `HTTP/1.1 200 OK\r\n${'a:b\r\n'.repeat(257)}\r\n`],
    ['a start of 16 KiB', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(16 << 10)}\r\n\r\n`],
    ['a chunk without a size', `${chunked}\r\n`],
    ['a chunk of a negative size', `${chunked}-1\r\n`],
    ['a chunk of a size with blanks', `${chunked}1 \r\nx\r\n0\r\n\r\n`],
    ['a chunk of more than 4 GiB', `${chunked}100000000\r\n`],
    ['a chunk that is longer than its size', `${chunked}1\r\nxy\r\n0\r\n\r\n`],
    ['a chunk line with a bare line feed', `${chunked}1\nx\r\n0\r\n\r\n`],
    ['a chunk line of 256 bytes', `${chunked}1;${'x'.repeat(256)}`],
    ['a malformed trailer', `${chunked}0\r\nnothing\r\n\r\n`],
    ['trailers of 8 KiB', `${chunked}0\r\n${`a: ${'b'.repeat(95)}\r\n`.repeat(83)}`],
    ['bytes after it', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n\r\n'],
  ])('is malformed, at once and byte by byte, with %s', (_, text) => {
    for (const parts of [[text], bytewise(text)]) expect(seen(parts).isSound).toBe(false);
  });

  test.each([
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n',
    `${chunked}5\r\nhello\r\n`,
    `${chunked}5\r\nhello\r\n0\r\n`,
    `${chunked}5\r\nhel`,
  ])('is incomplete when the connection ends early: %j', (text) => {
    for (const parts of [[text], bytewise(text)])
      expect(seen(parts)).toMatchObject({ isComplete: false, isSound: true });
  });

  test('ends the reader when the sink rejects it', () => {
    const reader = new AnswerReader();
    const parts: string[] = [];
    const onPart = (part: Buffer) => parts.push(String(part)) < 1;
    reader.expect({ onStart: () => true, onPart, onComplete: () => parts.push('end') }, false);
    expect(reader.read(Buffer.from(`${chunked}1\r\na\r\n1\r\nb\r\n0\r\n\r\n`))).toBe(false);
    expect(parts).toEqual(['a']);
  });

  test('is read after another one on the same connection', () => {
    const reader = new AnswerReader();
    const log: string[] = [];
    for (const [text, isHead] of [
      [`${chunked}1\r\na\r\n0\r\nX: y\r\n\r\n`, false],
      ['HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n', true],
      ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb', false],
    ] as const) {
      const onPart = (part: Buffer) => log.push(String(part)) > 0;
      reader.expect(
        { onStart: ({ status }) => log.push(String(status)) > 0, onPart, onComplete: () => log.push('end') },
        isHead,
      );
      for (const byte of bytewise(text)) expect(reader.read(Buffer.from(byte))).toBe(true);
      expect(reader.isIdle).toBe(true);
    }
    expect(log).toEqual(['200', 'a', 'end', '200', 'end', '200', 'b', 'end']);
    expect(reader.read(Buffer.from('x'))).toBe(false);
  });
});

/** The answer that Node's parser reads from the same bytes; null when it does not find a whole answer. */
function seenByNode(text: string, isHead: boolean): Promise<Pick<Seen, 'start' | 'body'> | null> {
  return new Promise((resolve) => {
    const socket = new Duplex({ read: () => undefined, write: (_, __, done) => done() });
    let hasAnswer = false;
    const sent: ClientRequest = http.request(
      { createConnection: () => socket, method: isHead ? 'HEAD' : 'GET' },
      (answer) => {
        hasAnswer = true;
        let body = '';
        answer.on('data', (part: Buffer) => {
          body += part.toString('latin1');
        });
        answer.on('error', () => undefined);
        answer.on('close', () => {
          const lines = answer.rawHeaders.map((each, at) => (at % 2 === 0 ? each.toLowerCase() : each));
          const start = { status: answer.statusCode ?? 0, lines, bytes: null };
          resolve(answer.complete ? { start, body } : null);
          socket.destroy();
        });
      },
    );
    sent.on('error', () => undefined).on('upgrade', () => resolve(null));
    sent.on('close', () => {
      if (!hasAnswer) resolve(null);
    });
    sent.end();
    socket.push(Buffer.from(text, 'latin1'));
    socket.push(null);
  });
}

const oneOf = (...all: string[]) => fc.constantFrom(...all);
const HEADER = oneOf(
  ...[
    'Content-Length: 5',
    'Content-Length: 5',
    'Content-Length: 0',
    'content-length: 05',
    'Content-Length: 5, 5',
  ],
  ...['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked', 'transfer-encoding: CHUNKED'],
  ...['Transfer-Encoding: gzip, chunked', 'Transfer-Encoding: identity', 'Transfer-Encoding:\tchunked'],
  ...['Connection: close', 'Connection: keep-alive', 'X: y', 'X:', ' folded', 'X : y', 'a\tb: c', 'X: \xff'],
  ...['Content-Length: -1', 'Content-Length:', 'Content-Length: 5 5', 'X: a\nY: b', 'X: a\rY: b', ': x'],
);
const STATUS = oneOf(
  ...[
    'HTTP/1.1 200 OK',
    'HTTP/1.1 200 OK',
    'HTTP/1.1 200',
    'HTTP/1.1 204 No',
    'HTTP/1.1 304 No',
    'HTTP/1.0 200 OK',
  ],
  ...[
    'HTTP/1.1 100 C',
    'HTTP/1.1 101 S',
    'HTTP/1.1 099 x',
    'HTTP/1.1 999 x',
    'HTTP/1.2 200 OK',
    'ICY 200 OK',
  ],
);
const CHUNKS = oneOf(
  ...[
    '5\r\nhello\r\n',
    '5;a=b\r\nhello\r\n',
    '5;a="b c"\r\nhello\r\n',
    '005\r\nhello\r\n',
    '5 \r\nhello\r\n',
  ],
  ...[
    '0\r\n\r\n',
    '0\r\n\r\n',
    '0\r\nX: y\r\n\r\n',
    '0;x\r\n\r\n',
    '5\nhello\n',
    '5\r\nhelloX',
    'A\r\n0123456789\r\n',
    'g\r\n',
  ],
);
const BODY = fc.oneof(
  fc.constantFrom('hello', '', 'hell', 'hello!', '5\r\nhello\r\n0\r\n\r\n'),
  fc.array(CHUNKS, { maxLength: 4 }).map((all) => all.join('')),
);
const END = oneOf('\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\r\n');

/** Answers that are nearly right. */
const ANSWER = fc
  .record({
    head: fc.tuple(STATUS, END, fc.array(fc.tuple(HEADER, END), { maxLength: 4 }), END),
    body: BODY,
    after: oneOf('', '', '', 'x', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
    changed: fc.option(fc.tuple(fc.nat(), fc.nat(255)), { freq: 3 }),
    cut: fc.option(fc.nat(), { freq: 3 }),
  })
  .map(({ head: [status, end, headers, last], body, after, changed, cut }) => {
    let text = `${status}${end}${headers.map((pair) => pair.join('')).join('')}${last}${body}${after}`;
    if (changed) {
      const at = changed[0] % text.length;
      text = text.slice(0, at) + String.fromCharCode(changed[1]) + text.slice(at + 1);
    }
    return cut === null ? text : text.slice(0, cut % (text.length + 1));
  });

/** Cuts a text at some places. */
const cutAt = (text: string, places: readonly number[]): string[] => {
  const sorted = [...new Set(places.map((each) => each % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...sorted]
    .map((from, at) => text.slice(from, sorted[at] ?? text.length))
    .filter((part) => part !== '');
};

const RUNS = Number(process.env.FUZZ_RUNS ?? 3_000);

describe('any bytes', () => {
  test('are parsed equally however they are split', () => {
    fc.assert(
      fc.property(ANSWER, fc.array(fc.nat(), { maxLength: 6 }), fc.boolean(), (text, places, isHead) => {
        const whole = seen([text], isHead);
        expect(seen(cutAt(text, places), isHead)).toEqual(whole);
        expect(seen(bytewise(text), isHead)).toEqual(whole);
      }),
      { numRuns: RUNS },
    );
  });

  test('are parsed equally by Node when they form a complete response', async () => {
    let whole = 0;
    await fc.assert(
      fc.asyncProperty(ANSWER, fc.boolean(), async (text, isHead) => {
        const { start, body, isComplete } = seen([text], isHead);
        if (!isComplete || start === null) return;
        whole += 1;
        const { status, lines } = start;
        expect(await seenByNode(text, isHead)).toEqual({ start: { status, lines, bytes: null }, body });
      }),
      { numRuns: RUNS },
    );
    expect(whole).toBeGreaterThan(RUNS / 200);
  });

  test('never throw', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 8 }), (parts) => {
        seen(parts.map((part) => Buffer.from(part).toString('latin1')));
      }),
    );
  });
});

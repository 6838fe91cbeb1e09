// Goal: the table of docs/compatibility.md names exactly the clients that its script tries, in the script's order, and the
// script lets no client reach anything but the server.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../support/source.ts';

interface Client {
  readonly name: string;
  readonly kind: string;
  readonly packages: readonly string[];
}
interface Table {
  namesIn(page: string): string[];
  pageWith(page: string, rows: readonly (readonly string[])[]): string;
  rowOf(client: { readonly name: string }, found: object): string[];
}

/** The script is JavaScript, so that it runs without a build. */
const load = async <T>(name: string): Promise<T> => (await import(join(ROOT, 'test/compat', name))) as T;
const { CLIENTS } = await load<{ CLIENTS: readonly Client[] }>('clients.mjs');
const { LIBRARIES } = await load<{ LIBRARIES: object }>('libraries.mjs');
const { namesIn, pageWith, rowOf } = await load<Table>('table.mjs');

interface Isolated {
  askedName(query: Buffer): string;
  interfacesBeyond(routes: string, routes6: string): string[];
  isolatedCommand(resolvFile: string, program: readonly string[]): [string, ...string[]];
}
interface Frames {
  opcodeReader(onOpcode: (opcode: number) => void): (chunk: Buffer) => void;
}
const { askedName, interfacesBeyond, isolatedCommand } = await load<Isolated>('isolated.mjs');
const { opcodeReader } = await load<Frames>('frames.mjs');

const page = readFileSync(join(ROOT, 'docs/compatibility.md'), 'utf8');
const FOUND = {
  ...{ ready: true, guild: true, answer: true, again: true, command: true, button: true, voice: null },
  ...{ returned: 'resumed', offline: 'at once', notes: [] as string[] },
};

test('the page has a row for every client of the script, and for no other', () => {
  expect(namesIn(page)).toEqual(CLIENTS.map(({ name }) => name));
});

test('the table of systems has all nine, and names tests that exist', () => {
  const rows = page.slice(page.indexOf('## What is served')).match(/^\| (?!system|---).*$/gm) ?? [];
  expect(rows).toHaveLength(9);
  const named = rows.flatMap((row) => row.match(/test\/[\w./]+\.test\.ts/g) ?? []);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('every client has a bot, and every package a version', () => {
  for (const { kind, packages } of CLIENTS) {
    if (kind !== 'discordpy') expect(Object.keys(LIBRARIES)).toContain(kind);
    for (const name of packages) expect(name).toMatch(/.@\d+(\.\d+){0,2}$/);
  }
});

describe('a row', () => {
  test.each([
    ['nothing failed', FOUND, 'yes'],
    ['voice works too', { ...FOUND, voice: true }, 'yes'],
    ['voice failed', { ...FOUND, voice: false }, 'except voice'],
    ['a button failed', { ...FOUND, button: false, voice: false }, 'except buttons, voice'],
    ['the library knows no commands', { ...FOUND, command: null, button: null }, 'yes'],
    ['it fell silent after a cut', { ...FOUND, again: false }, 'no'],
  ])('says whether a client works, when %s', (_, found, works) => {
    expect(rowOf({ name: 'any' }, found)[1]).toBe(works);
  });

  test('stays one row of ten cells whatever a library says', () => {
    const row = rowOf({ name: 'any' }, { ...FOUND, notes: ['a | b\n<c>'] });
    const made = pageWith(page, [row]);
    expect(namesIn(made)).toEqual(['any']);
    expect(made).toContain(
      '| any | yes | yes | yes | yes | yes | yes, resumed | at once | – | a \\| b &lt;c> |',
    );
  });
});

test('a page keeps what stands around its table', () => {
  const made = pageWith(page, [rowOf({ name: 'any' }, FOUND)]);
  expect(pageWith(made, [])).toBe(pageWith(page, []));
  expect(() => pageWith('no place for it', [])).toThrow('lacks');
});

/** A frame as clients send it, masked. */
function masked(type: number, data: Buffer): Buffer {
  const mask = Buffer.from([7, 99, 200, 31]);
  const short = data.length < 126;
  const head = short
    ? [0x80 | type, 0x80 | data.length]
    : [0x80 | type, 0xfe, data.length >> 8, data.length & 255];
  return Buffer.concat([Buffer.from(head), mask, data.map((byte, at) => byte ^ mask[at % 4]!) as Buffer]);
}

describe('what a client says to the gateway', () => {
  const UPGRADE = Buffer.from('GET /?v=10 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n');
  const json = (op: number, more = '') => Buffer.from(JSON.stringify({ d: { op: 99, more }, op }));
  // A map of one key, `op`, as a small integer and as one of 32 bits.
  const etf = (...value: number[]) =>
    Buffer.from([131, 116, 0, 0, 0, 1, 109, 0, 0, 0, 2, 111, 112, ...value]);

  test('is read from JSON and ETF, however it is cut into pieces', () => {
    const opcodes: number[] = [];
    const read = opcodeReader((opcode) => opcodes.push(opcode));
    const frames = [
      masked(1, json(2, 'long'.repeat(100))),
      masked(2, etf(97, 6)),
      masked(2, etf(98, 0, 0, 0, 1)),
      masked(8, Buffer.from([3, 232])),
    ];
    for (const byte of Buffer.concat([UPGRADE, ...frames])) read(Buffer.from([byte]));
    expect(opcodes).toEqual([2, 6, 1]);
  });

  test('is not looked for in requests', () => {
    const opcodes: number[] = [];
    const read = opcodeReader((opcode) => opcodes.push(opcode));
    read(Buffer.from('POST /api HTTP/1.1\r\nHost: x\r\n\r\n'));
    read(masked(1, json(2)));
    expect(opcodes).toEqual([]);
  });
});

describe('a client under trial', () => {
  const TITLE = 'Iface\tDestination\tGateway\n';

  test('is started only where no route leads off this machine', () => {
    const loopback = `${'0'.repeat(32)} 00 ${'0'.repeat(32)} 00 ${'0'.repeat(32)} ffffffff 1 0 200200 lo\n`;
    expect(interfacesBeyond(TITLE, loopback)).toEqual([]);
    expect(interfacesBeyond(`${TITLE}eth0\t00000000\t0100000A\n`, loopback)).toEqual(['eth0']);
    expect(interfacesBeyond(TITLE, loopback.replace(' lo', ' wlan0'))).toEqual(['wlan0']);
  });

  test('has the names noted that it asks for', () => {
    const labels = Buffer.from('\x07Gateway\x07example\x00\x00\x01\x00\x01', 'latin1');
    expect(askedName(Buffer.concat([Buffer.alloc(12), labels]))).toBe('gateway.example');
    expect(askedName(Buffer.alloc(12))).toBe('');
    expect(askedName(Buffer.concat([Buffer.alloc(12), Buffer.from([255, 65])]))).toBe('a');
  });

  describe('in its namespace', () => {
    let folder: string;
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'guildhall-isolated-'));
      writeFileSync(join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\n');
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));
    const run = (program: readonly string[]) => {
      const [command, ...args] = isolatedCommand(join(folder, 'resolv.conf'), program);
      return spawnSync(command, args, { encoding: 'utf8', timeout: 60_000 });
    };

    test('reaches loopback, no other address and no other resolver', (context) => {
      const probe = run(['true']);
      if (probe.status !== 0) context.skip(`Namespaces are not allowed here: ${probe.error ?? probe.stderr}`);
      const script = `
        const { connect, createServer } = require('node:net');
        const tryOne = (port, host) => new Promise((done) => {
          const socket = connect({ port, host, timeout: 5000 }, () => done('connected'));
          socket.on('error', ({ code }) => done(code)).on('timeout', () => done('timeout'));
        });
        const server = createServer().listen(0, '127.0.0.1', async () => {
          const { port } = server.address();
          const found = [await tryOne(port, '127.0.0.1'), await tryOne(443, '192.0.2.1')];
          console.log(found.join(' '), require('node:dns').getServers().join(' '));
          process.exit();
        });`;
      expect(run([process.execPath, '-e', script]).stdout).toBe('connected ENETUNREACH 127.0.0.1\n');
    });
  });
});

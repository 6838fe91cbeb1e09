// Goal: pages reach the RPC of this machine over WebSocket in JSON and in ETF, and what is in neither ends the connection.
import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { RPC_CLOSE, RPC_OP } from '../../../protocol/rpc.ts';
import type { RpcConnection, RpcTransport } from '../../../sdk/rpc/host.ts';
import { serveWeb } from '../../../sdk/rpc/index.ts';
import { Room } from '../../../sdk/rpc/room.ts';
import { decodeEtf } from '../../../transports/gateway/codec/etf.decode.ts';
import { encodeEtf } from '../../../transports/gateway/codec/etf.encode.ts';
import { readEtf, writeEtf } from '../../support/codec-client.ts';

/** Answers each frame with what it has received. */
const echo = (transport: RpcTransport): RpcConnection => ({
  receive: (op, data) => transport.send(RPC_OP.FRAME, { op, data }),
  close: (code, message) => transport.send(RPC_OP.CLOSE, { code, message }),
  lost: () => undefined,
});

let web: Awaited<ReturnType<typeof serveWeb>>;
beforeAll(async () => {
  const room = new Room({
    ...{ selfId: () => null, nowMs: () => 0, settings: () => undefined },
    ...{ speaking: () => undefined, connection: () => undefined },
  });
  const etf = { encode: encodeEtf, decode: decodeEtf };
  web = await serveWeb(echo, { origin: 'http://server.test', room }, etf);
});
afterAll(() => web?.close());

const open = async (encoding: string) => {
  if (web === null) expect.unreachable('All ports from 6463 to 6472 are in use.');
  const socket = new WebSocket(`ws://127.0.0.1:${web.port}/?v=1&client_id=1&encoding=${encoding}`);
  const [first] = await once(socket, 'message');
  return { socket, first: first as Buffer };
};

describe('a request', () => {
  /** Bytes that arrive until the connection ends; the path is sent as it is, as browsers do. */
  async function asked(lines: string, host = '127.0.0.1'): Promise<string> {
    if (web === null) expect.unreachable('All ports from 6463 to 6472 are in use.');
    const socket = connect(web.port, '127.0.0.1');
    let text = '';
    socket.on('data', (bytes) => (text += String(bytes)));
    socket.end(`${lines}\r\nHost: ${host}:${web.port}\r\nOrigin: https://evil.example\r\n\r\n`);
    await once(socket, 'close');
    return text;
  }
  const UPGRADE =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==';

  test.each(['//[', '//%', 'http://[', '//a:b', '*'])(
    'ends its connection for the malformed target %s, and the server continues',
    async (path) => {
      expect(await asked(`GET ${path} HTTP/1.1\r\n${UPGRADE}`)).toMatch(/^(HTTP\/1\.1 101 .*)?$/s);
      expect(await asked(`POST ${path} HTTP/1.1\r\nContent-Length: 0`)).toMatch(/^(HTTP\/1\.1 40[04] .*)?$/s);
      const { socket } = await open('json');
      socket.close();
    },
  );

  test('is refused to another host: its name may point to this machine', async () => {
    expect(await asked(`GET / HTTP/1.1\r\n${UPGRADE}`, 'evil.example')).toBe('');
    expect(await asked('POST /rpc HTTP/1.1\r\nContent-Length: 0', 'evil.example')).toMatch(
      /^HTTP\/1\.1 404 /,
    );
    expect(await asked(`GET / HTTP/1.1\r\n${UPGRADE}`, 'localhost')).toMatch(/^HTTP\/1\.1 101 /);
  });
});

describe('a WebSocket in ETF', () => {
  test('starts with the same handshake as one in JSON', async () => {
    const [etf, json] = [await open('etf'), await open('json')];
    expect(readEtf(etf.first)).toEqual(JSON.parse(String(json.first)));
    for (const { socket } of [etf, json]) socket.close();
  });

  test('passes every command both ways', async () => {
    const { socket } = await open('etf');
    const args = fc.dictionary(fc.stringMatching(/^[a-z_]{1,10}$/), fc.oneof(fc.string(), fc.boolean()));
    await fc.assert(
      fc.asyncProperty(args, async (given) => {
        const command = { cmd: 'SET_ACTIVITY', nonce: 'n', args: { ...given } };
        socket.send(writeEtf(command));
        const [data] = await once(socket, 'message');
        expect(readEtf(data as Buffer)).toEqual({ op: RPC_OP.FRAME, data: command });
      }),
      { numRuns: 100 },
    );
    socket.close();
  });

  test.each([
    ['text', 'etf', '{}'],
    ['a malformed term', 'etf', Buffer.from([131, 116, 255])],
    ['bytes in JSON', 'json', Buffer.from('{}')],
  ])('ends with %s', async (_, encoding, frame) => {
    const { socket } = await open(encoding);
    socket.send(frame);
    expect((await once(socket, 'close'))[0]).toBe(RPC_CLOSE.UNSUPPORTED);
  });
});

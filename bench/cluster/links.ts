import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { fileURLToPath } from 'node:url';
import { Client, credentials } from '@grpc/grpc-js';
import type { ShardInfo } from '../../actors/placement/ports.ts';
import { systemClock } from '../../actors/runtime/clock.ts';
import { createCodec } from '../../transports/cluster/codec.ts';
import { createLinks } from '../../transports/cluster/links.ts';
import { payloadOf } from '../../transports/cluster/packets.ts';
import { progressLines } from '../progress.ts';
import { until } from './arena.ts';
import {
  answersIn,
  CONTENDERS,
  type Contender,
  ECHO_SERVICE,
  linkOptions,
  REQUEST_BYTES,
} from './echoing.ts';

/** Sends a request; resolves when it is answered. */
type Ask = () => Promise<unknown>;

interface Asker {
  readonly ask: Ask;
  close(): void;
}

const ARGS = ['createMessage', { content: 'x'.repeat(120), flags: 0, nonce: '139000000000000', tts: false }];
const CONTEXT = {
  key: '1390000000000000001',
  deadlineMs: 5000,
  commandKey: '0011223344.17',
  trace: '0011223344.17',
};

const CONNECT: Readonly<Record<Contender, (port: number) => Promise<Asker>>> = {
  http2: askHttp2,
  'grpc unary': askGrpcUnary,
  'grpc stream': askGrpcStream,
  'link 1': (port) => askLink(port, 1),
  'link 2': (port) => askLink(port, 2),
};

const ANSWERER: ShardInfo = {
  ...{ id: 'answerer', instance: 'answerer-1', version: '0', address: '', adminUrl: null, host: '' },
  ...{ pid: 1, weight: 1, worker: 0, startedMs: 0, draining: false },
};

/** Requests that wait for answers, which come in their order. */
function inOrder() {
  const waiting: (() => void)[] = [];
  let answers = 0;
  return {
    wait: () => new Promise<void>((resolve) => waiting.push(resolve)),
    answered(bytes: Buffer) {
      // An answer may arrive in two parts.
      answers += answersIn(bytes);
      const whole = Math.floor(answers + 1e-9);
      answers -= whole;
      for (const resolve of waiting.splice(0, whole)) resolve();
    },
  };
}

async function askHttp2(port: number): Promise<Asker> {
  const session = connect(`http://127.0.0.1:${port}`);
  const stream = session.request({ ':method': 'POST', ':path': '/' }, { endStream: false });
  const { wait, answered } = inOrder();
  stream.on('data', (bytes: Buffer) => answered(bytes));
  const ask = () => {
    stream.write(Buffer.alloc(REQUEST_BYTES, 1));
    return wait();
  };
  return { ask, close: () => session.destroy() };
}

async function askGrpcUnary(port: number): Promise<Asker> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = ECHO_SERVICE.Ask;
  const ask = () =>
    new Promise((resolve, reject) => {
      const deadline = Date.now() + 5000;
      client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        Buffer.alloc(REQUEST_BYTES, 1),
        { deadline },
        (error, answer) => (error ? reject(error) : resolve(answer)),
      );
    });
  return { ask, close: () => client.close() };
}

async function askGrpcStream(port: number): Promise<Asker> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = ECHO_SERVICE.Exchange;
  const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
  const { wait, answered } = inOrder();
  stream.on('data', answered);
  stream.on('error', () => undefined);
  const ask = () => {
    stream.write(Buffer.alloc(REQUEST_BYTES, 1));
    return wait();
  };
  return { ask, close: () => client.close() };
}

async function askLink(port: number, newest: number): Promise<Asker> {
  const links = await createLinks(linkOptions('asker', newest, systemClock));
  links.follow([{ ...ANSWERER, address: `127.0.0.1:${port}` }]);
  await until('linked', 10_000, () => links.metrics().peers[0]?.connected === true);
  return {
    ask: () => links.ask('answerer', 'guild.command', ARGS, CONTEXT),
    close: () => void links.close(),
  };
}

async function spend(ask: Ask, requests: number, atOnce: number): Promise<void> {
  let left = requests;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      await ask();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

function cpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function childCpuUs(child: ChildProcess): Promise<number> {
  child.send('cpu');
  const [message] = await once(child, 'message');
  return Number(message.cpuUs);
}

/** CPU time of both processes per request, µs. */
async function costUs(contender: Contender, requests: number, atOnce: number): Promise<number> {
  const child = fork(fileURLToPath(new URL('echo.js', import.meta.url)), [contender]);
  const [message] = await once(child, 'message');
  const { ask, close } = await CONNECT[contender](Number(message.port));
  await spend(ask, requests / 4, atOnce);
  const before = cpuUs() + (await childCpuUs(child));
  await spend(ask, requests, atOnce);
  const spentUs = cpuUs() + (await childCpuUs(child)) - before;
  close();
  child.disconnect();
  await once(child, 'exit');
  return spentUs / requests;
}

/** CPU time of packing and reading one request and its answer, without any connection, µs. */
function codecUs(requests: number): number {
  const codec = createCodec();
  const question = { ...CONTEXT, method: 'guild.command', args: ARGS };
  const once = (id: number) => {
    const { frames } = codec.unpackBatch(
      payloadOf(codec.packBatch(id, [codec.encodeQuestion(1, id, question)])),
    );
    const answer = codec.encodeAnswer({ ok: true, value: ARGS[1] });
    const { replies } = codec.unpackReplies(payloadOf(codec.packReplies(id, [{ id, answer }])));
    codec.unpackAnswer(replies[0]?.answer ?? answer);
    return frames;
  };
  for (let id = 0; id < requests / 4; id += 1) once(id);
  const before = cpuUs();
  for (let id = 0; id < requests; id += 1) once(id);
  return (cpuUs() - before) / requests;
}

const medianOf = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** CPU time per request of links and of their parts, in interleaved rounds, with the median and the extremes of each, µs. */
export async function measureLinks(options: { readonly requests: number; readonly rounds: number }) {
  const { requests, rounds } = options;
  const costs = new Map<string, number[]>();
  const add = (name: string, us: number) => costs.set(name, [...(costs.get(name) ?? []), us]);
  const progress = progressLines();
  for (let round = 0; round < rounds; round += 1) {
    progress.update({ phase: 'rounds', done: round, of: rounds });
    add('codec', codecUs(requests));
    for (const atOnce of [1, 64])
      for (const contender of CONTENDERS)
        add(`${contender}, ${atOnce} at once`, await costUs(contender, requests, atOnce));
  }
  const round = (value: number) => Number(value.toFixed(1));
  return Object.fromEntries(
    [...costs].map(([name, all]) => [
      name,
      { medianUs: round(medianOf(all)), fromUs: round(Math.min(...all)), toUs: round(Math.max(...all)) },
    ]),
  );
}

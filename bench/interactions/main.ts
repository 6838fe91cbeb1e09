// Interactions under load: people use a command of a bot on the gateway and one of a bot behind an HTTP endpoint, in turn. The same
// server is then sent as many messages, for comparison. `npm run bench:interactions -- --rate 1000 --seconds 10`.
import { type ChildProcess, spawn } from 'node:child_process';
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openSession, post, type Session } from './client.ts';

interface Bot {
  readonly id: string;
  readonly token: string;
  readonly application_id: string;
}

interface Info {
  readonly api: string;
  readonly gateway: string;
  readonly bots: readonly [Bot, Bot];
  readonly users: readonly { readonly id: string; readonly token: string }[];
  readonly guild: { readonly id: string; readonly text_channel_id: string };
}

interface Command {
  readonly id: string;
  readonly version: string;
  readonly applicationId: string;
}

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '10' },
    warm: { type: 'string', default: '15' },
    'database-url': { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const RATE = Number(values.rate);
const SECONDS = Number(values.seconds);
/** Warm-up: its duration, and a rate that a cold server can follow. */
const WARM_SECONDS = Number(values.warm);
const WARM_RATE = Math.min(RATE, 200);
/** A clock tick of the kernel's accounting. */
const TICK_MS = 10;
const SETTLE_MS = 4_000;
const STEP_MS = 5;

async function startServer(): Promise<{ readonly info: Info; readonly child: ChildProcess }> {
  const cli = fileURLToPath(new URL('../../cli.js', import.meta.url));
  const argv = ['dev', '--json', '--port', '0', '--bots', '2', '--no-rate-limits', '--log-level', 'error'];
  const database = values['database-url'];
  if (database !== undefined) argv.push('--set', `database_url=${database}`);
  // As `npm start` starts it.
  const child = spawn(process.execPath, ['--max-semi-space-size=64', cli, ...argv], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout }))
    if (line.startsWith('{')) return { info: JSON.parse(line), child };
  throw new Error('The server did not start.');
}

/** CPU time of a process, user and system. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Times between two events of one key. */
class Spans {
  readonly #begun = new Map<string, number>();
  readonly lasted: number[] = [];

  begin(key: string): void {
    this.#begun.set(key, performance.now());
  }

  end(key: string): void {
    const atMs = this.#begun.get(key);
    if (atMs === undefined) return;
    this.#begun.delete(key);
    this.lasted.push(performance.now() - atMs);
  }

  clear(): void {
    this.#begun.clear();
    this.lasted.length = 0;
  }

  get open(): number {
    return this.#begun.size;
  }

  figures(): { readonly p50: number; readonly p99: number; readonly max: number } {
    const sorted = this.lasted.sort((a, b) => a - b);
    const at = (share: number) =>
      Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2));
    return { p50: at(0.5), p99: at(0.99), max: at(1) };
  }
}

/** Calls `send` at an even rate and does not wait for results. @returns how many calls were made. */
async function atRate(send: (n: number) => void, rate = RATE, seconds = SECONDS): Promise<number> {
  const beganMs = performance.now();
  let sent = 0;
  for (;;) {
    const elapsedMs = Math.min(performance.now() - beganMs, seconds * 1000);
    for (; sent < Math.floor((elapsedMs * rate) / 1000); sent += 1) send(sent);
    if (elapsedMs >= seconds * 1000) return sent;
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
}

const received = new Spans();
const answered = new Spans();
const counts = { refused: 0, failed: 0, succeeded: 0 };

/** The bot on the gateway: it answers with a callback. */
const startGatewayBot = ({ api, gateway, bots: [bot] }: Info): Promise<Session> =>
  openSession(gateway, bot.token, (t, d) => {
    if (t !== 'INTERACTION_CREATE') return;
    const [id, token] = [String(d.id), String(d.token)];
    received.end(nonceOf(d));
    answered.begin(id);
    const url = `${api}/v10/interactions/${id}/${token}/callback`;
    post(url, { type: 4, data: { content: 'pong' } }).catch(() => undefined);
  });

/** The value of the first option is the request's nonce, by which both ends know it. */
function nonceOf(d: Readonly<Record<string, unknown>>): string {
  const key = /"value":"(\d+)"/.exec(JSON.stringify(d.data));
  return key?.[1] ?? '';
}

/** The bot behind an endpoint: it answers in the response. */
async function startEndpointBot(info: Info): Promise<Server> {
  const {
    api,
    bots: [, bot],
  } = info;
  const key = await keyOf(info, bot.token);
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const bytes = Buffer.concat(parts);
      const d: Readonly<Record<string, unknown>> = JSON.parse(bytes.toString());
      response.setHeader('content-type', 'application/json');
      if (d.type === PING) {
        response.statusCode = isSigned(request, bytes, key) ? 200 : 401;
        return void response.end('{"type":1}');
      }
      received.end(nonceOf(d));
      answered.begin(String(d.id));
      response.end(JSON.stringify({ type: 4, data: { content: 'pong' } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : address;
  const reply = await fetch(`${api}/v10/applications/@me`, {
    method: 'PATCH',
    headers: { authorization: `Bot ${bot.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ interactions_endpoint_url: `http://127.0.0.1:${port}/` }),
  });
  if (!reply.ok) throw new Error(`The endpoint was refused: ${await reply.text()}`);
  return server;
}

const PING = 1;
/** DER prefix of a raw 32-byte Ed25519 key. */
const DER = Buffer.from('302a300506032b6570032100', 'hex');

/** Whether a request carries the application's signature. Only the URL checks are verified, to keep the load client cheap. */
function isSigned({ headers }: IncomingMessage, bytes: Buffer, key: KeyObject): boolean {
  const [signature, timestamp] = [headers['x-signature-ed25519'], headers['x-signature-timestamp']];
  const signed = Buffer.concat([Buffer.from(String(timestamp)), bytes]);
  return verify(null, signed, key, Buffer.from(String(signature), 'hex'));
}

async function keyOf({ api }: Info, token: string): Promise<KeyObject> {
  const reply = await fetch(`${api}/v10/applications/@me`, { headers: { authorization: `Bot ${token}` } });
  const { verify_key: key }: { readonly verify_key: string } = JSON.parse(await reply.text());
  return createPublicKey({ key: Buffer.concat([DER, Buffer.from(key, 'hex')]), format: 'der', type: 'spki' });
}

async function createCommand({ api }: Info, bot: Bot): Promise<Command> {
  const url = `${api}/v10/applications/${bot.application_id}/commands`;
  const options = [{ type: 3, name: 'key', description: 'Tells requests apart.' }];
  const reply = await post(url, { name: 'ping', description: 'Answers.', options }, `Bot ${bot.token}`);
  const { id, version }: Pick<Command, 'id' | 'version'> = JSON.parse(reply.body);
  return { id, version, applicationId: bot.application_id };
}

interface PersonSession extends Session {
  readonly token: string;
}

/** People whose sessions receive INTERACTION_SUCCESS and INTERACTION_FAILURE. */
const openPeople = ({ gateway, users }: Info): Promise<PersonSession[]> =>
  Promise.all(
    users.map(async ({ token }) => {
      const session = await openSession(gateway, token, (t, d) => {
        if (t === 'INTERACTION_FAILURE') counts.failed += 1;
        if (t === 'INTERACTION_SUCCESS') counts.succeeded += 1;
        if (t !== 'MESSAGE_CREATE') return;
        const { interaction_metadata: of } = d;
        if (typeof of === 'object' && of !== null && 'id' in of) answered.end(String(of.id));
      });
      return { ...session, token };
    }),
  );

async function main(): Promise<void> {
  const { info, child } = await startServer();
  const { pid = 0 } = child;
  try {
    const commands = await Promise.all(info.bots.map((bot) => createCommand(info, bot)));
    const endpoint = await startEndpointBot(info);
    const bot = await startGatewayBot(info);
    const people = await openPeople(info);
    const { id: guildId, text_channel_id: channelId } = info.guild;
    const invoke = (n: number): void => {
      const command = commands[n % 2];
      const person = people[(n >> 1) % people.length];
      if (!command || !person) return;
      const { id, version, applicationId } = command;
      const key = String(n);
      const data = { id, version, name: 'ping', type: 1, options: [{ type: 3, name: 'key', value: key }] };
      received.begin(key);
      const body = {
        ...{ type: 2, application_id: applicationId, guild_id: guildId, channel_id: channelId },
        ...{ session_id: person.id, nonce: key, data },
      };
      post(`${info.api}/v10/interactions`, body, `Bearer ${person.token}`).then(
        ({ status }) => {
          if (status !== 204) counts.refused += 1;
        },
        () => {
          counts.refused += 1;
        },
      );
    };
    const warmed = await atRate(invoke, WARM_RATE, WARM_SECONDS);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    received.clear();
    answered.clear();
    Object.assign(counts, { refused: 0, failed: 0, succeeded: 0 });
    const before = cpuMs(pid);
    const sent = await atRate((n) => invoke(warmed + n));
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const interactionCpuMs = (cpuMs(pid) - before) / sent;
    const messageCpuMs = await messagesBeside(info, pid, `${info.api}/v10/channels/${channelId}/messages`);
    report({ sent, interactionCpuMs, messageCpuMs });
    for (const one of [bot, ...people]) one.close();
    endpoint.closeAllConnections();
    endpoint.close();
  } finally {
    child.kill('SIGTERM');
  }
}

/** CPU of one message at the same rate, for the same server. */
async function messagesBeside({ bots: [bot] }: Info, pid: number, url: string): Promise<number> {
  const before = cpuMs(pid);
  const sent = await atRate(
    () => void post(url, { content: 'pong' }, `Bot ${bot.token}`).catch(() => undefined),
  );
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  return (cpuMs(pid) - before) / sent;
}

function report(figures: {
  readonly sent: number;
  readonly interactionCpuMs: number;
  readonly messageCpuMs: number;
}): void {
  const all = {
    ...{ rate: RATE, seconds: SECONDS, ...figures, ...counts },
    invocation_to_application_ms: received.figures(),
    callback_to_message_ms: answered.figures(),
    unanswered: answered.open + received.open,
  };
  process.stdout.write(`${JSON.stringify(all, null, values.json ? 0 : 2)}\n`);
}

await main();
process.exit(0);

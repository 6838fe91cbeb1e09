import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { DaveDelivery, DaveEffect } from '../../../media/dave/delivery.ts';
import { openDaveDelivery } from '../../../media/dave/group.ts';
import { VOICE_OP } from '../../../protocol/voice.ts';
import { DaveyClient, type Down, FRAME, GROUP_ID, type Up, user } from './daveycall.ts';

/*
 * How long a newcomer to a large call waits for its first decrypted frame: `tsc --outDir dist/fuzz && node dist/fuzz/test/media/dave/join.bench.js --members 50`.
 *
 * Every client is on a machine of its own in truth, so here each has a clock of its own: what it and the server compute is
 * measured, messages arrive when their sender is done, and the network in between takes no time. The figures are what the
 * protocol and the server add to the round trips.
 */
type Event = { readonly atMs: number; readonly client: DaveyClient } & (
  | { readonly up: Up; readonly down?: never }
  | { readonly down: Down; readonly up?: never }
);

class Scene {
  readonly clients = new Map<string, DaveyClient>();
  readonly delivery: DaveDelivery;
  serverCpuMs = 0;
  private events: Event[] = [];
  private readonly busyUntilMs = new Map<DaveyClient | null, number>();

  constructor() {
    this.delivery = openDaveDelivery({ groupId: GROUP_ID, required: true, transitionMs: 2000, randomBytes });
  }

  /** Runs at `atMs`, or when its client is free; null: the server. @returns when it is done. */
  work(who: DaveyClient | null, atMs: number, run: (nowMs: number) => void): number {
    const startMs = Math.max(atMs, this.busyUntilMs.get(who) ?? 0);
    const before = performance.now();
    run(startMs);
    const costMs = performance.now() - before;
    if (who === null) this.serverCpuMs += costMs;
    this.busyUntilMs.set(who, startMs + costMs);
    return startMs + costMs;
  }

  serve(atMs: number, input: (nowMs: number) => readonly DaveEffect[]): number {
    let effects: readonly DaveEffect[] = [];
    const doneMs = this.work(null, atMs, (nowMs) => {
      effects = input(nowMs);
    });
    for (const effect of effects) {
      if (effect.type === 'close') throw new Error(`closed: ${effect.reason}`);
      if (effect.type === 'counted') continue;
      for (const userId of effect.to) this.send(userId, doneMs, effect);
    }
    return doneMs;
  }

  private send(userId: string, atMs: number, effect: DaveEffect): void {
    const client = this.clients.get(userId);
    if (client === undefined) return;
    if (effect.type === 'json')
      this.down(client, atMs, { kind: 'json', op: effect.op, d: effect.d as Record<string, unknown> });
    if (effect.type === 'binary')
      this.down(client, atMs, { kind: 'binary', op: effect.op, payload: Buffer.from(effect.payload) });
  }

  down(client: DaveyClient, atMs: number, down: Down): void {
    this.events.push({ atMs, client, down });
  }

  join(userId: string, atMs: number): DaveyClient {
    const others = [...this.clients.keys()];
    const client = new DaveyClient(userId);
    const d = { user_ids: [userId] };
    for (const other of this.clients.values())
      this.down(other, atMs, { kind: 'json', op: VOICE_OP.CLIENTS_CONNECT, d });
    this.clients.set(userId, client);
    this.down(client, atMs, { kind: 'json', op: VOICE_OP.CLIENTS_CONNECT, d: { user_ids: others } });
    const description = { dave_protocol_version: this.delivery.version };
    this.down(client, atMs, { kind: 'json', op: VOICE_OP.SESSION_DESCRIPTION, d: description });
    this.serve(atMs, (nowMs) => this.delivery.join(userId, 1, nowMs));
    return client;
  }

  leave(userId: string, atMs: number): void {
    this.clients.delete(userId);
    for (const other of this.clients.values())
      this.down(other, atMs, { kind: 'json', op: VOICE_OP.CLIENT_DISCONNECT, d: { user_id: userId } });
    this.serve(atMs, (nowMs) => this.delivery.leave(userId, nowMs));
  }

  /** Takes the next event or time-out in order of time. @returns its client and when it was done with; null: all is done. */
  step(): { readonly client: DaveyClient | null; readonly doneMs: number } | null {
    let first = 0;
    for (const [index, event] of this.events.entries())
      if (event.atMs < (this.events[first]?.atMs ?? Infinity)) first = index;
    const event = this.events[first];
    const { deadlineMs } = this.delivery;
    if (deadlineMs !== null && deadlineMs <= (event?.atMs ?? Infinity))
      return { client: null, doneMs: this.serve(deadlineMs, (nowMs) => this.delivery.tick(nowMs)) };
    if (event === undefined) return null;
    this.events.splice(first, 1);
    const { client, up, down } = event;
    if (up !== undefined) return { client: null, doneMs: this.receive(client, event.atMs, up) };
    const doneMs = this.work(client, event.atMs, () => client.handle(down));
    for (const message of client.up.splice(0)) this.events.push({ atMs: doneMs, client, up: message });
    return { client, doneMs };
  }

  private receive({ userId }: DaveyClient, atMs: number, up: Up): number {
    if ('payload' in up)
      return this.serve(atMs, (nowMs) => this.delivery.received(userId, up.op, up.payload, nowMs));
    return up.op === VOICE_OP.DAVE_TRANSITION_READY
      ? this.serve(atMs, (nowMs) => this.delivery.transitionReady(userId, up.id, nowMs))
      : this.serve(atMs, (nowMs) => this.delivery.invalidCommitWelcome(userId, up.id, nowMs));
  }

  /** Runs until no message is in flight. @returns when the last one was handled. */
  rest(): number {
    let lastMs = 0;
    for (let done = this.step(); done !== null; done = this.step()) lastMs = Math.max(lastMs, done.doneMs);
    return lastMs;
  }
}

/** Waits for `hearer` to open a frame of `speaker`, and for op 22. */
function firstFrame(scene: Scene, speaker: DaveyClient, hearer: DaveyClient): [number, number] {
  const doneMs = new Map<DaveyClient | null, number>();
  let openedMs = 0;
  while (openedMs === 0 || hearer.executed.length === 0) {
    const done = scene.step();
    if (done === null) throw new Error('the newcomer was not let in');
    doneMs.set(done.client, done.doneMs);
    if (openedMs > 0 || hearer.session?.ready !== true || speaker.group.epoch !== hearer.group.epoch)
      continue;
    const fromMs = Math.max(doneMs.get(speaker) ?? 0, doneMs.get(hearer) ?? 0);
    openedMs = scene.work(hearer, fromMs, () => hearer.open(speaker.userId, speaker.seal(FRAME)));
  }
  return [openedMs, doneMs.get(hearer) ?? 0];
}

function row(name: string, values: number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0).toFixed(1).padStart(8);
  return `${name.padEnd(34)}${at(0.5)}${at(0.99)}${at(1)}`;
}

const { values } = parseArgs({
  options: { members: { type: 'string', default: '50' }, joins: { type: 'string', default: '20' } },
});
const members = Math.min(200, Number(values.members));
const joins = Math.min(1000, Number(values.joins));
const scene = new Scene();
for (let index = 1; index < members; index++) scene.join(user(index), 0);
let nowMs = scene.rest();
const metrics: { frame: number[]; execute: number[]; server: number[] } = {
  frame: [],
  execute: [],
  server: [],
};
for (let join = 0; join < joins; join++) {
  nowMs += 1000;
  scene.serverCpuMs = 0;
  const speaker = [...scene.clients.values()][(join * 7) % (members - 1)];
  if (speaker === undefined) throw new Error('a call of one');
  const newcomer = scene.join(user(1000 + join), nowMs);
  const [openedMs, executedMs] = firstFrame(scene, speaker, newcomer);
  metrics.frame.push(openedMs - nowMs);
  metrics.execute.push(executedMs - nowMs);
  nowMs = Math.max(nowMs, scene.rest());
  metrics.server.push(scene.serverCpuMs);
  const [oldest] = scene.clients.keys();
  scene.leave(oldest ?? '', nowMs + 1000);
  nowMs = Math.max(nowMs + 1000, scene.rest());
}
console.log(`${joins} joins to a call of ${members}, milliseconds           p50     p99     max`);
console.log(row('join to the first decrypted frame', metrics.frame));
console.log(row('join to the executed transition', metrics.execute));
console.log(row('server CPU for the whole join', metrics.server));

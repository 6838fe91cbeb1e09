import { randomBytes } from 'node:crypto';
import { present } from '../../protocol/present.ts';
import { Latencies } from '../wire/histogram.ts';
import { nowNs, Pacer, runPaced } from '../wire/pace.ts';
import { UdpClient, type VoiceClient } from './client.ts';
import { MumbleClient } from './mumble.ts';
import type { LoadNews, LoadOrder, Seat, Size } from './orders.ts';

/** An Opus frame of 20 ms at 64 kbit/s. */
const PAYLOAD = randomBytes(160);
const HOST = '127.0.0.1';
const TRIES_MAX = 100;
/** A packet that has not arrived after this time counts as lost; the next one is sent. */
const LOST_MS = 100;
const SETTLE_MS = 200;

const say = (news: LoadNews): void => void process.send?.(news);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

type Done = Extract<LoadNews, { kind: 'done' }>;

function enter(
  { seal, port }: Extract<LoadOrder, { kind: 'gather' }>,
  { ssrc, key }: Seat,
): Promise<VoiceClient> {
  if (seal === 'mumble') return MumbleClient.open(port, ssrc);
  return UdpClient.open({ host: HOST, port, ssrc, seal, key: Buffer.from(key, 'hex') });
}

/** The clients of one contender: all its calls. */
class Room {
  readonly #clients: readonly VoiceClient[];
  /** One of each call in turn. */
  readonly #speakers: readonly VoiceClient[];
  /** Receivers of each packet. */
  readonly hearers: number;
  /** When each speaker sent the packet with a sequence number. */
  readonly #sentNs = new Map<number, Float64Array>();
  #latencies = new Latencies();
  #arrived = 0;
  #wake: (() => void) | null = null;
  #wakeAt = 0;
  #turn = 0;

  static async gather(order: Extract<LoadOrder, { kind: 'gather' }>): Promise<Room> {
    const clients: VoiceClient[] = [];
    for (const seat of order.seats) clients.push(await enter(order, seat));
    const room = new Room(clients, order.size);
    await room.#acquaint();
    return room;
  }

  private constructor(clients: readonly VoiceClient[], { calls, members, speakers }: Size) {
    this.#clients = clients;
    this.#speakers = Array.from({ length: calls * speakers }, (_, turn) =>
      present(clients[(turn % calls) * members + Math.floor(turn / calls)]),
    );
    this.hearers = members - 1;
    // Only speakers: the table of one takes 512 KiB.
    for (const { ssrc } of this.#speakers) this.#sentNs.set(ssrc, new Float64Array(2 ** 16));
    for (const client of clients) client.onPacket = (ssrc, sequence) => this.#came(ssrc, sequence);
  }

  /** All clients send until the server knows their addresses. */
  async #acquaint(): Promise<void> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      for (const client of this.#clients) client.say(PAYLOAD.subarray(0, 16));
      await sleep(SETTLE_MS);
      this.#arrived = 0;
      this.#say(nowNs());
      await sleep(SETTLE_MS);
      if (this.#arrived === this.hearers) return;
    }
    throw new Error('The members of a room do not hear each other.');
  }

  #came(ssrc: number, sequence: number): void {
    const sentNs = this.#sentNs.get(ssrc)?.[sequence] ?? 0;
    if (sentNs > 0) this.#latencies.record((nowNs() - sentNs) / 1000);
    this.#arrived += 1;
    if (this.#arrived >= this.#wakeAt) this.#wake?.();
  }

  #say(intendedNs: number): void {
    const speaker = present(this.#speakers[this.#turn % this.#speakers.length]);
    this.#turn += 1;
    present(this.#sentNs.get(speaker.ssrc))[speaker.sequence] = intendedNs;
    speaker.say(PAYLOAD);
  }

  #until(arrived: number): Promise<void> {
    if (this.#arrived >= arrived) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.(), LOST_MS);
      this.#wakeAt = arrived;
      this.#wake = () => {
        this.#wake = null;
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #run(packets: number, send: () => Promise<void>): Promise<Omit<Done, 'room'>> {
    this.#arrived = 0;
    this.#latencies = new Latencies();
    const expected = packets * this.hearers;
    await send();
    await this.#until(expected);
    const at = (percentile: number): number => this.#latencies.millisAt(percentile);
    return {
      kind: 'done',
      deliveries: this.#arrived,
      expected,
      p50Ms: at(50),
      p99Ms: at(99),
      maxMs: this.#latencies.maxMillis,
    };
  }

  heat(packets: number, window: number) {
    return this.#run(packets, async () => {
      for (let sent = 0; sent < packets; sent += 1) {
        await this.#until((sent - window + 1) * this.hearers);
        this.#say(nowNs());
      }
    });
  }

  pace(packets: number, perSecond: number) {
    const pacer = new Pacer({ perSecond, total: packets, startNs: nowNs() });
    return this.#run(packets, () => runPaced(pacer, (_, intendedNs) => this.#say(intendedNs)));
  }
}

const rooms = new Map<number, Room>();

async function carryOut(order: LoadOrder): Promise<void> {
  if (order.kind === 'gather') {
    rooms.set(order.room, await Room.gather(order));
    say({ kind: 'gathered', room: order.room });
    return;
  }
  const room = present(rooms.get(order.room));
  const done = await (order.kind === 'heat'
    ? room.heat(order.packets, order.window)
    : room.pace(order.packets, order.perSecond));
  say({ ...done, room: order.room });
}

process.on('message', (order: LoadOrder) => void carryOut(order));
process.on('disconnect', () => process.exit());

import { randomBytes } from 'node:crypto';
import { CommandError } from '../../cli/world.ts';
import { present } from '../../protocol/present.ts';
import { messageOf } from '../../protocol/thrown.ts';
import type { TransportMode } from '../../protocol/voice.ts';
import { requireServer } from '../answering.ts';
import { boundsOf, judged } from '../gateway/threshold.ts';
import { add, endedSessions, MORE, sumOf } from '../gateway/verdict.ts';
import { Latencies } from '../wire/histogram.ts';
import { guardHosts } from '../wire/loopback.ts';
import { nowNs, Pacer, runPaced } from '../wire/pace.ts';
import { type Pids, type Usage, usageOf } from '../wire/process.ts';
import { VoiceMember } from './member.ts';
import { headlineOf, VOICE_METRICS, type VoiceReport } from './report.ts';

export interface VoiceProgress {
  readonly phase: 'joining' | 'speaking';
  readonly done: number;
  readonly of: number;
}

export interface VoiceBenchOptions {
  readonly gateway: string;
  readonly api: string;
  /** One token for each member of each call. */
  readonly tokens: readonly string[];
  readonly guildId: string;
  readonly calls: number;
  readonly members: number;
  readonly speakers: number;
  readonly durationSeconds: number;
  readonly payloadBytes: number;
  readonly mode: TransportMode;
  readonly isSecure: boolean;
  readonly isOwnHost: boolean;
  /** Process ids of the server, if it runs on this machine. */
  readonly serverPid: Pids | null;
  readonly thresholds: readonly string[];
  readonly onProgress: (progress: VoiceProgress) => void;
}

const PACKETS_PER_SECOND = 50;
const GUILD_VOICE = 2;
const JOINING_AT_ONCE = 8;
const SETTLE_MS = 500;
const SEQUENCES = 2 ** 16;
const SECOND_NS = 1e9;
const PERCENTILES = [0, 10, 25, 50, 75, 90, 95, 98, 99, 99.5, 99.9, 99.95, 99.99];

/**
 * Fills calls through the complete signalling, lets speakers send 50 packets a second each, and follows every packet to every
 * member. Packets that do not arrive are lost; latencies start at the scheduled time of sending.
 *
 * @throws CommandError when the members cannot join their calls.
 */
export async function benchVoice(options: VoiceBenchOptions): Promise<VoiceReport> {
  const { calls, members, tokens } = options;
  guardHosts([new URL(options.gateway), new URL(options.api)], options.isOwnHost);
  await requireServer(new URL(options.api));
  if (tokens.length < calls * members)
    throw new CommandError(
      `${calls} calls of ${members} members need ${calls * members} bots, and there are ${tokens.length}.`,
      `Give more tokens (\`npm start -- --bots ${calls * members}\` makes so many bots), or fewer calls or members.`,
    );
  const thresholds = boundsOf(options.thresholds, VOICE_METRICS);
  const rooms: Room[] = [];
  try {
    await fill(options, rooms);
    const report = await speak(options, rooms);
    return { ...report, thresholds: judged(report, thresholds, VOICE_METRICS) };
  } finally {
    for (const { clients } of rooms) for (const client of clients) client.close();
  }
}

interface Room {
  readonly clients: VoiceMember[];
}

async function fill(options: VoiceBenchOptions, rooms: Room[]): Promise<void> {
  const { calls, members, tokens, guildId, mode, isSecure, onProgress } = options;
  const gateway = new URL(options.gateway);
  const seats: (() => Promise<void>)[] = [];
  for (let call = 0; call < calls; call += 1) {
    const channelId = await openChannel(options, `bench ${call + 1}`);
    const room: Room = { clients: [] };
    rooms.push(room);
    for (let member = 0; member < members; member += 1) {
      const token = present(tokens[call * members + member]);
      seats.push(async () => {
        const plan = { gateway, token, guildId, channelId, mode, isSecure };
        room.clients.push(await VoiceMember.join(plan));
        done += 1;
        onProgress({ phase: 'joining', done, of: calls * members });
      });
    }
  }
  let done = 0;
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < seats.length) {
      next += 1;
      await seats[next - 1]?.();
    }
  };
  try {
    await Promise.all(Array.from({ length: JOINING_AT_ONCE }, lane));
  } catch (error) {
    throw new CommandError(
      `A member could not join: ${messageOf(error)}`,
      'The members send no encrypted frames: the server must run with e2ee_required off; --plain is for one without TLS.',
    );
  }
}

async function openChannel({ api, tokens, guildId }: VoiceBenchOptions, name: string): Promise<string> {
  const response = await fetch(`${api}/v10/guilds/${guildId}/channels`, {
    method: 'POST',
    headers: { authorization: `Bot ${tokens[0]}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name, type: GUILD_VOICE }),
  });
  if (response.ok) return ((await response.json()) as { id: string }).id;
  throw new CommandError(
    `No voice channel could be made: ${response.status} ${await response.text()}`,
    response.status === 429 ? MORE : 'The first bot must be allowed to manage channels.',
  );
}

/** Follows the packets of one run. */
class Watch {
  readonly latencies = new Latencies();
  readonly timeline: number[] = [];
  deliveries = 0;
  bytes = 0;
  readonly #intendedNs = new Map<number, Float64Array>();
  #startNs = 0;

  /** Follows packets of this SSRC from now on. */
  follow(ssrc: number): void {
    this.#intendedNs.set(ssrc, new Float64Array(SEQUENCES));
  }

  start(startNs: number): void {
    this.#startNs = startNs;
  }

  sending(ssrc: number, sequence: number, intendedNs: number): void {
    present(this.#intendedNs.get(ssrc))[sequence] = intendedNs;
  }

  came(ssrc: number, sequence: number, bytes: number): void {
    const intendedNs = this.#intendedNs.get(ssrc)?.[sequence] ?? 0;
    if (intendedNs === 0) return;
    const arrivedNs = nowNs();
    this.deliveries += 1;
    this.bytes += bytes;
    this.latencies.record((arrivedNs - intendedNs) / 1000);
    const second = Math.floor((arrivedNs - this.#startNs) / SECOND_NS);
    this.timeline[second] = (this.timeline[second] ?? 0) + 1;
  }
}

function useOf(before: Usage, after: Usage, deliveries: number, seconds: number): VoiceReport['server'] {
  const cpuMicros = after.cpuMicros - before.cpuMicros;
  return {
    cpuMicrosPerPacket: cpuMicros / Math.max(1, deliveries),
    cpuShare: cpuMicros / 1e6 / seconds,
    rssBytes: after.rssBytes,
  };
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function speak(options: VoiceBenchOptions, rooms: readonly Room[]): Promise<VoiceReport> {
  const { calls, members, speakers, durationSeconds, payloadBytes, serverPid, onProgress } = options;
  const watch = new Watch();
  const payload = randomBytes(payloadBytes);
  const talking = rooms.flatMap(({ clients }) => clients.slice(0, speakers));
  const closes: Record<string, number> = {};
  for (const { clients } of rooms)
    for (const client of clients) client.onDropped = (code) => add(closes, code);
  for (const { clients } of rooms)
    for (const { udp } of clients)
      udp.onPacket = (ssrc, sequence, bytes) => watch.came(ssrc, sequence, bytes);
  // A listener's packets tell the server its address; a speaker's are accepted after it has announced speaking.
  for (const client of rooms.flatMap(({ clients }) => clients)) {
    client.announce();
    client.udp.say(payload);
  }
  await sleep(SETTLE_MS);
  for (const { udp } of talking) watch.follow(udp.ssrc);
  // Speakers send at different times within each 20 ms, as independent clients do.
  const perSecond = PACKETS_PER_SECOND * talking.length;
  const total = Math.round(perSecond * durationSeconds);
  const before = serverPid === null ? null : usageOf(serverPid);
  const startNs = nowNs();
  watch.start(startNs);
  await runPaced(new Pacer({ perSecond, total, startNs }), (index, intendedNs) => {
    const { udp } = present(talking[index % talking.length]);
    watch.sending(udp.ssrc, udp.sequence, intendedNs);
    udp.say(payload);
    if (index % perSecond === 0) onProgress({ phase: 'speaking', done: index, of: total });
  });
  const elapsedSeconds = (nowNs() - startNs) / SECOND_NS;
  await sleep(SETTLE_MS);
  const after = serverPid === null ? null : usageOf(serverPid);
  const expected = total * (members - 1);
  const { latencies, deliveries } = watch;
  const failures = endedSessions('members', closes);
  const report = {
    url: options.gateway,
    mode: options.mode,
    calls,
    members,
    speakers,
    payloadBytes,
    durationSeconds: elapsedSeconds,
    sent: total,
    expected,
    deliveries,
    lost: Math.max(0, expected - deliveries),
    dropped: sumOf(closes),
    closes,
    packetsPerSecond: deliveries / elapsedSeconds,
    bytesPerPacket: deliveries === 0 ? 0 : watch.bytes / deliveries,
    latencyMs: {
      p50: latencies.millisAt(50),
      p90: latencies.millisAt(90),
      p99: latencies.millisAt(99),
      p999: latencies.millisAt(99.9),
      p9999: latencies.millisAt(99.99),
      max: latencies.maxMillis,
    },
    curve: PERCENTILES.map((percentile) => ({ percentile, ms: latencies.millisAt(percentile) })),
    timeline: Array.from(watch.timeline, (value) => value ?? 0),
    server: before && after && useOf(before, after, deliveries, elapsedSeconds),
    thresholds: [],
    failures,
  };
  return { ...report, headline: headlineOf(report) };
}

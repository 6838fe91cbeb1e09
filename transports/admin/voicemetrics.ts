import { Gauge, Histogram, type Registry } from 'prom-client';
import type { Calls } from '../../actors/call/calls.ts';
import type { Streams } from '../../actors/call/streams.ts';
import type { VoiceRoutes } from '../voice/routes.ts';

interface WorkerMetrics {
  readonly packetsIn: number;
  readonly packetsOut: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly restarts: number;
  readonly sender: 'native' | 'dgram';
  readonly drops: Readonly<Record<string, number>>;
  /** Time from a packet's arrival to its last send. */
  readonly latency: {
    readonly boundsUs: readonly number[];
    readonly counts: readonly number[];
    readonly sumUs: number;
  };
}

interface MemberMetrics {
  readonly userId: string;
  readonly loss: number;
  readonly jitterMs: number;
}

/** Figures of the media plane; null before it is open. */
type VoiceMetrics = {
  readonly workers: readonly WorkerMetrics[];
  readonly calls: ReadonlyMap<string, readonly MemberMetrics[]>;
} | null;

/** Calls, with their sockets and media. */
export interface WatchedVoice {
  readonly calls: Pick<Calls, 'size' | 'members' | 'refused' | 'bugs' | 'daveCounts'>;
  readonly streams: Pick<Streams, 'size'>;
  readonly routes: Pick<VoiceRoutes, 'stats'>;
  readonly metrics: () => Promise<VoiceMetrics>;
}

const SENDERS = ['native', 'dgram'] as const;
/** Members with a series of their own: those with the worst values. `guildhall calls` lists all members. */
const WORST_MAX = 10;
const OF_MEMBERS = [
  {
    name: 'loss',
    help: 'Share of packets lost on the way from a member.',
    read: ({ loss }: MemberMetrics) => loss,
  },
  {
    name: 'jitter_ms',
    help: 'Jitter of the audio received from a member.',
    read: ({ jitterMs }: MemberMetrics) => jitterMs,
  },
] as const;

/** Registers the metrics of calls. The media plane is queried once per reading, for all metrics together. */
export function addVoiceMetrics(register: Registry, voice: WatchedVoice): void {
  const { calls, streams, routes } = voice;
  const labelled = labelledIn(register);
  const metrics = shared(() => voice.metrics());
  const sum = (read: (worker: WorkerMetrics) => number) => async () =>
    (await metrics())?.workers.reduce((total, worker) => total + read(worker), 0) ?? 0;
  const levels: Record<string, readonly [string, () => number | Promise<number>]> = {
    guildhall_calls: ['Calls.', () => calls.size],
    guildhall_call_members: ['Users connected to calls.', () => calls.members],
    guildhall_calls_refused: ['Users refused from a call because of a bound.', () => calls.refused],
    guildhall_call_bugs: ['Calls ended by a bug.', () => calls.bugs],
    guildhall_streams: ['Go Live streams, which are calls too.', () => streams.size],
    guildhall_voice_sockets: ['Open voice sockets.', () => routes.stats().sockets],
    guildhall_voice_frames_sent: ['Frames sent to voice sockets.', () => routes.stats().framesSent],
    guildhall_voice_frames_received: ['Frames received.', () => routes.stats().framesReceived],
    guildhall_voice_overflows: ['Sockets closed for reading too slowly.', () => routes.stats().overflows],
    guildhall_media_packets_in: ['Packets received.', sum(({ packetsIn }) => packetsIn)],
    guildhall_media_packets_out: ['Packets sent.', sum(({ packetsOut }) => packetsOut)],
    guildhall_media_bytes_in: ['Bytes received.', sum(({ bytesIn }) => bytesIn)],
    guildhall_media_bytes_out: ['Bytes sent.', sum(({ bytesOut }) => bytesOut)],
    guildhall_media_worker_restarts: ['Media workers that were replaced.', sum(({ restarts }) => restarts)],
  };
  for (const [name, [help, read]] of Object.entries(levels))
    new Gauge({
      name,
      help,
      registers: [register],
      async collect() {
        this.set(await read());
      },
    });
  labelled('guildhall_media_drops', 'Packets dropped, by reason.', ['reason'], async () =>
    [...dropsOf(await metrics())].map(([reason, count]) => [{ reason }, count]),
  );
  labelled('guildhall_media_workers', 'Media workers, by what sends their packets.', ['sender'], async () => {
    const workers = (await metrics())?.workers ?? [];
    return SENDERS.map((sender) => [{ sender }, workers.filter((each) => each.sender === sender).length]);
  });
  labelled(
    'guildhall_dave',
    'Ended DAVE transitions, commits and recoveries, by result.',
    ['what', 'result'],
    () => [...calls.daveCounts].map(daveRow),
  );
  labelled('guildhall_voice_closes', 'Voice sockets closed by the server, by code.', ['code'], () =>
    [...routes.stats().closes].map(([code, count]) => [{ code: String(code) }, count]),
  );
  for (const { name, help, read } of OF_MEMBERS) {
    const members = async () => membersOf(await metrics());
    labelled(`guildhall_call_member_${name}`, `${help} Quantiles over members.`, ['quantile'], async () =>
      quantiles((await members()).map(({ member }) => read(member))),
    );
    labelled(`guildhall_call_worst_${name}`, `${help} The ${WORST_MAX} worst.`, ['call', 'user'], async () =>
      worst(await members(), read),
    );
  }
  new ForwardLatency(register, metrics);
}

type Rows<L extends string> = readonly (readonly [Readonly<Record<L, string>>, number])[];

function daveRow([key, count]: readonly [string, number]) {
  const [what = '', result = ''] = key.split(' ');
  return [{ what, result }, count] as const;
}

/** Registers gauges with a value for each set of labels, read on request. */
const labelledIn =
  (register: Registry) =>
  <L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    read: () => Rows<L> | Promise<Rows<L>>,
  ) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [register],
      async collect() {
        this.reset();
        for (const [labels, value] of await read()) this.set(labels, value);
      },
    });

/** Callers of the same moment share one query. */
function shared(ask: () => Promise<VoiceMetrics>): () => Promise<VoiceMetrics> {
  let asked: Promise<VoiceMetrics> | null = null;
  return () => {
    asked ??= ask().finally(() => {
      asked = null;
    });
    return asked;
  };
}

function dropsOf(metrics: VoiceMetrics): Map<string, number> {
  const drops = new Map<string, number>();
  for (const worker of metrics?.workers ?? [])
    for (const [reason, count] of Object.entries(worker.drops))
      drops.set(reason, (drops.get(reason) ?? 0) + count);
  return drops;
}

interface Placed {
  readonly callId: string;
  readonly member: MemberMetrics;
}

const membersOf = (metrics: VoiceMetrics): Placed[] =>
  [...(metrics?.calls ?? [])].flatMap(([callId, members]) => members.map((member) => ({ callId, member })));

/** The members with the highest values; members with 0 are omitted. */
function worst(members: readonly Placed[], read: (member: MemberMetrics) => number): Rows<'call' | 'user'> {
  return members
    .map(({ callId, member }) => [{ call: callId, user: member.userId }, read(member)] as const)
    .filter(([, value]) => value > 0)
    .sort(([, one], [, other]) => other - one)
    .slice(0, WORST_MAX);
}

function quantiles(values: number[]): Rows<'quantile'> {
  values.sort((a, b) => a - b);
  return [0.5, 0.9, 0.99, 1].map((quantile) => {
    const at = Math.ceil(quantile * values.length) - 1;
    return [{ quantile: String(quantile) }, values[Math.max(0, at)] ?? 0];
  });
}

const FORWARD = {
  name: 'guildhall_media_forward_seconds',
  help: 'Time from the arrival of a packet to its last send, of one packet in sixteen.',
};

/** Shows the latency histogram that media workers count. */
class ForwardLatency extends Histogram<'le'> {
  readonly #metrics: () => Promise<VoiceMetrics>;

  constructor(register: Registry, metrics: () => Promise<VoiceMetrics>) {
    super({ ...FORWARD, registers: [register] });
    this.#metrics = metrics;
  }

  /** Called by the registry. */
  async getForPromString() {
    const workers = (await this.#metrics())?.workers ?? [];
    const boundsUs = workers[0]?.latency.boundsUs ?? [];
    const counts = [...boundsUs, Number.POSITIVE_INFINITY].map((_, at) =>
      workers.reduce((total, { latency }) => total + (latency.counts[at] ?? 0), 0),
    );
    const { name } = FORWARD;
    let below = 0;
    const buckets = counts.map((count, at) => {
      below += count;
      const bound = boundsUs[at];
      const le = bound === undefined ? '+Inf' : String(bound / 1e6);
      return { metricName: `${name}_bucket`, labels: { le }, value: below };
    });
    const sumUs = workers.reduce((total, { latency }) => total + latency.sumUs, 0);
    return {
      ...FORWARD,
      type: 'histogram',
      values: [
        ...buckets,
        { metricName: `${name}_sum`, labels: {}, value: sumUs / 1e6 },
        { metricName: `${name}_count`, labels: {}, value: below },
      ],
    };
  }
}

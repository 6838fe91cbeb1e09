import { TRANSPORT_MODES, type TransportMode, VOICE_OP } from '../../protocol/voice.ts';
import { WebSocketWire } from '../wire/websocket.ts';
import { UdpClient } from './client.ts';

const GATEWAY_OP = { dispatch: 0, heartbeat: 1, identify: 2, voiceState: 4, hello: 10 } as const;
/** The intent for voice states only. */
const INTENTS = 128;
const VOICE_VERSION = 8;
const DISCOVERY_RETRY_MS = 200;
const STEP_TIMEOUT_MS = 20_000;

interface MemberPlan {
  readonly gateway: URL;
  readonly token: string;
  readonly guildId: string;
  readonly channelId: string;
  readonly mode: TransportMode;
  /** Whether the voice gateway uses TLS. */
  readonly isSecure: boolean;
}

interface Envelope {
  readonly op: number;
  readonly t?: string;
  readonly s?: number | null;
  readonly seq?: number;
  readonly d: Record<string, unknown>;
}

/** A WebSocket of JSON envelopes, whose answers are awaited in sequence; heartbeats run in the background. */
class Line {
  readonly wire: WebSocketWire;
  readonly #name: string;
  readonly #waiting: { matches: (envelope: Envelope) => boolean; settle: (envelope: Envelope) => void }[] =
    [];
  #heart: NodeJS.Timeout | null = null;
  #fail: (error: Error) => void = () => {};
  /** Called with the close code when the connection ends. */
  onClosed: (code: number) => void = () => {};
  /** Rejects when the connection ends. */
  readonly ended: Promise<never>;
  seq = -1;

  constructor(url: URL, name: string) {
    this.#name = name;
    this.ended = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.ended.catch(() => {});
    this.wire = new WebSocketWire(url, {
      open: () => {},
      message: (payload, _, binary) => {
        if (payload !== null && !binary) this.#came(JSON.parse(payload.toString()) as Envelope);
      },
      closed: (code, reason) => this.#over(code, reason),
    });
  }

  #came(envelope: Envelope): void {
    this.seq = envelope.seq ?? envelope.s ?? this.seq;
    const index = this.#waiting.findIndex(({ matches }) => matches(envelope));
    if (index >= 0) this.#waiting.splice(index, 1)[0]?.settle(envelope);
  }

  #over(code: number, reason: string): void {
    this.#stop();
    this.onClosed(code);
    this.#fail(new Error(`The ${this.#name} closed: ${code} ${reason}`));
  }

  send(op: number, d: unknown): void {
    this.wire.send(JSON.stringify({ op, d }));
  }

  /** Waits for the next envelope that matches. */
  next(what: string, matches: (envelope: Envelope) => boolean): Promise<Envelope> {
    const come = new Promise<Envelope>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`The ${this.#name} sends no ${what}.`)),
        STEP_TIMEOUT_MS,
      );
      this.#waiting.push({
        matches,
        settle: (envelope) => {
          clearTimeout(timer);
          resolve(envelope);
        },
      });
    });
    return Promise.race([come, this.ended]);
  }

  beat(intervalMs: number, send: () => void): void {
    this.#heart = setInterval(send, intervalMs);
  }

  #stop(): void {
    if (this.#heart) clearInterval(this.#heart);
  }

  close(): void {
    this.#stop();
    this.wire.close();
  }
}

const ofOp =
  (op: number) =>
  (envelope: Envelope): boolean =>
    envelope.op === op;

/** One bot in a call: its gateway session, its voice connection and its UDP socket. */
export class VoiceMember {
  readonly udp: UdpClient;
  /** Called with the close code when the server ends one of its connections. */
  onDropped: (code: number) => void = () => {};
  #isOver = false;
  readonly #gateway: Line;
  readonly #voice: Line;

  /** Joins as a client does: identify, join, voice identify, discovery, select protocol. */
  static async join(plan: MemberPlan): Promise<VoiceMember> {
    const url = new URL(plan.gateway);
    url.searchParams.set('v', '10');
    url.searchParams.set('encoding', 'json');
    const gateway = new Line(url, 'gateway');
    try {
      return await joined(plan, gateway);
    } catch (error) {
      gateway.close();
      throw error;
    }
  }

  constructor(udp: UdpClient, gateway: Line, voice: Line) {
    this.udp = udp;
    this.#gateway = gateway;
    this.#voice = voice;
    for (const line of [gateway, voice]) line.onClosed = (code) => this.#lineClosed(code);
  }

  /** A member that loses either connection is out of the call, and counts once. */
  #lineClosed(code: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onDropped(code);
  }

  /** Announces speaking, as a client does before its first packet. */
  announce(): void {
    this.#voice.send(VOICE_OP.SPEAKING, { speaking: 1, delay: 0, ssrc: this.udp.ssrc });
  }

  close(): void {
    this.#isOver = true;
    this.udp.close();
    this.#voice.close();
    this.#gateway.close();
  }
}

async function joined(plan: MemberPlan, gateway: Line): Promise<VoiceMember> {
  const { token, guildId, channelId } = plan;
  const hello = await gateway.next('HELLO', ofOp(GATEWAY_OP.hello));
  gateway.beat(hello.d.heartbeat_interval as number, () => gateway.send(GATEWAY_OP.heartbeat, null));
  const properties = { os: 'linux', browser: 'bench', device: 'bench' };
  gateway.send(GATEWAY_OP.identify, { token, intents: INTENTS, properties });
  const ready = await gateway.next('READY', ({ t }) => t === 'READY');
  const server = gateway.next('VOICE_SERVER_UPDATE', ({ t }) => t === 'VOICE_SERVER_UPDATE');
  gateway.send(GATEWAY_OP.voiceState, {
    guild_id: guildId,
    channel_id: channelId,
    self_mute: false,
    self_deaf: false,
  });
  const { d } = await server;
  const endpoint = `${plan.isSecure ? 'wss' : 'ws'}://${d.endpoint as string}`;
  const url = new URL(endpoint);
  url.searchParams.set('v', String(VOICE_VERSION));
  const voice = new Line(url, 'voice gateway');
  const { id } = ready.d.user as { readonly id: string };
  try {
    const udp = await connected(plan, voice, {
      server_id: guildId,
      user_id: id,
      session_id: ready.d.session_id,
      token: d.token,
      max_dave_protocol_version: 0,
    });
    return new VoiceMember(udp, gateway, voice);
  } catch (error) {
    voice.close();
    throw error;
  }
}

async function connected({ mode }: MemberPlan, voice: Line, identity: object): Promise<UdpClient> {
  const hello = await voice.next('HELLO', ofOp(VOICE_OP.HELLO));
  let beats = 0;
  voice.beat(hello.d.heartbeat_interval as number, () => {
    beats += 1;
    voice.send(VOICE_OP.HEARTBEAT, { t: beats, seq_ack: voice.seq });
  });
  voice.send(VOICE_OP.IDENTIFY, identity);
  const { d } = await voice.next('READY', ofOp(VOICE_OP.READY));
  const { ssrc, ip, port, modes } = d as { ssrc: number; ip: string; port: number; modes: string[] };
  if (!modes.includes(mode)) throw new Error(`The voice server does not offer ${mode}.`);
  const key = Buffer.alloc(32);
  const udp = await UdpClient.open({ host: ip, port, ssrc, seal: mode, key });
  const data = { ...(await discovered(udp)), mode };
  const description = voice.next('SESSION_DESCRIPTION', ofOp(VOICE_OP.SESSION_DESCRIPTION));
  voice.send(VOICE_OP.SELECT_PROTOCOL, { protocol: 'udp', data });
  key.set((await description).d.secret_key as number[]);
  return udp;
}

function discovered(udp: UdpClient): Promise<{ readonly address: string; readonly port: number }> {
  return new Promise((resolve, reject) => {
    const ask = setInterval(() => udp.discover(), DISCOVERY_RETRY_MS);
    const late = setTimeout(() => {
      clearInterval(ask);
      reject(new Error('IP discovery is not answered: is the UDP port reachable?'));
    }, STEP_TIMEOUT_MS);
    udp.onDiscovery = (address, port) => {
      clearInterval(ask);
      clearTimeout(late);
      resolve({ address, port });
    };
    udp.discover();
  });
}

/** Encryption modes, by their short names on the command line. */
export const MODES: Readonly<Record<string, TransportMode>> = {
  aes: TRANSPORT_MODES[0],
  xchacha: TRANSPORT_MODES[1],
};

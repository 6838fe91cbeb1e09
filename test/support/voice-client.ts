import { readFileSync } from 'node:fs';
import { WebSocket } from 'ws';
import { TRANSPORT_MODES, type TransportMode, VOICE_OP } from '../../protocol/voice.ts';
import { decodeServerFrame, encodeClientFrame } from '../../protocol/voiceframing.ts';
import type { GatewayClient } from './gateway-client.ts';
import { Inbox } from './inbox.ts';
import { VoiceUdp } from './voice-rtp.ts';

/** The voice server's address and ticket, from both dispatches of the main gateway. */
export interface VoiceTicket {
  readonly endpoint: string;
  readonly token: string;
  /** Guild, private channel or lobby. */
  readonly serverId: string;
  readonly channelId: string;
  readonly userId: string;
  readonly sessionId: string;
}

export interface VoiceFrame {
  readonly op: number;
  /** Null for what is not replayed. */
  readonly seq: number | null;
  // Payloads are read as what the test knows them to be; of a binary frame it is empty.
  readonly d: Record<string, unknown>;
  /** Payload of a binary frame, without its header. */
  readonly payload: Buffer | null;
}

export interface Dialect {
  readonly v?: number | string | null;
  /** PEM file of the authority that signed the server's certificate; null when the server speaks plain `ws`. */
  readonly caFile: string | null;
}

export interface Ready {
  readonly ssrc: number;
  readonly ip: string;
  readonly port: number;
  readonly modes: readonly string[];
  readonly streams?: readonly { readonly ssrc: number; readonly rtx_ssrc: number; readonly rid: string }[];
}

interface SessionDescription {
  readonly mode: TransportMode;
  readonly secret_key: readonly number[];
  readonly dave_protocol_version: number;
  readonly sdp?: string;
}

/** A voice gateway client without comfort: it keeps all that it received, and does nothing by itself but beat. */
export class VoiceClient extends Inbox<VoiceFrame> {
  /** The last sequence number; -1: none. */
  seq = -1;
  /** Called with every frame, in order, before the callers that wait for it. */
  onFrame: ((frame: VoiceFrame) => void) | null = null;

  private constructor(endpoint: string, { v = 8, caFile }: Dialect) {
    const scheme = caFile === null ? 'ws' : 'wss';
    const query = v === null ? '' : `?v=${v}`;
    const ws = new WebSocket(`${scheme}://${endpoint}${query}`, {
      maxPayload: 16 << 20,
      ...(caFile !== null && { ca: readFileSync(caFile) }),
    });
    super(ws);
    ws.on('message', (data: Buffer, binary: boolean) => this.#take(data, binary));
  }

  /** Begins to connect; what comes of it is in `received` and `closed`. */
  static dial(endpoint: string, dialect: Dialect): VoiceClient {
    return new VoiceClient(endpoint, dialect);
  }

  /** Connects, waits for HELLO and begins to beat. */
  static async connect(endpoint: string, dialect: Dialect): Promise<VoiceClient> {
    const client = new VoiceClient(endpoint, dialect);
    const { d } = await client.waitFor(VOICE_OP.HELLO);
    client.beatEvery(Number(d.heartbeat_interval), () => client.beat());
    return client;
  }

  /** Connects, identifies and waits for READY. */
  static async ready(
    ticket: VoiceTicket,
    dialect: Dialect,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<{ client: VoiceClient; ready: Ready }> {
    const client = await VoiceClient.connect(ticket.endpoint, dialect);
    client.identify(ticket, more);
    return { client, ready: (await client.waitFor(VOICE_OP.READY)).d as unknown as Ready };
  }

  identify(ticket: VoiceTicket, more: Readonly<Record<string, unknown>> = {}): void {
    this.send(VOICE_OP.IDENTIFY, {
      server_id: ticket.serverId,
      channel_id: ticket.channelId,
      user_id: ticket.userId,
      session_id: ticket.sessionId,
      token: ticket.token,
      ...more,
    });
  }

  resume(ticket: VoiceTicket, seqAck: number): void {
    this.send(VOICE_OP.RESUME, {
      server_id: ticket.serverId,
      channel_id: ticket.channelId,
      session_id: ticket.sessionId,
      token: ticket.token,
      seq_ack: seqAck,
    });
  }

  /** Sends op 1 for UDP and waits for op 4. */
  async selectUdp(
    address: { readonly address: string; readonly port: number },
    mode: string = TRANSPORT_MODES[0],
  ): Promise<SessionDescription> {
    this.send(VOICE_OP.SELECT_PROTOCOL, { protocol: 'udp', data: { ...address, mode } });
    return (await this.waitFor(VOICE_OP.SESSION_DESCRIPTION)).d as unknown as SessionDescription;
  }

  speak(ssrc: number, speaking = 1): void {
    this.send(VOICE_OP.SPEAKING, { speaking, delay: 0, ssrc });
  }

  /** A heartbeat of version 8 that acknowledges what has come. */
  beat(t: number = Date.now()): void {
    this.send(VOICE_OP.HEARTBEAT, { t, seq_ack: this.seq });
  }

  send(op: number, d: unknown): void {
    this.sendRaw(JSON.stringify({ op, d }));
  }

  sendBinary(op: number, payload: Uint8Array): void {
    this.sendRaw(encodeClientFrame({ op, payload }));
  }

  /** The first frame of that opcode that matches and was not asked for before: already here, or yet to come. */
  waitFor(
    op: number,
    matches: (frame: VoiceFrame) => boolean = () => true,
    patienceMs?: number,
  ): Promise<VoiceFrame> {
    return this.next((frame) => frame.op === op && matches(frame), `op ${op}`, patienceMs);
  }

  protected override nameOf({ op }: VoiceFrame): string {
    return `op ${op}`;
  }

  #take(data: Buffer, binary: boolean): void {
    const frame = binary ? binaryFrame(data) : textFrame(data);
    if (frame.seq !== null) this.seq = frame.seq;
    this.onFrame?.(frame);
    this.put(frame);
  }
}

function textFrame(data: Buffer): VoiceFrame {
  const { op, d, seq = null } = JSON.parse(data.toString()) as { op: number; d: never; seq?: number };
  return { op, d, seq, payload: null };
}

function binaryFrame(data: Buffer): VoiceFrame {
  const frame = decodeServerFrame(data);
  if (!frame) throw new Error(`A binary frame that no server sends: ${data.toString('hex')}`);
  return { op: frame.op, d: {}, seq: frame.seq, payload: Buffer.from(frame.payload) };
}

/** Joins a voice channel on the main gateway (op 4) and waits for both dispatches that follow. */
export async function joinChannel(
  gateway: GatewayClient,
  guildId: string,
  channelId: string,
): Promise<VoiceTicket> {
  const own = (d: Record<string, unknown>) =>
    d.guild_id === guildId && d.user_id === gateway.userId && d.channel_id === channelId;
  gateway.send(4, { guild_id: guildId, channel_id: channelId, self_mute: false, self_deaf: false });
  const [state, server] = await Promise.all([
    gateway.dispatch('VOICE_STATE_UPDATE', own),
    gateway.dispatch('VOICE_SERVER_UPDATE', (d) => d.guild_id === guildId),
  ]);
  return {
    endpoint: String(server.endpoint),
    token: String(server.token),
    serverId: guildId,
    channelId,
    userId: gateway.userId,
    sessionId: String(state.session_id),
  };
}

/** A client that may send and receives media: identified, discovered, keyed. Without DAVE. */
export async function connectUdp(
  ticket: VoiceTicket,
  dialect: Dialect,
  options: { readonly mode?: TransportMode; readonly identify?: Readonly<Record<string, unknown>> } = {},
): Promise<{ client: VoiceClient; udp: VoiceUdp; ready: Ready; description: SessionDescription }> {
  const { client, ready } = await VoiceClient.ready(ticket, dialect, options.identify);
  const udp = await VoiceUdp.open(ready);
  const description = await client.selectUdp(await udp.discover(), options.mode);
  udp.use(description.mode, Uint8Array.from(description.secret_key));
  return { client, udp, ready, description };
}

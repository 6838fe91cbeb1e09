import { type TransportMode, VOICE_OP } from '../../protocol/voice.ts';
import { type Dialect, type Ready, VoiceClient, type VoiceTicket } from './voice-client.ts';
import { VoiceDave } from './voice-dave.ts';
import { VoiceUdp } from './voice-rtp.ts';

interface CallerOptions {
  readonly identify?: Readonly<Record<string, unknown>>;
  readonly mode?: TransportMode;
  /** Payload types by which it names codecs; without them the default ones hold. */
  readonly codecs?: readonly object[];
  /** The DAVE group, where it is not named by the channel. */
  readonly groupId?: string;
}

/** A voice client with all that a call takes: signalling, media over UDP, and DAVE by the published implementation. */
export interface Caller {
  readonly ticket: VoiceTicket;
  readonly client: VoiceClient;
  readonly ready: Ready;
  readonly dave: VoiceDave;
  readonly udp: VoiceUdp;
  close(): void;
}

/** Joins a call with a ticket, until it may send and receives media. */
export async function callIn(
  ticket: VoiceTicket,
  dialect: Dialect,
  { identify, mode = 'aead_aes256_gcm_rtpsize', codecs = [], groupId = ticket.channelId }: CallerOptions = {},
): Promise<Caller> {
  const { client, ready } = await VoiceClient.ready(ticket, dialect, {
    max_dave_protocol_version: 1,
    ...identify,
  });
  const dave = new VoiceDave(client, ticket.userId, groupId);
  const udp = await VoiceUdp.open(ready);
  const address = await udp.discover();
  client.send(VOICE_OP.SELECT_PROTOCOL, { protocol: 'udp', data: { ...address, mode }, codecs });
  const { d } = await client.waitFor(VOICE_OP.SESSION_DESCRIPTION);
  udp.use(mode, Uint8Array.from(d.secret_key as number[]));
  return {
    ticket,
    client,
    ready,
    dave,
    udp,
    close() {
      udp.close();
      client.terminate();
    },
  };
}

/** Resolves when all of them are in one epoch of DAVE. @throws when that takes longer than ten seconds. */
export async function agreed(...callers: readonly Caller[]): Promise<void> {
  for (const endMs = Date.now() + 10_000; ; ) {
    const codes = new Set(callers.map(({ dave }) => (dave.ready ? dave.privacyCode : null)));
    if (codes.size === 1 && !codes.has(null)) return;
    if (Date.now() > endMs) throw new Error(`They do not agree: ${[...codes].join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The first byte of a VP8 payload descriptor at the start of a frame. @source RFC 7741, 4.2 */
const VP8_FRAME_STARTS = 0x10;

/** One layer of a camera that films in VP8, a packet for each frame, numbered from `seq` on. */
export class Camera {
  readonly ssrc: number;
  readonly #caller: Caller;
  readonly #payloadType: number;
  #seq: number;
  #timestamp: number;

  constructor(
    caller: Caller,
    layer: { readonly ssrc: number; readonly payloadType: number; readonly seq: number },
  ) {
    this.#caller = caller;
    this.ssrc = layer.ssrc;
    this.#payloadType = layer.payloadType;
    this.#seq = layer.seq;
    this.#timestamp = layer.seq * 7;
  }

  /**
   * Sends a frame under DAVE; what a receiver is to see again. VP8 marks a keyframe by the lowest bit of its first
   * byte.
   */
  film(
    isKeyframe: boolean,
    content: string,
  ): { readonly frame: Buffer; readonly payload: Buffer; readonly seq: number } {
    const frame = Buffer.concat([Buffer.of(isKeyframe ? 0x10 : 0x11), Buffer.from(content.padEnd(40, '.'))]);
    const payload = Buffer.concat([Buffer.of(VP8_FRAME_STARTS), this.#caller.dave.encryptVp8(frame)]);
    const seq = this.#seq;
    this.#caller.udp.sendRtp(
      { payloadType: this.#payloadType, marker: true, seq, timestamp: this.#timestamp, ssrc: this.ssrc },
      payload,
    );
    this.#seq = (seq + 1) & 0xffff;
    this.#timestamp += 3000;
    return { frame, payload, seq };
  }
}

/** A frame can be opened once only: what comes a second time is taken for a replay. */
const opened = new WeakMap<Buffer, string>();

/** Content of a video packet that the viewer received. @throws when it cannot be opened. */
export function seenIn(viewer: Caller, userId: string, payload: Buffer): string {
  const known = opened.get(payload);
  if (known !== undefined) return known;
  const frame = viewer.dave.decryptVideo(userId, payload.subarray(1));
  const content = frame.subarray(1).toString().replace(/\.+$/, '');
  opened.set(payload, content);
  return content;
}

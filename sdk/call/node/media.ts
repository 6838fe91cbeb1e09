import { isIP } from 'node:net';
import { OPUS_PAYLOAD_TYPE, SILENCE_FRAME } from '../../../protocol/voice.ts';
import { DaveFlow } from '../../voice/daveflow.ts';
import { asNumber, type Json } from '../../voice/wire.ts';
import { decibels } from '../gate.ts';
import type { AudioCallbacks, CallMedia, CallMediaOptions, CapturedAudio, MediaFigures } from '../media.ts';
import { type CallPackages, CHANNELS, FRAME_SAMPLES, type OpusCodec, RATE_HZ } from './packages.ts';
import { type AudioPacket, TRANSPORT_MODE } from './rtp.ts';
import { amplify, loudness, PlayQueue } from './sound.ts';
import { UdpTransport } from './udptransport.ts';

/** Silence frames after the last voice frame, so that decoders do not interpolate. */
const SILENT_FRAMES = 5;
/** A member without packets for this long counts as silent, milliseconds. */
const SILENT_AFTER_MS = 150;
/** Jitter buffer in frames: playback starts with 60 ms and keeps at most 200 ms. */
const QUEUE = { start: 3, max: 10 } as const;
/** Maximum size of an Opus frame, bytes. */
const OPUS_BYTES_MAX = 1275;
const CODECS = [
  { name: 'opus', type: 'audio', priority: 1000, payload_type: OPUS_PAYLOAD_TYPE, rtx_payload_type: null },
];

/** Decoder and jitter buffer of one member. */
interface Voice {
  readonly userId: string;
  readonly codec: OpusCodec;
  readonly queue: PlayQueue;
  lastSeq: number | null;
  level: number;
  heardMs: number;
}

/** Audio and keys of one voice session in Node. */
export class NodeCallMedia implements CallMedia {
  readonly #options: CallMediaOptions;
  readonly #packages: CallPackages;
  readonly #encoder: OpusCodec;
  readonly #closed: () => void;
  /** By SSRC. */
  readonly #voices = new Map<number, Voice>();
  readonly #gains = new Map<string, number>();
  #flow: DaveFlow;
  #transport: UdpTransport | null = null;
  #counted = { came: 0, missed: 0 };
  #isUp = false;
  #isOpen = false;
  #isDeaf = false;
  #silentFramesLeft = 0;
  #timestamp = Math.floor(Math.random() * 2 ** 32);

  constructor(options: CallMediaOptions, packages: CallPackages, closed: () => void) {
    this.#options = options;
    this.#packages = packages;
    this.#closed = closed;
    this.#encoder = packages.newCodec();
    this.#flow = this.#newFlow();
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Callbacks of the application for this call. */
  get hasCallbacks(): boolean {
    return this.#options.callbacks !== null;
  }

  begin(d: Json): void {
    const { events } = this.#options;
    const { ip, port, ssrc, modes } = d;
    this.#flow = this.#newFlow();
    this.#forgetVoices();
    this.#up(false);
    this.#transport?.close();
    this.#transport = null;
    if (!Array.isArray(modes) || !modes.includes(TRANSPORT_MODE)) {
      events.failed(`The voice server does not speak ${TRANSPORT_MODE}.`);
      return;
    }
    if (typeof ip !== 'string' || isIP(ip) === 0 || !(Number(port) > 0 && Number(port) < 65_536)) {
      events.failed('The voice server names no address for sound.');
      return;
    }
    this.#transport = new UdpTransport(
      { ip, port: Number(port), ssrc: Number(ssrc) >>> 0 },
      {
        discovered: (seen) =>
          events.select({ protocol: 'udp', data: { ...seen, mode: TRANSPORT_MODE }, codecs: CODECS }),
        audio: (packet) => this.#received(packet),
        failed: (sentence) => {
          this.#up(false);
          events.failed(sentence);
        },
      },
    );
  }

  described(d: Json): void {
    const key = Array.isArray(d.secret_key) ? Uint8Array.from(d.secret_key as number[]) : new Uint8Array();
    try {
      this.#transport?.use(key);
    } catch {
      this.#options.events.failed('The voice server gave no key.');
      return;
    }
    this.#flow.begin(asNumber(d.dave_protocol_version ?? 0));
    this.#up(true);
  }

  broken(): void {}

  resumed(): void {}

  joined(userIds: readonly string[]): void {
    this.#flow.joined(userIds);
  }

  left(userId: string): void {
    this.#flow.left(userId);
    for (const [ssrc, voice] of this.#voices) if (voice.userId === userId) this.#forget(ssrc, voice);
  }

  speaks(userId: string, ssrc: number): void {
    const before = this.#voices.get(ssrc);
    if (before?.userId === userId) return;
    if (before !== undefined) this.#forget(ssrc, before);
    this.#voices.set(ssrc, {
      userId,
      codec: this.#packages.newCodec(),
      queue: new PlayQueue(FRAME_SAMPLES * CHANNELS, QUEUE),
      lastSeq: null,
      level: 0,
      heardMs: 0,
    });
  }

  json(op: number, d: Json): void {
    this.#flow.json(op, d);
  }

  binary(op: number, payload: Uint8Array): void {
    this.#flow.binary(op, payload);
  }

  send(isOpen: boolean): void {
    this.#isOpen = isOpen;
  }

  setGain(userId: string, gain: number): void {
    this.#gains.set(userId, gain);
  }

  deafen(isDeaf: boolean): void {
    this.#isDeaf = isDeaf;
  }

  levels(): Map<string, number> {
    const sinceMs = performance.now() - SILENT_AFTER_MS;
    const voices = [...this.#voices.values()];
    return new Map(voices.map(({ userId, level, heardMs }) => [userId, heardMs > sinceMs ? level : 0]));
  }

  /** Counts expected and received packets of all members. */
  figures(): Promise<MediaFigures> {
    const { came, missed } = this.#counted;
    this.#counted = { came: 0, missed: 0 };
    const due = came + missed;
    return Promise.resolve({ loss: due > 0 ? missed / due : null, jitterMs: null, roundTripMs: null });
  }

  close(): void {
    this.#transport?.close();
    this.#transport = null;
    this.#isUp = false;
    this.#forgetVoices();
    this.#encoder.close();
    this.#closed();
  }

  /** Passes a captured frame to the application's callback, which may change it. */
  fill(audio: CapturedAudio): void {
    this.#call(({ captured }) => captured(audio));
  }

  /** Sends one microphone frame; called every 20 ms while the transport is connected. */
  capture(samples: Int16Array): void {
    const transport = this.#transport;
    this.#timestamp = (this.#timestamp + FRAME_SAMPLES) >>> 0;
    this.#options.events.level(decibels(loudness(samples)));
    if (transport === null || transport !== this.#transport) return;
    if (this.#isOpen) {
      const frame = this.#flow.encrypt(this.#encoder.encode(samples));
      if (frame === null) return;
      transport.send(frame, this.#timestamp);
      this.#silentFramesLeft = SILENT_FRAMES;
    } else if (this.#silentFramesLeft > 0) {
      this.#silentFramesLeft -= 1;
      transport.send(SILENCE_FRAME, this.#timestamp);
    }
  }

  /** Takes the next frame of each member for playback. */
  take(): Int16Array[] {
    return [...this.#voices.values()].flatMap(({ queue }) => queue.shift() ?? []);
  }

  #received({ ssrc, seq, payload }: AudioPacket): void {
    const voice = this.#voices.get(ssrc);
    // Drops frames of unknown SSRCs: only the voice gateway maps an SSRC to a user.
    if (voice === undefined || this.#isDeaf) return;
    const ahead = voice.lastSeq === null ? 1 : (seq - voice.lastSeq) & 0xffff;
    if (ahead === 0 || ahead > 0x7fff) return;
    this.#counted.came += 1;
    this.#counted.missed += ahead - 1;
    const frame = this.#flow.decrypt(voice.userId, payload);
    if (frame === null || frame.length > OPUS_BYTES_MAX) return;
    voice.lastSeq = seq;
    const samples = decoded(voice.codec, frame);
    if (samples === null) return;
    voice.level = loudness(samples);
    voice.heardMs = performance.now();
    const gain = this.#gains.get(voice.userId) ?? 1;
    if (gain === 0) return;
    amplify(samples, gain);
    if (!this.#isMutedBy(voice.userId, samples)) voice.queue.push(samples);
  }

  /** Passes a received frame to the application's callback. @returns whether the frame must not be played. */
  #isMutedBy(userId: string, samples: Int16Array): boolean {
    let isMuted = false;
    const mute = (): void => {
      isMuted = true;
    };
    this.#call(({ received }) =>
      received({ userId, samples, sampleRate: RATE_HZ, channels: CHANNELS, mute }),
    );
    return isMuted;
  }

  /** An exception of a callback must not end the process. */
  #call(run: (callbacks: AudioCallbacks) => void): void {
    const { callbacks, events } = this.#options;
    try {
      if (callbacks !== null) run(callbacks);
    } catch (error) {
      events.complaint(`A callback for sound failed: ${String(error)}`);
    }
  }

  #newFlow(): DaveFlow {
    const { userId, groupId, events } = this.#options;
    return new DaveFlow({
      userId,
      channelId: groupId,
      newGroup: (...group) => this.#packages.newGroup(...group),
      send: events.send,
      sendBinary: events.sendBinary,
      changed: events.dave,
    });
  }

  #up(isUp: boolean): void {
    if (isUp === this.#isUp) return;
    this.#isUp = isUp;
    this.#options.events.sound(isUp);
  }

  #forget(ssrc: number, voice: Voice): void {
    this.#voices.delete(ssrc);
    voice.codec.close();
  }

  #forgetVoices(): void {
    for (const [ssrc, voice] of this.#voices) this.#forget(ssrc, voice);
  }
}

function decoded(codec: OpusCodec, frame: Uint8Array): Int16Array | null {
  try {
    return codec.decode(frame);
  } catch {
    return null;
  }
}

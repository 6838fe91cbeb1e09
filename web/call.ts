import { DAVE_VERSION_MAX, OPUS_PAYLOAD_TYPE, SPEAKING, VOICE_CLOSE, VOICE_OP } from '../protocol/voice.ts';
import type { DaveStatus } from '../sdk/voice/daveflow.ts';
import { VoiceLink, type VoiceTicket } from '../sdk/voice/voicelink.ts';
import type { Json } from '../sdk/voice/wire.ts';
import type { FromMedia } from './media.messages.ts';
import type { MediaWorker } from './media.ts';
import { type Microphone, type MicrophoneChoice, openMicrophone } from './microphone.ts';
import { Peer, type PeerFigures } from './peer.ts';
import { openSocket, socketUrl } from './socket.ts';
import { Speakers } from './speakers.ts';
import { createStore } from './store.ts';

export interface CallState {
  readonly phase: 'connecting' | 'connected' | 'reconnecting';
  readonly dave: DaveStatus | null;
  readonly muted: boolean;
  readonly deafened: boolean;
  /** Members whose connection to the call is known of. */
  readonly present: ReadonlySet<string>;
  /** 0 to 1, by user; the person's own under their id. */
  readonly levels: ReadonlyMap<string, number>;
  readonly figures: PeerFigures | null;
  /** Something that went wrong but does not end the call. */
  readonly complaint: string | null;
}

export interface CallOptions {
  readonly ticket: Omit<VoiceTicket, 'maxDaveVersion'>;
  readonly media: MediaWorker;
  readonly context: AudioContext;
  readonly muted: boolean;
  readonly deafened: boolean;
  readonly ended: (end: { readonly code: number; readonly reason: string; readonly retry: boolean }) => void;
}

const LOOK_MS = 100;
const FIGURES_EVERY = 20;
/** Root mean square above which the person speaks, and how long after that they still do. */
const SPEECH_LEVEL = 0.012;
const HANG_MS = 400;
const PATH = '/voice/';
const CODECS = [
  { name: 'opus', type: 'audio', priority: 1000, payload_type: OPUS_PAYLOAD_TYPE, rtx_payload_type: null },
];

/** One call of the page: the voice gateway, the peer connection, the keys and the microphone, kept in step. */
export class Call {
  readonly store;
  readonly #options: CallOptions;
  readonly #link: VoiceLink;
  readonly #speakers: Speakers;
  readonly #looking: ReturnType<typeof setInterval>;
  /** By user: under which SSRC they are sent to us. */
  readonly #ssrcs = new Map<string, number>();
  #peer: Peer | null = null;
  #microphone: Microphone | null = null;
  #ssrc = 0;
  #speaking = false;
  #spokeAtMs = 0;
  #looks = 0;
  #over = false;

  constructor(options: CallOptions) {
    this.#options = options;
    const { muted, deafened, media, ticket } = options;
    this.store = createStore<CallState>({
      phase: 'connecting',
      dave: null,
      muted,
      deafened,
      present: new Set([ticket.userId]),
      levels: new Map(),
      figures: null,
      complaint: null,
    });
    this.#speakers = new Speakers(options.context);
    this.#speakers.mute(deafened);
    media.listen((message) => this.#fromMedia(message));
    this.#link = new VoiceLink({
      url: socketUrl(PATH),
      ticket: { ...ticket, maxDaveVersion: DAVE_VERSION_MAX },
      open: openSocket,
      events: {
        ready: (d) => this.#ready(d),
        json: (op, d) => this.#heard(op, d),
        binary: (op, payload) => media.tell({ type: 'binary', op, payload }),
        lost: (code) => this.#lost(code),
        resumed: () => this.#resumed(),
        ended: (end) => {
          this.leave();
          options.ended(end);
        },
      },
    });
    this.#looking = setInterval(() => this.#look(), LOOK_MS);
  }

  mute(muted: boolean): void {
    this.store.set({ muted });
    this.#openMouth();
  }

  deafen(deafened: boolean): void {
    this.store.set({ deafened });
    this.#speakers.mute(deafened);
  }

  /** Takes another microphone; the one in use stays when that fails. */
  async useInput(choice: MicrophoneChoice): Promise<void> {
    try {
      const microphone = await openMicrophone(this.#options.context, choice);
      this.#microphone?.close();
      this.#microphone = microphone;
      if (this.#over) microphone.close();
      this.store.set({ complaint: null });
      this.#openMouth();
    } catch (error) {
      this.store.set({ complaint: (error as Error).message });
    }
  }

  useOutput(deviceId: string): void {
    this.#speakers.use(deviceId);
  }

  leave(): void {
    if (this.#over) return;
    this.#over = true;
    clearInterval(this.#looking);
    this.#link.close();
    this.#peer?.close();
    this.#microphone?.close();
    this.#speakers.clear();
    this.#options.media.tell({ type: 'end' });
  }

  #ready(d: Json): void {
    const { userId, channelId } = this.#options.ticket;
    this.#ssrc = Number(d.ssrc);
    this.#ssrcs.clear();
    this.#options.media.tell({ type: 'start', userId, channelId });
    this.#connectPeer();
  }

  #lost(code: number): void {
    this.store.set({ phase: 'reconnecting' });
    if (code !== VOICE_CLOSE.WEBRTC_CRASHED.code) return;
    // The server's side of the peer connection is gone, whatever ours still believes.
    this.#peer?.close();
    this.#peer = null;
  }

  #resumed(): void {
    if (this.#peer === null) this.#connectPeer();
    else this.store.set({ phase: 'connected' });
  }

  /** Makes the peer connection, or another one in place of one that broke. */
  #connectPeer(): void {
    this.#peer?.close();
    const peer = new Peer(this.#options.media.worker, {
      state: (state) => {
        if (this.#peer !== peer) return;
        if (state === 'connected') this.store.set({ phase: 'connected', complaint: null });
        else if (state === 'failed') this.#connectPeer();
      },
      sound: (userId, stream) => this.#speakers.set(userId, stream),
    });
    this.#peer = peer;
    this.#openMouth();
    peer.offer().then(
      (data) => {
        const select = { protocol: 'webrtc', data, codecs: CODECS, rtc_connection_id: crypto.randomUUID() };
        if (this.#peer === peer) this.#link.send(VOICE_OP.SELECT_PROTOCOL, select);
      },
      (error: unknown) => this.store.set({ complaint: `The browser made no offer: ${String(error)}` }),
    );
  }

  #heard(op: number, d: Json): void {
    const { media } = this.#options;
    if (op === VOICE_OP.SESSION_DESCRIPTION) this.#described(d);
    else if (op === VOICE_OP.CLIENTS_CONNECT) this.#joined((d.user_ids as string[] | undefined) ?? []);
    else if (op === VOICE_OP.CLIENT_DISCONNECT) this.#left(String(d.user_id));
    else if (op === VOICE_OP.SPEAKING) this.#hear(String(d.user_id), Number(d.ssrc));
    else if (op >= VOICE_OP.DAVE_PREPARE_TRANSITION) media.tell({ type: 'json', op, d });
  }

  #described(d: Json): void {
    const peer = this.#peer;
    if (typeof d.sdp !== 'string' || peer === null) return;
    peer.accept(d.sdp).catch((error: unknown) => {
      this.store.set({ complaint: `The server's description could not be used: ${String(error)}` });
    });
    for (const [userId, ssrc] of this.#ssrcs) peer.hear(userId, ssrc);
    this.#options.media.tell({ type: 'begin', version: Number(d.dave_protocol_version ?? 0) });
    this.#say(true);
  }

  #joined(userIds: readonly string[]): void {
    this.#options.media.tell({ type: 'joined', userIds });
    this.store.set({ present: new Set([...this.store.value.present, ...userIds]) });
  }

  #left(userId: string): void {
    this.#options.media.tell({ type: 'left', userId });
    this.#ssrcs.delete(userId);
    this.#peer?.forget(userId);
    this.store.set({ present: new Set([...this.store.value.present].filter((each) => each !== userId)) });
  }

  #hear(userId: string, ssrc: number): void {
    if (!(ssrc > 0) || userId === this.#options.ticket.userId) return;
    this.#ssrcs.set(userId, ssrc);
    this.#options.media.tell({ type: 'speaker', ssrc, userId });
    this.#peer?.hear(userId, ssrc);
  }

  #fromMedia(message: FromMedia): void {
    if (message.type === 'send') this.#link.send(message.op, message.d);
    else if (message.type === 'sendBinary') this.#link.sendBinary(message.op, message.payload);
    else if (message.type === 'status') this.store.set({ dave: message.status });
    else if (message.type === 'failed') this.store.set({ complaint: `Encryption failed: ${message.reason}` });
  }

  /** Silence is not sent: without a track the connection rests. */
  #openMouth(): void {
    const { muted } = this.store.value;
    const track = muted ? null : (this.#microphone?.track ?? null);
    // A connection that was closed meanwhile has no mouth to open.
    this.#peer?.speak(track).catch(() => {});
    if (track === null) this.#say(false);
  }

  #say(speaking: boolean): void {
    this.#speaking = speaking;
    if (this.#ssrc === 0) return;
    const flags = speaking ? SPEAKING.MICROPHONE : 0;
    this.#link.send(VOICE_OP.SPEAKING, { speaking: flags, delay: 0, ssrc: this.#ssrc });
  }

  /** Ten times a second: how loud everybody is, and whether that makes us a speaker. */
  #look(): void {
    const { muted } = this.store.value;
    const nowMs = performance.now();
    const own = muted ? 0 : (this.#microphone?.level() ?? 0);
    if (own > SPEECH_LEVEL) this.#spokeAtMs = nowMs;
    const speaks = nowMs - this.#spokeAtMs < HANG_MS && this.#spokeAtMs > 0 && !muted;
    if (speaks !== this.#speaking) this.#say(speaks);
    this.store.set({ levels: this.#speakers.levels().set(this.#options.ticket.userId, own) });
    this.#looks++;
    if (this.#looks % FIGURES_EVERY !== 0) return;
    this.#peer?.figures().then(
      (figures) => this.store.set({ figures }),
      () => {},
    );
  }
}

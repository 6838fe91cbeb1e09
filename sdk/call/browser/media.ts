import { OPUS_PAYLOAD_TYPE } from '../../../protocol/voice.ts';
import { asNumber, type Json } from '../../voice/wire.ts';
import type { CallMedia, CallMediaOptions, MediaFigures } from '../media.ts';
import type { FromSession, ToWorker } from './messages.ts';
import { type PageAudioContext, type PageTrack, type PageWorker, page } from './page.ts';
import { Peer } from './peer.ts';
import { whyUnreached } from './reach.ts';
import { Speakers } from './speakers.ts';

const CODECS = [
  { name: 'opus', type: 'audio', priority: 1000, payload_type: OPUS_PAYLOAD_TYPE, rtx_payload_type: null },
];

/** A connection takes one or two seconds; after this time the user sees why there is no audio. */
const CONNECT_LIMIT_MS = 8000;

/** Subjects of complaints, highest priority first. */
const SUBJECTS = ['transport', 'microphone', 'keys'] as const;
type Subject = (typeof SUBJECTS)[number];

/** Audio of the page that a voice session needs. */
interface PageAudio {
  readonly session: number;
  readonly worker: PageWorker;
  readonly context: PageAudioContext;
  /** Microphone track; null until it is open. */
  track(): PageTrack | null;
  closed(): void;
}

type Unnumbered<T> = T extends ToWorker ? Omit<T, 'session'> : never;

/** Audio and keys of one voice session in a page: WebRTC for transport, a worker for the keys. */
export class BrowserCallMedia implements CallMedia {
  readonly speakers: Speakers;
  readonly #options: CallMediaOptions;
  readonly #place: PageAudio;
  /** SSRC by user id, for received audio. */
  readonly #ssrcs = new Map<string, number>();
  #peer: Peer | null = null;
  #isUp = false;
  #isOpen = false;
  /** Runs while the connection carries no audio. */
  #connectTimer: ReturnType<typeof setTimeout> | null = null;
  readonly #complaints = new Map<Subject, string>();
  #reported: string | null = null;

  constructor(options: CallMediaOptions, place: PageAudio) {
    this.#options = options;
    this.#place = place;
    this.speakers = new Speakers(place.context);
  }

  get events() {
    return this.#options.events;
  }

  begin(): void {
    const { userId, groupId } = this.#options;
    this.#ssrcs.clear();
    this.#post({ type: 'start', userId, groupId });
    this.#connect();
  }

  described(d: Json): void {
    const peer = this.#peer;
    if (typeof d.sdp !== 'string' || peer === null) return;
    peer.accept(d.sdp).catch((error: unknown) => {
      if (this.#peer === peer) this.events.failed(`The server's description is of no use: ${String(error)}`);
    });
    for (const [userId, ssrc] of this.#ssrcs) peer.receive(userId, ssrc);
    this.#post({ type: 'begin', version: asNumber(d.dave_protocol_version ?? 0) });
  }

  broken(): void {
    this.#peer?.close();
    this.#peer = null;
    this.#up(false);
    this.#startConnectTimer();
  }

  resumed(): void {
    if (this.#peer === null) this.#connect();
  }

  joined(userIds: readonly string[]): void {
    this.#post({ type: 'joined', userIds });
  }

  left(userId: string): void {
    this.#post({ type: 'left', userId });
    this.#ssrcs.delete(userId);
    this.#peer?.forget(userId);
  }

  speaks(userId: string, ssrc: number): void {
    this.#ssrcs.set(userId, ssrc);
    this.#post({ type: 'speaker', ssrc, userId });
    this.#peer?.receive(userId, ssrc);
  }

  json(op: number, d: Json): void {
    this.#post({ type: 'json', op, d });
  }

  binary(op: number, payload: Uint8Array): void {
    this.#post({ type: 'binary', op, payload });
  }

  send(isOpen: boolean): void {
    if (isOpen === this.#isOpen) return;
    this.#isOpen = isOpen;
    this.updateTrack();
  }

  /** Silence is not sent: without a track the connection is idle. */
  updateTrack(): void {
    // The connection may have been closed meanwhile.
    this.#peer?.send(this.#isOpen ? this.#place.track() : null).catch(() => {});
  }

  setGain(userId: string, gain: number): void {
    this.speakers.setGain(userId, gain);
  }

  deafen(isDeaf: boolean): void {
    this.speakers.deafen(isDeaf);
  }

  levels(): Map<string, number> {
    return this.speakers.levels();
  }

  figures(): Promise<MediaFigures> {
    const none = { loss: null, jitterMs: null, roundTripMs: null };
    return this.#peer?.figures() ?? Promise.resolve(none);
  }

  close(): void {
    this.#stopConnectTimer();
    this.#peer?.close();
    this.#peer = null;
    this.speakers.clear();
    this.#post({ type: 'end' });
    this.#place.closed();
  }

  /** Handles messages of the worker. */
  received(message: FromSession): void {
    const { events } = this;
    if (message.type === 'send') events.send(message.op, message.d);
    else if (message.type === 'sendBinary') events.sendBinary(message.op, message.payload);
    else if (message.type === 'status') events.dave(message.status);
    else this.complain('keys', `Encryption failed: ${message.reason}`);
  }

  /** Sets or clears (null) the complaint of one subject; other subjects keep theirs. */
  complain(subject: Subject, sentence: string | null): void {
    if (sentence === null) this.#complaints.delete(subject);
    else this.#complaints.set(subject, sentence);
    const first = SUBJECTS.find((each) => this.#complaints.has(each));
    const reported = first === undefined ? null : this.#complaints.get(first)!;
    if (reported === this.#reported) return;
    this.#reported = reported;
    this.events.complaint(reported);
  }

  /** A new attempt does not restart the timer: the limit is for the user, not for one attempt. */
  #startConnectTimer(): void {
    this.#connectTimer ??= setTimeout(() => void this.#explain(), CONNECT_LIMIT_MS);
  }

  #stopConnectTimer(): void {
    if (this.#connectTimer !== null) clearTimeout(this.#connectTimer);
    this.#connectTimer = null;
    this.complain('transport', null);
  }

  async #explain(): Promise<void> {
    const known = await this.#peer?.reach().catch(() => undefined);
    if (this.#isUp || this.#connectTimer === null) return;
    const { location, navigator } = page();
    const pageHost = location?.hostname ?? '';
    const isFirefox = /\bFirefox\//.test(navigator.userAgent ?? '');
    const facts = { session: null, localCandidates: 0, pairs: 0, ...known, pageHost, isFirefox };
    this.complain('transport', whyUnreached(facts));
  }

  /** Opens the WebRTC connection, or replaces a broken one. */
  #connect(): void {
    const { events } = this;
    this.#peer?.close();
    this.#up(false);
    this.#startConnectTimer();
    const peer = new Peer((direction) => this.#transform(direction), {
      state: (state) => {
        if (this.#peer !== peer) return;
        if (state === 'connected') this.#up(true);
        else if (state === 'failed') this.#connect();
      },
      sound: (userId, stream) => this.speakers.set(userId, stream),
    });
    this.#peer = peer;
    this.updateTrack();
    peer.offer().then(
      (data) => {
        const rtcConnectionId = crypto.randomUUID();
        const select = { protocol: 'webrtc', data, codecs: CODECS, rtc_connection_id: rtcConnectionId };
        if (this.#peer === peer) events.select(select);
      },
      (error: unknown) => {
        if (this.#peer === peer) events.failed(`The browser made no offer: ${String(error)}`);
      },
    );
  }

  #transform(direction: 'send' | 'receive'): unknown {
    const { RTCRtpScriptTransform: Transform } = page();
    const { worker, session } = this.#place;
    return Transform === undefined ? undefined : new Transform(worker, { session, direction });
  }

  #up(isUp: boolean): void {
    if (isUp === this.#isUp) return;
    this.#isUp = isUp;
    if (isUp) this.#stopConnectTimer();
    this.events.sound(isUp);
  }

  #post(message: Unnumbered<ToWorker>): void {
    this.#place.worker.postMessage({ ...message, session: this.#place.session });
  }
}

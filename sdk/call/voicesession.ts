import { DAVE_VERSION_MAX, SPEAKING, VOICE_CLOSE, VOICE_OP } from '../../protocol/voice.ts';
import type { DaveStatus } from '../voice/daveflow.ts';
import { VoiceLink, type VoiceTicket } from '../voice/voicelink.ts';
import { asNumber, type Json, type OpenSocket } from '../voice/wire.ts';
import type { Gate } from './gate.ts';
import type { AudioCallbacks, CallAudio, CallMedia, MediaFigures } from './media.ts';

interface VoiceSessionOptions {
  /** URL of the voice gateway, without a query. */
  readonly url: string;
  readonly ticket: Omit<VoiceTicket, 'maxDaveVersion'>;
  readonly open: OpenSocket;
  readonly audio: CallAudio;
  readonly callbacks: AudioCallbacks | null;
  readonly gate: Gate;
  readonly events: VoiceSessionEvents;
}

interface VoiceSessionEvents {
  signaled(): void;
  /** The connection closed with `code` and is being retried. */
  lost(code: number): void;
  resumed(hasSound: boolean): void;
  sound(isUp: boolean): void;
  ended(end: { readonly code: number; readonly reason: string; readonly retry: boolean }): void;
  /** User ids with a connection to the call, the current user included. */
  present(userIds: ReadonlySet<string>): void;
  speaking(userId: string, isSpeaking: boolean): void;
  /** Levels of the other members, ten times a second. */
  levels(levels: Map<string, number>): void;
  /** Level of the microphone. */
  level(levelDb: number): void;
  dave(status: DaveStatus): void;
  complaint(sentence: string | null): void;
}

const POLL_MS = 100;
/** The voice gateway answers within a second; after this time the user sees that it does not. */
const READY_LIMIT_MS = 8000;
/** Root mean square above which a member counts as speaking, and for how many polls after that. */
const SPEECH_LEVEL = 0.003;
const HANG_POLLS = 3;

/** One voice session with one ticket: coordinates voice gateway, keys and media. */
export class VoiceSession {
  readonly #options: VoiceSessionOptions;
  readonly #link: VoiceLink;
  readonly #media: CallMedia;
  readonly #pollTimer: ReturnType<typeof setInterval>;
  readonly #present: Set<string>;
  readonly #gains = new Map<string, number>();
  /** Remaining polls by speaking user. */
  readonly #speaking = new Map<string, number>();
  readonly #readyTimer: ReturnType<typeof setTimeout>;
  #signalingComplaint: string | null = null;
  #mediaComplaint: string | null = null;
  #ssrc = 0;
  #hasSound = false;
  #isMuted = false;
  /** Whether the last op 5 reported speaking. */
  #isSending = false;

  constructor(options: VoiceSessionOptions) {
    this.#options = options;
    const { ticket, audio, callbacks, url, open, events } = options;
    this.#present = new Set([ticket.userId]);
    this.#media = audio.open({
      userId: ticket.userId,
      groupId: ticket.channelId,
      callbacks,
      events: {
        select: (d) => this.#link.send(VOICE_OP.SELECT_PROTOCOL, d),
        send: (op, d) => this.#link.send(op, d),
        sendBinary: (op, payload) => this.#link.sendBinary(op, payload),
        sound: (isUp) => {
          this.#hasSound = isUp;
          events.sound(isUp);
        },
        level: (levelDb) => this.#measureInput(levelDb),
        dave: events.dave,
        complaint: (sentence) => {
          this.#mediaComplaint = sentence;
          this.#reportComplaint();
        },
        failed: (reason) => events.ended({ code: 0, reason, retry: true }),
      },
    });
    this.#link = new VoiceLink({
      url,
      ticket: { ...ticket, maxDaveVersion: DAVE_VERSION_MAX },
      open,
      events: {
        ready: (d) => this.#ready(d),
        json: (op, d) => this.#received(op, d),
        binary: (op, payload) => this.#media.binary(op, payload),
        lost: (code) => {
          if (code === VOICE_CLOSE.WEBRTC_CRASHED.code) this.#media.broken();
          events.lost(code);
        },
        resumed: () => {
          this.#media.resumed();
          events.resumed(this.#hasSound);
        },
        ended: events.ended,
      },
    });
    this.#pollTimer = setInterval(() => this.#poll(), POLL_MS);
    this.#readyTimer = setTimeout(() => {
      this.#signalingComplaint =
        `The voice gateway at ${url} does not answer. Check that the server runs and that a proxy in front of it ` +
        'passes WebSockets on this path; until then this client tries again.';
      this.#reportComplaint();
    }, READY_LIMIT_MS);
  }

  mute(isMuted: boolean): void {
    this.#isMuted = isMuted;
    this.refresh();
  }

  deafen(isDeaf: boolean): void {
    this.#media.deafen(isDeaf);
  }

  setGain(userId: string, gain: number): void {
    this.#gains.set(userId, gain);
    this.#media.setGain(userId, gain);
  }

  /** Starts or stops sending according to mute and gate. */
  refresh(): void {
    const isOpen = !this.#isMuted && this.#options.gate.isOpen(performance.now());
    this.#media.send(isOpen);
    if (isOpen !== this.#isSending) this.#setSending(isOpen);
  }

  figures(): Promise<MediaFigures> {
    return this.#media.figures();
  }

  close(): void {
    clearInterval(this.#pollTimer);
    clearTimeout(this.#readyTimer);
    this.#link.close();
    this.#media.close();
  }

  #ready(d: Json): void {
    this.#ssrc = asNumber(d.ssrc);
    clearTimeout(this.#readyTimer);
    if (this.#signalingComplaint !== null) {
      this.#signalingComplaint = null;
      this.#reportComplaint();
    }
    this.#media.begin(d);
    for (const [userId, gain] of this.#gains) this.#media.setGain(userId, gain);
    this.#options.events.signaled();
  }

  #received(op: number, d: Json): void {
    const media = this.#media;
    if (op === VOICE_OP.SESSION_DESCRIPTION) {
      media.described(d);
      // Other members learn the SSRC of this client from op 5.
      this.#sendSpeaking(true);
      if (!this.#isSending) this.#sendSpeaking(false);
    } else if (op === VOICE_OP.CLIENTS_CONNECT) this.#joined(d.user_ids);
    else if (op === VOICE_OP.CLIENT_DISCONNECT) this.#left(String(d.user_id));
    else if (op === VOICE_OP.SPEAKING) {
      const userId = String(d.user_id);
      if (asNumber(d.ssrc) > 0 && userId !== this.#options.ticket.userId)
        media.speaks(userId, asNumber(d.ssrc));
    } else if (op >= VOICE_OP.DAVE_PREPARE_TRANSITION) media.json(op, d);
  }

  #reportComplaint(): void {
    this.#options.events.complaint(this.#signalingComplaint ?? this.#mediaComplaint);
  }

  #joined(given: unknown): void {
    const userIds = Array.isArray(given) ? given.map(String) : [];
    this.#media.joined(userIds);
    for (const userId of userIds) this.#present.add(userId);
    this.#options.events.present(new Set(this.#present));
  }

  #left(userId: string): void {
    this.#media.left(userId);
    this.#present.delete(userId);
    if (this.#speaking.delete(userId)) this.#options.events.speaking(userId, false);
    this.#options.events.present(new Set(this.#present));
  }

  #measureInput(levelDb: number | null): void {
    const { gate, events } = this.#options;
    if (levelDb === null) gate.levelUnknown(performance.now());
    else gate.measure(levelDb, performance.now());
    this.refresh();
    if (levelDb !== null) events.level(levelDb);
  }

  #setSending(isSending: boolean): void {
    const { events, ticket } = this.#options;
    this.#isSending = isSending;
    this.#sendSpeaking(isSending);
    events.speaking(ticket.userId, isSending);
  }

  #sendSpeaking(isSending: boolean): void {
    const speaking = isSending ? SPEAKING.MICROPHONE : 0;
    if (this.#ssrc > 0) this.#link.send(VOICE_OP.SPEAKING, { speaking, delay: 0, ssrc: this.#ssrc });
  }

  /** Updates which members are speaking, and closes the gate after a released key. */
  #poll(): void {
    const { events } = this.#options;
    this.refresh();
    const levels = this.#media.levels();
    for (const [userId, level] of levels) {
      if (level <= SPEECH_LEVEL) continue;
      if (!this.#speaking.has(userId)) events.speaking(userId, true);
      this.#speaking.set(userId, HANG_POLLS);
    }
    for (const [userId, looks] of this.#speaking) {
      if (looks > 0) this.#speaking.set(userId, looks - 1);
      else {
        this.#speaking.delete(userId);
        events.speaking(userId, false);
      }
    }
    events.levels(levels);
  }
}

import { messageOf } from '../protocol/thrown.ts';
import type { AudioModeType } from '../sdk/call/enums.ts';
import { Gate, type VADThresholdSettings } from '../sdk/call/gate.ts';
import type { CallAudio, MediaFigures } from '../sdk/call/media.ts';
import { VoiceSession } from '../sdk/call/voicesession.ts';
import type { DaveStatus } from '../sdk/voice/daveflow.ts';
import type { VoiceTicket } from '../sdk/voice/voicelink.ts';
import { openSocket, socketUrl } from './socket.ts';
import { createStore } from './store.ts';

export interface CallState {
  readonly phase: 'connecting' | 'connected' | 'reconnecting';
  readonly dave: DaveStatus | null;
  readonly muted: boolean;
  readonly deafened: boolean;
  /** Members known to be connected to the call. */
  readonly present: ReadonlySet<string>;
  /** Levels from 0 to 1 by user, including the user of this page. */
  readonly levels: ReadonlyMap<string, number>;
  readonly figures: MediaFigures | null;
  /** An error that does not end the call. */
  readonly complaint: string | null;
}

interface CallOptions {
  readonly ticket: Omit<VoiceTicket, 'maxDaveVersion'>;
  readonly audio: CallAudio;
  readonly muted: boolean;
  readonly deafened: boolean;
  readonly speaking: (userId: string, isSpeaking: boolean) => void;
  readonly ended: (end: { readonly code: number; readonly reason: string; readonly retry: boolean }) => void;
}

/** Level updates per reading of the statistics: at ten updates a second, they are read every two seconds. */
const FIGURES_EVERY = 20;
const PATH = '/voice/';

/** State of one call for the views. */
export class Call {
  readonly store;
  readonly audio: CallAudio;
  readonly #options: CallOptions;
  readonly #session: VoiceSession;
  readonly #gate = new Gate();
  /** Root mean square of the microphone. */
  #own = 0;
  #looks = 0;
  /** Errors of the session, and of a failed choice of a microphone. */
  #complaint: string | null = null;
  #inputComplaint: string | null = null;

  constructor(options: CallOptions) {
    this.#options = options;
    const { muted, deafened, audio, ticket, ended } = options;
    this.audio = audio;
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
    const { store } = this;
    this.#session = new VoiceSession({
      url: socketUrl(PATH),
      ticket,
      open: openSocket,
      audio,
      callbacks: null,
      gate: this.#gate,
      events: {
        signaled: () => {},
        lost: () => store.set({ phase: 'reconnecting' }),
        resumed: (hasSound) => hasSound && store.set({ phase: 'connected' }),
        sound: (isUp) => this.#sounds(isUp),
        ended: (end) => {
          this.leave();
          ended(end);
        },
        present: (present) => store.set({ present }),
        speaking: options.speaking,
        levels: (levels) => this.#look(levels),
        level: (levelDb) => {
          this.#own = 10 ** (levelDb / 20);
        },
        dave: (dave) => store.set({ dave }),
        complaint: (complaint) => {
          this.#complaint = complaint;
          this.#complain();
        },
      },
    });
    this.#session.mute(muted);
    this.#session.deafen(deafened);
  }

  mute(muted: boolean): void {
    this.store.set({ muted });
    this.#session.mute(muted);
  }

  deafen(deafened: boolean): void {
    this.store.set({ deafened });
    this.#session.deafen(deafened);
  }

  /** Switches to another microphone; on failure the current one stays in use. */
  async useInput(deviceId: string): Promise<void> {
    try {
      await this.audio.useInput(deviceId);
      this.#inputComplaint = null;
    } catch (error) {
      this.#inputComplaint = messageOf(error);
    }
    this.#complain();
  }

  /** When the microphone is sent: by voice, or while the push-to-talk key is held. */
  listenBy(mode: AudioModeType, vad: VADThresholdSettings, releaseDelayMs: number): void {
    Object.assign(this.#gate, { mode, vad, releaseDelayMs });
    this.#session.refresh();
  }

  /** The push-to-talk key was pressed or released. */
  hold(isHeld: boolean): void {
    this.#gate.setHeld(isHeld, performance.now());
    this.#session.refresh();
  }

  setGain(userId: string, gain: number): void {
    this.#session.setGain(userId, gain);
  }

  leave(): void {
    this.#session.close();
  }

  #sounds(isUp: boolean): void {
    const { phase } = this.store.value;
    if (isUp) this.store.set({ phase: 'connected' });
    else if (phase === 'connected') this.store.set({ phase: 'reconnecting' });
  }

  #complain(): void {
    this.store.set({ complaint: this.#complaint ?? this.#inputComplaint });
  }

  #look(levels: Map<string, number>): void {
    const own = this.store.value.muted ? 0 : this.#own;
    this.store.set({ levels: levels.set(this.#options.ticket.userId, own) });
    this.#looks++;
    if (this.#looks % FIGURES_EVERY !== 0) return;
    this.#session.figures().then(
      (figures) => this.store.set({ figures }),
      () => {},
    );
  }
}

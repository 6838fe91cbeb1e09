import { type Actor, createActor } from 'xstate';
import { OP } from '../../protocol/opcodes.ts';
import { VOICE_CLOSE } from '../../protocol/voice.ts';
import { ErrorType } from '../enums.ts';
import { ClientError, invalid } from '../result.ts';
import { Signal } from '../signal.ts';
import type { DaveStatus } from '../voice/daveflow.ts';
import { backoffMs, type Timer } from '../voice/wire.ts';
import { type CallState, callMachine, STATUS_OF } from './call.machine.ts';
import { AudioModeType, CallError, CallStatus, callErrorToString } from './enums.ts';
import { Gate, SILENCE_DB, type VADThresholdSettings } from './gate.ts';
import type { CallHost } from './host.ts';
import type { AudioCallbacks } from './media.ts';
import { VoiceSession } from './voicesession.ts';
import type { VoiceNews, VoiceStateHandle, VoiceStates } from './voicestates.ts';

/** Context that the calls of one client share. */
export interface CallContext {
  readonly host: CallHost;
  readonly states: VoiceStates;
  readonly isMuted: boolean;
  readonly isDeaf: boolean;
  /** Sends op 17 with all current calls except `except`. */
  sendVoiceStates(except?: Call): void;
  /** Reports the microphone's level. */
  inputLevel(levelDb: number): void;
  ended(call: Call): void;
}

/** Endpoint of the voice server, and the token for it. */
interface Ticket {
  readonly endpoint: string;
  readonly token: string;
}

/** Time limit of each state, milliseconds. States not listed have none. */
const TIME_LIMIT_MS: Readonly<Partial<Record<CallState, number>>> = {
  joining: 10_000,
  connecting: 15_000,
  signalingConnected: 15_000,
  reconnecting: 60_000,
  disconnecting: 1_000,
};
/** Time limit for the gateway's answer to a rejoin request, milliseconds. */
const REJOIN_ANSWER_MS = 5_000;
/** A connection this old resets the number of retries, milliseconds. */
const SETTLED_MS = 60_000;
export const VOLUME_MAX = 200;

/** Close codes of the voice server after which there is no rejoin. */
const ERROR_OF: Readonly<Record<number, CallError>> = {
  [VOICE_CLOSE.AUTHENTICATION_FAILED.code]: CallError.Forbidden,
  [VOICE_CLOSE.SERVER_NOT_FOUND.code]: CallError.Forbidden,
  [VOICE_CLOSE.DISCONNECTED.code]: CallError.Forbidden,
  [VOICE_CLOSE.E2EE_REQUIRED.code]: CallError.Forbidden,
  [VOICE_CLOSE.CALL_TERMINATED.code]: CallError.SignalingUnexpectedClose,
};

/** One call in a lobby. Created by `Calls`. */
export class Call {
  readonly #context: CallContext;
  readonly #lobbyId: string;
  readonly #gate = new Gate();
  readonly #actor: Actor<typeof callMachine>;
  readonly #localMutes = new Set<string>();
  readonly #volumes = new Map<string, number>();
  readonly #status: Signal<[status: CallStatus, error: CallError, errorDetail: number]>;
  readonly #participant: Signal<[userId: string, isAdded: boolean]>;
  readonly #speaking: Signal<[userId: string, isPlayingSound: boolean]>;
  readonly #voiceState: Signal<[userId: string]>;
  readonly #encryption: Signal<[status: DaveStatus]>;
  readonly #callbacks: AudioCallbacks | null;
  #reportedStatus: CallStatus = CallStatus.Disconnected;
  #session: VoiceSession | null = null;
  #ticket: Ticket | null = null;
  /** The gateway session that joined the call. */
  #sessionId: string | null = null;
  #isAudioLoaded = false;
  #isWanted = false;
  #selfMute = false;
  #selfDeaf = false;
  #timer: Timer | null = null;
  #rejoinTimer: Timer | null = null;
  #closeCode = 0;
  #failure: ClientError | null = null;
  #dave: DaveStatus | null = null;
  #complaint: string | null = null;

  constructor(context: CallContext, lobbyId: string, callbacks: AudioCallbacks | null) {
    this.#context = context;
    this.#lobbyId = lobbyId;
    this.#callbacks = callbacks;
    const { complain } = context.host;
    this.#status = new Signal(complain);
    this.#participant = new Signal(complain);
    this.#speaking = new Signal(complain);
    this.#voiceState = new Signal(complain);
    this.#encryption = new Signal(complain);
    this.#actor = createActor(callMachine, {
      input: {
        ask: (rejoins) => this.#ask(rejoins),
        cancelAsk: () => clearTimeout(this.#rejoinTimer ?? undefined),
        dial: () => this.#dial(),
        hangUp: () => this.#hangUp(),
        leave: () => this.#leave(),
        wait: (state) => this.#startStateTimer(state),
      },
    });
    this.#actor.subscribe({ next: () => this.#reportStatus(), error: (error) => complain(error) });
    this.#actor.start();
  }

  // Methods for the application.

  getStatus(): CallStatus {
    return STATUS_OF[this.#actor.getSnapshot().value];
  }

  getChannelId(): string {
    return this.#lobbyId;
  }

  /** Always null: a lobby's call belongs to no guild. */
  getGuildId(): string | null {
    return null;
  }

  /** User ids of everyone in the call, the current user included, from gateway dispatches. */
  getParticipants(): string[] {
    return this.#context.states.participants(this.#lobbyId);
  }

  getVoiceStateHandle(userId: string): VoiceStateHandle | null {
    return this.#context.states.state(this.#lobbyId, userId);
  }

  /** Why the call ended; null while it lasts, or when the application ended it. */
  getFailure(): ClientError | null {
    return this.#failure;
  }

  /** End-to-end encryption status of the call; null before it is known. */
  getEncryption(): DaveStatus | null {
    return this.#dave;
  }

  /** A problem that limits the call, as a sentence for the user; null without one. */
  getComplaint(): string | null {
    return this.#complaint;
  }

  /** Resolves when audio is connected. @throws ClientError when the call ends before that. */
  connected(): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = (status: CallStatus): void => {
        if (status !== CallStatus.Connected && status !== CallStatus.Disconnected) return;
        dispose();
        if (status === CallStatus.Connected) resolve();
        else reject(this.#failure ?? new ClientError(ErrorType.Aborted, 'The call was ended.'));
      };
      const dispose = this.#status.add(check);
      check(this.getStatus());
    });
  }

  getSelfMute(): boolean {
    return this.#selfMute;
  }

  setSelfMute(mute: boolean): void {
    this.#selfMute = mute;
    this.refresh();
    this.#context.sendVoiceStates();
  }

  getSelfDeaf(): boolean {
    return this.#selfDeaf;
  }

  setSelfDeaf(deaf: boolean): void {
    this.#selfDeaf = deaf;
    this.refresh();
    this.#context.sendVoiceStates();
  }

  getLocalMute(userId: string): boolean {
    return this.#localMutes.has(userId);
  }

  /** Mutes a member for this client only. */
  setLocalMute(userId: string, mute: boolean): void {
    if (mute) this.#localMutes.add(userId);
    else this.#localMutes.delete(userId);
    this.#session?.setGain(userId, this.#gainOf(userId));
  }

  getParticipantVolume(userId: string): number {
    return this.#volumes.get(userId) ?? 100;
  }

  /** @param volume 0 to 200; 100 is unchanged. @throws ClientError when out of range. */
  setParticipantVolume(userId: string, volume: number): void {
    this.#volumes.set(userId, checkRange(volume, 0, VOLUME_MAX, 'The volume of a participant'));
    this.#session?.setGain(userId, this.#gainOf(userId));
  }

  getAudioMode(): AudioModeType {
    return this.#gate.mode;
  }

  /** @throws ClientError when the mode is neither MODE_VAD nor MODE_PTT. */
  setAudioMode(mode: AudioModeType): void {
    if (mode !== AudioModeType.MODE_VAD && mode !== AudioModeType.MODE_PTT)
      throw invalid('The audio mode must be MODE_VAD or MODE_PTT.');
    this.#gate.mode = mode;
    this.#session?.refresh();
  }

  getPTTActive(): boolean {
    return this.#gate.isHeld;
  }

  setPTTActive(active: boolean): void {
    this.#gate.setHeld(active, performance.now());
    this.#session?.refresh();
  }

  getPTTReleaseDelay(): number {
    return this.#gate.releaseDelayMs;
  }

  /** @param releaseDelayMs 0 to 10000. @throws ClientError when out of range. */
  setPTTReleaseDelay(releaseDelayMs: number): void {
    this.#gate.releaseDelayMs = checkRange(releaseDelayMs, 0, 10_000, 'The release delay');
  }

  getVADThreshold(): VADThresholdSettings {
    return this.#gate.vad;
  }

  /** @param threshold Decibels, -100 to 0. @throws ClientError when out of range. */
  setVADThreshold(automatic: boolean, threshold: number): void {
    this.#gate.vad = { automatic, vadThreshold: checkRange(threshold, SILENCE_DB, 0, 'The threshold') };
  }

  readonly setStatusChangedCallback = (
    callback: (status: CallStatus, error: CallError, errorDetail: number) => void,
  ) => this.#status.set(callback);

  readonly setParticipantChangedCallback = (callback: (userId: string, isAdded: boolean) => void) =>
    this.#participant.set(callback);

  readonly setSpeakingStatusChangedCallback = (callback: (userId: string, isPlayingSound: boolean) => void) =>
    this.#speaking.set(callback);

  readonly setOnVoiceStateChangedCallback = (callback: (userId: string) => void) =>
    this.#voiceState.set(callback);

  readonly setEncryptionChangedCallback = (callback: (status: DaveStatus) => void) =>
    this.#encryption.set(callback);

  // Members for `Calls`.

  /** This call's entry in op 17; null when the call is not wanted. */
  get wish(): { readonly lobby_id: string; readonly self_mute: boolean; readonly self_deaf: boolean } | null {
    if (!this.#isWanted) return null;
    return { lobby_id: this.#lobbyId, self_mute: this.#isMute, self_deaf: this.#isDeaf };
  }

  /** The call is neither disconnected nor disconnecting. */
  get isOn(): boolean {
    const status = this.getStatus();
    return status !== CallStatus.Disconnected && status !== CallStatus.Disconnecting;
  }

  /** Resolves when the call has ended. */
  over(): Promise<void> {
    return new Promise((resolve) => {
      const check = (status: CallStatus): void => {
        if (status !== CallStatus.Disconnected) return;
        dispose();
        resolve();
      };
      const dispose = this.#status.add(check);
      check(this.getStatus());
    });
  }

  join(): void {
    this.#actor.send({ type: 'join' });
    this.#context.host.audio.load().then(
      () => {
        this.#isAudioLoaded = true;
        this.#connectIfReady();
      },
      (error: unknown) => {
        if (this.getStatus() === CallStatus.Disconnected) return;
        this.#failure =
          error instanceof ClientError ? error : new ClientError(ErrorType.Disabled, String(error));
        this.#refused(CallError.VoiceConnectionFailed);
      },
    );
  }

  end(): void {
    this.#actor.send({ type: 'leave' });
  }

  /** Ends the call without waiting for the gateway. */
  drop(): void {
    this.end();
    this.#actor.send({ type: 'left' });
  }

  /** Applies mute and deaf, of this call or of all calls, to the voice session. */
  refresh(): void {
    this.#session?.mute(this.#isMute);
    this.#session?.deafen(this.#isDeaf);
  }

  /** LOBBY_VOICE_SERVER_UPDATE. Without an endpoint no server is available yet; another dispatch will name one. */
  served(endpoint: unknown, token: unknown): void {
    if (typeof endpoint !== 'string' || typeof token !== 'string' || !this.#isWanted) return;
    const before = this.#ticket;
    if (this.#session !== null && before?.endpoint === endpoint && before.token === token) return;
    this.#ticket = { endpoint, token };
    this.#connectIfReady();
  }

  /** A voice state in this lobby changed; it may be the current user's. */
  receive({ userId, change, sessionId }: VoiceNews): void {
    const { host } = this.#context;
    if (change !== 'changed') this.#participant.emit(userId, change === 'added');
    if (change !== 'removed') this.#voiceState.emit(userId);
    const isOurs = userId === host.userId && (sessionId === null || sessionId === host.sessionId);
    if (!isOurs || change !== 'removed') return;
    const { value } = this.#actor.getSnapshot();
    if (value === 'disconnecting') this.#actor.send({ type: 'left' });
    // The server dropped an unreachable session. For a connected one the voice gateway's close code gives the reason.
    else if (value === 'reconnecting' || value === 'connecting') this.#actor.send({ type: 'ticketExpired' });
  }

  /** The lobby was deleted, or the current user is no longer a member. */
  expelled(): void {
    this.#refused(CallError.Forbidden);
  }

  /** A new gateway session began; it is in no call. */
  renewed(): void {
    this.#ticket = null;
    this.#actor.send({ type: 'ticketExpired' });
  }

  // Effects of the machine.

  #ask(rejoins: number): void {
    this.#isWanted = true;
    this.#ticket = null;
    if (rejoins === 0) this.#context.sendVoiceStates();
    else this.#rejoinTimer = setTimeout(() => this.#rejoin(rejoins), backoffMs(rejoins - 1));
  }

  /** The first attempt asks where the call is now; later attempts leave and join again. */
  #rejoin(rejoins: number): void {
    const { host, sendVoiceStates } = this.#context;
    if (rejoins > 1) sendVoiceStates(this);
    sendVoiceStates();
    if (rejoins === 1) host.send(OP.LOBBY_VOICE_SERVER_PING, { lobby_id: this.#lobbyId });
    this.#startTimer(REJOIN_ANSWER_MS, 'timedOut');
  }

  #connectIfReady(): void {
    if (this.#ticket !== null && this.#isAudioLoaded) this.#actor.send({ type: 'ticket' });
  }

  #dial(): void {
    const { host, inputLevel } = this.#context;
    this.#hangUp();
    const { userId, sessionId } = host;
    if (this.#ticket === null || userId === null || sessionId === null) return;
    const { endpoint, token } = this.#ticket;
    this.#sessionId = sessionId;
    const lobbyId = this.#lobbyId;
    try {
      this.#session = new VoiceSession({
        url: host.voiceUrl?.(endpoint) ?? `wss://${endpoint}`,
        ticket: { serverId: lobbyId, channelId: lobbyId, userId, sessionId, token },
        open: host.openSocket,
        audio: host.audio,
        callbacks: this.#callbacks,
        gate: this.#gate,
        events: {
          signaled: () => this.#actor.send({ type: 'signaled' }),
          lost: (code) => {
            this.#closeCode = code;
            this.#actor.send({ type: 'lost' });
          },
          resumed: (hasSound) => this.#actor.send({ type: 'resumed', hasSound }),
          sound: (isUp) => this.#actor.send({ type: isUp ? 'soundUp' : 'soundDown' }),
          ended: (end) => this.#ended(end),
          present: () => {},
          speaking: this.#speaking.emit,
          levels: () => {},
          level: (levelDb) => inputLevel(levelDb),
          dave: (status) => {
            this.#dave = status;
            this.#encryption.emit(status);
          },
          complaint: (sentence) => {
            this.#complaint = sentence;
            if (sentence !== null) host.log?.(`Call in ${lobbyId}: ${sentence}`);
          },
        },
      });
      this.refresh();
      for (const userId of new Set([...this.#volumes.keys(), ...this.#localMutes]))
        this.#session.setGain(userId, this.#gainOf(userId));
    } catch (error) {
      if (error instanceof ClientError) this.#failure = error;
      host.log?.(`Call in ${lobbyId}: the voice server cannot be reached: ${String(error)}`);
      this.#refused(CallError.SignalingConnectionFailed);
    }
  }

  #ended({ code, reason, retry }: { code: number; reason: string; retry: boolean }): void {
    this.#context.host.log?.(`Call in ${this.#lobbyId}: the voice session ended: ${code} ${reason}`);
    this.#closeCode = code;
    // A gateway session ends with its calls; the next session may rejoin them.
    const isOrphaned = this.#context.host.sessionId !== this.#sessionId;
    if (retry || isOrphaned) this.#actor.send({ type: 'ticketExpired' });
    else this.#refused(ERROR_OF[code] ?? CallError.SignalingConnectionFailed);
  }

  #hangUp(): void {
    this.#session?.close();
    this.#session = null;
    this.#dave = null;
    this.#complaint = null;
  }

  #leave(): void {
    this.#isWanted = false;
    this.#context.sendVoiceStates();
  }

  #startStateTimer(state: CallState): void {
    if (state === 'connected') this.#startTimer(SETTLED_MS, 'settled');
    else this.#startTimer(TIME_LIMIT_MS[state] ?? null, 'timedOut');
  }

  #startTimer(ms: number | null, type: 'timedOut' | 'settled'): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (ms !== null) this.#timer = setTimeout(() => this.#actor.send({ type }), ms);
  }

  #refused(error: CallError): void {
    this.#actor.send({ type: 'refused', error });
  }

  /** Emits the public status if it changed. */
  #reportStatus(): void {
    const { value, context } = this.#actor.getSnapshot();
    const status = STATUS_OF[value];
    if (status === this.#reportedStatus) return;
    this.#reportedStatus = status;
    if (status === CallStatus.Disconnected) {
      this.#startTimer(null, 'timedOut');
      if (context.error !== CallError.None)
        this.#failure ??= new ClientError(
          ErrorType.NetworkError,
          `The call failed: ${callErrorToString(context.error)}.`,
          { errorCode: this.#closeCode, retryable: context.error !== CallError.Forbidden },
        );
      this.#context.ended(this);
    }
    this.#status.emit(status, context.error, this.#closeCode);
  }

  get #isMute(): boolean {
    return this.#selfMute || this.#context.isMuted;
  }

  get #isDeaf(): boolean {
    return this.#selfDeaf || this.#context.isDeaf;
  }

  #gainOf(userId: string): number {
    return this.#localMutes.has(userId) ? 0 : this.getParticipantVolume(userId) / 100;
  }
}

/** @throws ClientError when the value is out of range. */
export function checkRange(value: number, min: number, max: number, what: string): number {
  if (!(value >= min && value <= max)) throw invalid(`${what} must be a number from ${min} to ${max}.`);
  return value;
}

import { OP } from '../../protocol/opcodes.ts';
import { invalid } from '../result.ts';
import { type Disposer, Signal } from '../signal.ts';
import { isJson, type Json } from '../voice/wire.ts';
import { Call, type CallContext, checkRange, VOLUME_MAX } from './call.ts';
import { SILENCE_DB } from './gate.ts';
import type { CallHost } from './host.ts';
import { type AudioCallbacks, type AudioDevice, type AudioProcessing, DEFAULT_DEVICE } from './media.ts';
import { type CallInfoHandle, userIdOf, type VoiceNews, VoiceStates } from './voicestates.ts';

/** Silence of this length, milliseconds, is reported as "no input". */
const NO_INPUT_MS = 5_000;
/** Calls a client may be in at once. */
const CALLS_MAX = 25;

export const createCalls = (host: CallHost): Calls => new Calls(host);

/** The calls of a client and the audio settings they share. */
export class Calls {
  readonly #host: CallHost;
  readonly #context: CallContext;
  readonly #states = new VoiceStates();
  readonly #calls = new Map<string, Call>();
  readonly #unsubscribe: Disposer;
  readonly #participant: Signal<[lobbyId: string, userId: string, isAdded: boolean]>;
  readonly #noInput: Signal<[inputDetected: boolean]>;
  #isMuted = false;
  #isDeaf = false;
  #inputVolume = 100;
  #outputVolume = 100;
  #processing: AudioProcessing = {
    echoCancellation: true,
    noiseSuppression: true,
    automaticGainControl: true,
  };
  /** Threshold of the no-input detection; `SILENCE_DB` turns it off. */
  #noInputDb = SILENCE_DB;
  #hasInput = true;
  #inputAtMs = 0;
  #unsubscribeDevices: Disposer | null = null;
  /** The body of the last op 17, as JSON. */
  #sentVoiceStates = '[]';

  constructor(host: CallHost) {
    this.#host = host;
    this.#participant = new Signal((error) => host.complain(error));
    this.#noInput = new Signal((error) => host.complain(error));
    const calls = this;
    this.#context = {
      host,
      states: this.#states,
      get isMuted() {
        return calls.#isMuted;
      },
      get isDeaf() {
        return calls.#isDeaf;
      },
      sendVoiceStates: (except) => this.#sendVoiceStates(except),
      inputLevel: (levelDb) => this.#measureInput(levelDb),
      ended: (call) => {
        if (this.#calls.get(call.getChannelId()) === call) this.#calls.delete(call.getChannelId());
      },
    };
    this.#unsubscribe = host.subscribe((name, d) => this.#dispatched(name, d));
  }

  /** Starts the call of a lobby, or returns the current one. The call reports its status. */
  startCall(lobbyId: string): Call {
    return this.#start(lobbyId, null);
  }

  /**
   * Like `startCall`, with callbacks that receive and may change each 20 ms frame of the microphone and of each
   * member.
   */
  startCallWithAudioCallbacks(
    lobbyId: string,
    received: AudioCallbacks['received'],
    captured: AudioCallbacks['captured'],
  ): Call {
    return this.#start(lobbyId, { received, captured });
  }

  /** Resolves when the call has ended; at once without a call. */
  endCall(lobbyId: string): Promise<void> {
    const call = this.#calls.get(lobbyId);
    call?.end();
    return call?.over() ?? Promise.resolve();
  }

  async endCalls(): Promise<void> {
    await Promise.all([...this.#calls.keys()].map((lobbyId) => this.endCall(lobbyId)));
  }

  getCall(lobbyId: string): Call | null {
    return this.#calls.get(lobbyId) ?? null;
  }

  getCalls(): Call[] {
    return [...this.#calls.values()];
  }

  /** A lobby's call as every member sees it; null when it is empty. */
  getCallInfoHandle(lobbyId: string): CallInfoHandle | null {
    if (this.#states.participants(lobbyId).length === 0) return null;
    return {
      channelId: lobbyId,
      guildId: null,
      getParticipants: () => this.#states.participants(lobbyId),
      getVoiceStateHandle: (userId) => this.#states.state(lobbyId, userId),
    };
  }

  getSelfMuteAll(): boolean {
    return this.#isMuted;
  }

  setSelfMuteAll(mute: boolean): void {
    this.#isMuted = mute;
    this.#refresh();
  }

  getSelfDeafAll(): boolean {
    return this.#isDeaf;
  }

  setSelfDeafAll(deaf: boolean): void {
    this.#isDeaf = deaf;
    this.#refresh();
  }

  getInputVolume(): number {
    return this.#inputVolume;
  }

  /** @param volume 0 to 100; 100 is unchanged. @throws ClientError when out of range. */
  setInputVolume(volume: number): void {
    this.#inputVolume = checkRange(volume, 0, 100, 'The input volume');
    this.#host.audio.setInputVolume(volume / 100);
  }

  getOutputVolume(): number {
    return this.#outputVolume;
  }

  /** @param volume 0 to 200; 100 is unchanged. @throws ClientError when out of range. */
  setOutputVolume(volume: number): void {
    this.#outputVolume = checkRange(volume, 0, VOLUME_MAX, 'The output volume');
    this.#host.audio.setOutputVolume(volume / 100);
  }

  getDefaultAudioDeviceId(): string {
    return DEFAULT_DEVICE;
  }

  getInputDevices(): Promise<readonly AudioDevice[]> {
    return this.#host.audio.inputDevices();
  }

  getOutputDevices(): Promise<readonly AudioDevice[]> {
    return this.#host.audio.outputDevices();
  }

  async getCurrentInputDevice(): Promise<AudioDevice | null> {
    const { inputDevice } = this.#host.audio;
    return (await this.getInputDevices()).find(({ id }) => id === inputDevice) ?? null;
  }

  async getCurrentOutputDevice(): Promise<AudioDevice | null> {
    const { outputDevice } = this.#host.audio;
    return (await this.getOutputDevices()).find(({ id }) => id === outputDevice) ?? null;
  }

  setInputDevice(deviceId: string): Promise<void> {
    return this.#host.audio.useInput(deviceId);
  }

  setOutputDevice(deviceId: string): Promise<void> {
    return this.#host.audio.useOutput(deviceId);
  }

  /** Called with all devices when a device is added or removed. */
  setDeviceChangeCallback(
    callback: (inputs: readonly AudioDevice[], outputs: readonly AudioDevice[]) => void,
  ): Disposer {
    this.#unsubscribeDevices?.();
    const unwatch = this.#host.audio.watchDevices(() => {
      Promise.all([this.getInputDevices(), this.getOutputDevices()])
        .then(([inputs, outputs]) => callback(inputs, outputs))
        .catch((error: unknown) => this.#host.complain(error));
    });
    this.#unsubscribeDevices = unwatch;
    return unwatch;
  }

  setEchoCancellation(on: boolean): void {
    this.#process({ echoCancellation: on });
  }

  setNoiseSuppression(on: boolean): void {
    this.#process({ noiseSuppression: on });
  }

  setAutomaticGainControl(on: boolean): void {
    this.#process({ automaticGainControl: on });
  }

  /**
   * @param dBFSThreshold Below this level for five seconds there is no input; -100 to 100, -100 turns the
   *   detection off.
   */
  setNoAudioInputThreshold(dBFSThreshold: number): void {
    this.#noInputDb = checkRange(dBFSThreshold, SILENCE_DB, 100, 'The threshold');
  }

  /** Called when the microphone falls silent altogether, and when input is detected again. */
  readonly setNoAudioInputCallback = (callback: (inputDetected: boolean) => void): Disposer =>
    this.#noInput.set(callback);

  /** Called when a user joins or leaves the call of any lobby of the current user. */
  readonly setVoiceParticipantChangedCallback = (
    callback: (lobbyId: string, userId: string, isAdded: boolean) => void,
  ): Disposer => this.#participant.set(callback);

  /** Ends all calls at once, without telling the gateway. */
  drop(): void {
    for (const call of this.getCalls()) call.drop();
    this.#sentVoiceStates = '[]';
  }

  /** Ends all calls and releases all audio devices. */
  close(): void {
    this.#unsubscribe();
    this.#unsubscribeDevices?.();
    this.drop();
    this.#host.audio.close();
  }

  #start(lobbyId: string, callbacks: AudioCallbacks | null): Call {
    const before = this.#calls.get(lobbyId);
    if (before?.isOn) {
      if (callbacks !== null)
        throw invalid('This client is already in the call of this lobby; end it first.');
      return before;
    }
    before?.drop();
    if (this.#calls.size >= CALLS_MAX)
      throw invalid(`A client can be in at most ${CALLS_MAX} calls at once.`);
    const call = new Call(this.#context, lobbyId, callbacks);
    this.#calls.set(lobbyId, call);
    call.join();
    // The gateway does not answer non-members. Deferred, so that the caller can add its callbacks first.
    queueMicrotask(() => this.#checkMembership(call));
    return call;
  }

  #checkMembership(call: Call): void {
    if (call.isOn && this.#host.isMember(call.getChannelId()) === false) call.expelled();
  }

  #refresh(): void {
    for (const call of this.#calls.values()) call.refresh();
    this.#sendVoiceStates();
  }

  /** Sends op 17, the complete list of the client's calls, if it changed. */
  #sendVoiceStates(except?: Call): void {
    const wishes = this.getCalls().flatMap((call) => (call === except || !call.wish ? [] : [call.wish]));
    const text = JSON.stringify(wishes);
    if (text === this.#sentVoiceStates) return;
    this.#sentVoiceStates = text;
    this.#host.send(OP.LOBBY_VOICE_STATES, wishes);
  }

  #dispatched(name: string, d: Json): void {
    for (const news of this.#states.apply(name, d)) this.#apply(news);
    if (name === 'LOBBY_VOICE_SERVER_UPDATE')
      this.#calls.get(String(d.lobby_id))?.served(d.endpoint, d.token);
    else if (name === 'LOBBY_DELETE') this.#calls.get(String(d.id))?.expelled();
    else if (name === 'LOBBY_MEMBER_REMOVE' && isOf(d, this.#host.userId))
      this.#calls.get(String(d.lobby_id))?.expelled();
    // Deferred: the client can send only after all listeners have handled these dispatches.
    else if (name === 'READY') queueMicrotask(() => this.#startSession());
    else if (name === 'RESUMED') queueMicrotask(() => this.#resendVoiceStates());
  }

  /** A new gateway session is in no call. */
  #startSession(): void {
    this.#sentVoiceStates = '[]';
    for (const call of this.getCalls()) {
      call.renewed();
      this.#checkMembership(call);
    }
    this.#sendVoiceStates();
  }

  /** Sends op 17 again after a resume: messages sent before it may be lost. */
  #resendVoiceStates(): void {
    if (this.#sentVoiceStates === '[]' && this.#calls.size === 0) return;
    this.#sentVoiceStates = '';
    this.#sendVoiceStates();
  }

  #apply(news: VoiceNews): void {
    const { lobbyId, userId, change } = news;
    // The server removed the current user: op 17 must be sent again to rejoin.
    if (change === 'removed' && userId === this.#host.userId) this.#sentVoiceStates = '';
    this.#calls.get(lobbyId)?.receive(news);
    if (change !== 'changed') this.#participant.emit(lobbyId, userId, change === 'added');
  }

  #process(change: Partial<AudioProcessing>): void {
    this.#processing = { ...this.#processing, ...change };
    this.#host.audio.setProcessing(this.#processing);
  }

  #measureInput(levelDb: number): void {
    const nowMs = performance.now();
    const isOff = this.#noInputDb <= SILENCE_DB;
    if (this.#inputAtMs === 0 || isOff || levelDb >= this.#noInputDb) this.#inputAtMs = nowMs;
    const hasInput = nowMs - this.#inputAtMs < NO_INPUT_MS;
    if (hasInput === this.#hasInput) return;
    this.#hasInput = hasInput;
    this.#noInput.emit(hasInput);
  }
}

const isOf = ({ member }: Json, userId: string | null): boolean =>
  isJson(member) && userIdOf(member) === userId;

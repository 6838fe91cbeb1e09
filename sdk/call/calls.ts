import { OP } from '../../protocol/opcodes.ts';
import { invalid } from '../result.ts';
import { type Disposer, Signal } from '../signal.ts';
import { isJson, type Json } from '../voice/wire.ts';
import { Call, type CallCircle, VOLUME_MAX, within } from './call.ts';
import { SILENCE_DB } from './gate.ts';
import type { CallHost } from './host.ts';
import { type AudioCallbacks, type AudioDevice, type AudioProcessing, DEFAULT_DEVICE } from './media.ts';
import { type CallInfoHandle, userIdOf, type VoiceNews, VoiceStates } from './voicestates.ts';

/** A microphone that was silent so long gives no sound at all. */
const NO_INPUT_MS = 5_000;
/** Lobbies whose calls one may be in at once. */
const CALLS_MAX = 25;

export const createCalls = (host: CallHost): Calls => new Calls(host);

/** The calls of a client: who is in which, and the sound that all share. Volumes are 0 to 200, 100 is unchanged. */
export class Calls {
  readonly #host: CallHost;
  readonly #circle: CallCircle;
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
  /** `SILENCE_DB`: off. */
  #noInputDb = SILENCE_DB;
  #hasInput = true;
  #inputAtMs = 0;
  #unwatchDevices: Disposer | null = null;
  /** What was last told in op 17. */
  #told = '[]';

  constructor(host: CallHost) {
    this.#host = host;
    this.#participant = new Signal((error) => host.complain(error));
    this.#noInput = new Signal((error) => host.complain(error));
    const calls = this;
    this.#circle = {
      host,
      states: this.#states,
      get isMuted() {
        return calls.#isMuted;
      },
      get isDeaf() {
        return calls.#isDeaf;
      },
      tell: (except) => this.#tell(except),
      level: (levelDb) => this.#heardInput(levelDb),
      ended: (call) => {
        if (this.#calls.get(call.getChannelId()) === call) this.#calls.delete(call.getChannelId());
      },
    };
    this.#unsubscribe = host.subscribe((name, d) => this.#heard(name, d));
  }

  /** Starts the call of a lobby; the one that is on already is returned. How it goes, the call tells. */
  startCall(lobbyId: string): Call {
    return this.#start(lobbyId, null);
  }

  /** The same, with the application between microphone, call and speaker: every 20 ms it hears and fills frames. */
  startCallWithAudioCallbacks(
    lobbyId: string,
    received: AudioCallbacks['received'],
    captured: AudioCallbacks['captured'],
  ): Call {
    return this.#start(lobbyId, { received, captured });
  }

  /** Resolves when the call is over; at once when there is none. */
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

  /** A lobby's call as everyone in the lobby sees it; null: nobody is in it. */
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

  /** @param volume 0 to 100. @throws ClientError when it is not. */
  setInputVolume(volume: number): void {
    this.#inputVolume = within(volume, 0, 100, 'The input volume');
    this.#host.audio.setInputVolume(volume / 100);
  }

  getOutputVolume(): number {
    return this.#outputVolume;
  }

  /** @param volume 0 to 200. @throws ClientError when it is not. */
  setOutputVolume(volume: number): void {
    this.#outputVolume = within(volume, 0, VOLUME_MAX, 'The output volume');
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

  /** Called with all devices whenever one comes or goes. */
  setDeviceChangeCallback(
    callback: (inputs: readonly AudioDevice[], outputs: readonly AudioDevice[]) => void,
  ): Disposer {
    this.#unwatchDevices?.();
    const unwatch = this.#host.audio.watchDevices(() => {
      Promise.all([this.getInputDevices(), this.getOutputDevices()])
        .then(([inputs, outputs]) => callback(inputs, outputs))
        .catch((error: unknown) => this.#host.complain(error));
    });
    this.#unwatchDevices = unwatch;
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

  /** @param dBFSThreshold Below it for five seconds there is no input; -100 to 100, -100: never. */
  setNoAudioInputThreshold(dBFSThreshold: number): void {
    this.#noInputDb = within(dBFSThreshold, SILENCE_DB, 100, 'The threshold');
  }

  /** Called when a microphone falls silent altogether, and when it is heard again. */
  readonly setNoAudioInputCallback = (callback: (inputDetected: boolean) => void): Disposer =>
    this.#noInput.set(callback);

  /** Called when somebody enters or leaves the call of any lobby that one is a member of. */
  readonly setVoiceParticipantChangedCallback = (
    callback: (lobbyId: string, userId: string, isAdded: boolean) => void,
  ): Disposer => this.#participant.set(callback);

  /** Ends all calls at once: there is no session any more that could have them. */
  drop(): void {
    for (const call of this.getCalls()) call.drop();
    this.#told = '[]';
  }

  /** Ends all calls and lets go of all devices. */
  close(): void {
    this.#unsubscribe();
    this.#unwatchDevices?.();
    this.drop();
    this.#host.audio.close();
  }

  #start(lobbyId: string, callbacks: AudioCallbacks | null): Call {
    const before = this.#calls.get(lobbyId);
    if (before?.isOn) {
      if (callbacks !== null) throw invalid('The call of this lobby is on already; end it first.');
      return before;
    }
    before?.drop();
    if (this.#calls.size >= CALLS_MAX) throw invalid(`One can be in ${CALLS_MAX} calls at once.`);
    const call = new Call(this.#circle, lobbyId, callbacks);
    this.#calls.set(lobbyId, call);
    call.join();
    // The gateway says nothing to one who is no member. Later, so that whoever starts it can listen first.
    queueMicrotask(() => this.#admit(call));
    return call;
  }

  #admit(call: Call): void {
    if (call.isOn && this.#host.isMember(call.getChannelId()) === false) call.expelled();
  }

  #refresh(): void {
    for (const call of this.#calls.values()) call.refresh();
    this.#tell();
  }

  /** Op 17 is the whole of where we are. It says nothing new twice. */
  #tell(except?: Call): void {
    const wishes = this.getCalls().flatMap((call) => (call === except || !call.wish ? [] : [call.wish]));
    const text = JSON.stringify(wishes);
    if (text === this.#told) return;
    this.#told = text;
    this.#host.send(OP.LOBBY_VOICE_STATES, wishes);
  }

  #heard(name: string, d: Json): void {
    for (const news of this.#states.hear(name, d)) this.#share(news);
    if (name === 'LOBBY_VOICE_SERVER_UPDATE')
      this.#calls.get(String(d.lobby_id))?.served(d.endpoint, d.token);
    else if (name === 'LOBBY_DELETE') this.#calls.get(String(d.id))?.expelled();
    else if (name === 'LOBBY_MEMBER_REMOVE' && isOf(d, this.#host.userId))
      this.#calls.get(String(d.lobby_id))?.expelled();
    // A client can send only when it has told everybody of these.
    else if (name === 'READY') queueMicrotask(() => this.#begin());
    else if (name === 'RESUMED') queueMicrotask(() => this.#repeat());
  }

  /** A gateway session is in no call at first. */
  #begin(): void {
    this.#told = '[]';
    for (const call of this.getCalls()) {
      call.renewed();
      this.#admit(call);
    }
    this.#tell();
  }

  /** What was said while the connection was gone may not have been heard. */
  #repeat(): void {
    if (this.#told === '[]' && this.#calls.size === 0) return;
    this.#told = '';
    this.#tell();
  }

  #share(news: VoiceNews): void {
    const { lobbyId, userId, change } = news;
    // Whoever is put out and wants to be in must say so again.
    if (change === 'removed' && userId === this.#host.userId) this.#told = '';
    this.#calls.get(lobbyId)?.heard(news);
    if (change !== 'changed') this.#participant.emit(lobbyId, userId, change === 'added');
  }

  #process(change: Partial<AudioProcessing>): void {
    this.#processing = { ...this.#processing, ...change };
    this.#host.audio.setProcessing(this.#processing);
  }

  #heardInput(levelDb: number): void {
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

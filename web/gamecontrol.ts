import { RPC_PORTS, type VoiceConnectionState } from '../protocol/rpc.ts';
import { AudioModeType } from '../sdk/call/enums.ts';
import { type AudioDevice, type CallAudio, DEFAULT_DEVICE } from '../sdk/call/media.ts';
import { challengeOf, type FromRoom, ROOM_LINK, type ToRoom } from '../sdk/rpc/roomlink.ts';
import type { VoiceSettings } from '../sdk/rpc/voicesettings.ts';
import { SPEAKING } from './activityhosts.ts';
import type { Call } from './call.ts';
import { chosenInput, chosenOutput, isCleaned } from './devices.tsx';
import type { Session } from './session.ts';
import { createStore } from './store.ts';

interface Invitation {
  readonly port: number;
  readonly secret: string;
}

const KEPT = 'helper';
const PROCESSING = ['echo_cancellation', 'noise_suppression', 'automatic_gain_control'] as const;
const INVITATION = /^(\d{4})\.([0-9a-f]{32})$/;
const NONCE_BYTES = 16;
const PHASES: Readonly<Record<'connecting' | 'connected' | 'reconnecting', VoiceConnectionState>> = {
  connecting: 'VOICE_CONNECTING',
  connected: 'VOICE_CONNECTED',
  reconnecting: 'VOICE_DISCONNECTED',
};

function invitationIn(text: string | null): Invitation | null {
  const [, port, secret] = INVITATION.exec(text ?? '') ?? [];
  if (port === undefined || secret === undefined) return null;
  const isListed = Number(port) >= RPC_PORTS.first && Number(port) <= RPC_PORTS.last;
  return isListed ? { port: Number(port), secret } : null;
}

/**
 * The RPC server that the person has linked this tab to, by the link that `guildhall rpc` prints. Takes the secret out of the
 * address, so that it is in no bookmark or history.
 */
export function keptInvitation(): Invitation | null {
  const given = new URLSearchParams(location.hash.slice(1)).get(ROOM_LINK.fragment);
  if (given !== null) {
    sessionStorage.setItem(KEPT, given);
    history.replaceState(null, '', location.pathname + location.search);
  }
  return invitationIn(sessionStorage.getItem(KEPT));
}

const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

async function proofOf(secret: string, text: string): Promise<string> {
  const bytes = new TextEncoder();
  const how = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytes.encode(secret), how, false, ['sign']);
  return hex(new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes.encode(text))));
}

/** The devices as games see them: the browser's own choice first, and the one in use at any rate. */
function deviceSettings(devices: readonly AudioDevice[], inUse: string): VoiceSettings['input'] {
  const known = new Map([[DEFAULT_DEVICE, 'Default'], ...devices.map(({ id, name }) => [id, name] as const)]);
  if (!known.has(inUse)) known.set(inUse, 'Current device');
  return { available_devices: [...known].map(([id, name]) => ({ id, name })), device_id: inUse };
}

/** Carries out the voice commands of games of this machine in this page, and reports its call to them. */
export class GameControl {
  readonly store = createStore<{
    readonly phase: 'connecting' | 'linked' | 'ended';
    readonly reason: string | null;
  }>({ phase: 'connecting', reason: null });
  readonly #session: Session;
  readonly #secret: string;
  readonly #socket: WebSocket;
  readonly #nonce = hex(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)));
  readonly #gains = new Map<string, number>();
  readonly #stops: (() => void)[] = [];
  #call: Call | null = null;
  #settings: VoiceSettings = firstSettings();
  /** The last sent values; equal values are not sent again. */
  #reported = '';
  #state = '';

  constructor(session: Session, { port, secret }: Invitation) {
    this.#session = session;
    this.#secret = secret;
    this.#socket = new WebSocket(`ws://127.0.0.1:${port}${ROOM_LINK.path}`);
    this.#socket.onopen = () => this.#send({ op: 'hello', nonce: this.#nonce });
    this.#socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      this.#received(String(data)).catch(() => this.close());
    };
    this.#socket.onclose = ({ reason }) => {
      for (const stop of this.#stops) stop();
      this.store.set({ phase: 'ended', reason: reason || 'guildhall rpc is not reached.' });
    };
  }

  /** Ends the link for good. */
  forget(): void {
    sessionStorage.removeItem(KEPT);
    this.close();
  }

  close(): void {
    this.#socket.close();
  }

  #send(message: FromRoom): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  async #received(text: string): Promise<void> {
    const message: ToRoom = JSON.parse(text);
    if (this.store.value.phase !== 'linked') {
      if (message.op === 'challenge') await this.#prove(message.proof, message.nonce);
      return;
    }
    if (message.op === 'select')
      this.#session.join({ guildId: message.guild_id, channelId: message.channel_id });
    else if (message.op === 'leave') this.#session.leave();
    else if (message.op === 'hold') this.#call?.hold(message.active);
    else if (message.op === 'settings') this.#change(message.settings);
    else if (message.op === 'user') {
      this.#gains.set(message.user_id, message.gain);
      this.#call?.setGain(message.user_id, message.gain);
    }
  }

  /** The RPC server proves itself first, so that another program on its port learns and controls nothing. */
  async #prove(theirs: string, nonce: string): Promise<void> {
    if (theirs !== (await proofOf(this.#secret, challengeOf('helper', this.#nonce)))) {
      this.close();
      return;
    }
    const proof = await proofOf(this.#secret, challengeOf('page', nonce));
    const userId = await this.#selfId();
    this.#send({ op: 'proof', proof, user_id: userId });
    this.store.set({ phase: 'linked' });
    const { store } = this.#session;
    const look = (): void => this.#look();
    this.#stops.push(store.watch(look));
    this.#stops.push(
      this.#session.listen((t, d) => {
        const { channel_id, user_id } = d;
        if (t === SPEAKING && typeof channel_id === 'string' && typeof user_id === 'string')
          this.#send({ op: 'speaking', channel_id, user_id, speaking: d.speaking === true });
      }),
    );
    look();
  }

  /** Waits until the session knows who is signed in. */
  #selfId(): Promise<string> {
    const { store } = this.#session;
    return new Promise((resolve) => {
      const look = (): void => {
        const { self } = store.value.directory;
        if (self === null) return;
        stop();
        resolve(self.id);
      };
      const stop = store.watch(look);
      look();
    });
  }

  /** The page's state may have changed. */
  #look(): void {
    const { call, muted, deafened } = this.#session.store.value;
    this.#settings = { ...this.#settings, mute: muted, deaf: deafened };
    if (call !== this.#call) this.#begin(call);
    this.#report();
    this.#tellState();
  }

  #begin(call: Call | null): void {
    this.#call = call;
    if (call === null) return;
    this.#stops.push(call.store.watch(() => call === this.#call && this.#tellState()));
    this.#apply(call, this.#settings);
    for (const [userId, gain] of this.#gains) call.setGain(userId, gain);
    this.#stops.push(call.audio.watchDevices(() => this.#lookAtDevices(call.audio)));
  }

  #lookAtDevices(audio: CallAudio): void {
    void this.#readDevices(audio).then(() => this.#report());
  }

  async #readDevices(audio: CallAudio): Promise<void> {
    const [inputs, outputs] = await Promise.all([audio.inputDevices(), audio.outputDevices()]).catch(() => [
      [],
      [],
    ]);
    const { input, output } = this.#settings;
    this.#settings = {
      ...this.#settings,
      input: { ...input, ...deviceSettings(inputs, audio.inputDevice) },
      output: { ...output, ...deviceSettings(outputs, audio.outputDevice) },
    };
  }

  #change(settings: VoiceSettings): void {
    const { muted, deafened } = this.#session.store.value;
    const before = this.#settings;
    this.#settings = settings;
    this.#reported = JSON.stringify(settings);
    if (settings.mute !== muted) this.#session.mute(settings.mute);
    if (settings.deaf !== deafened) this.#session.deafen(settings.deaf);
    if (this.#call === null) return;
    const { audio } = this.#call;
    this.#apply(this.#call, settings);
    if (PROCESSING.some((name) => settings[name] !== before[name]))
      audio.setProcessing({
        echoCancellation: settings.echo_cancellation,
        noiseSuppression: settings.noise_suppression,
        automaticGainControl: settings.automatic_gain_control,
      });
    const { input, output } = settings;
    if (input.device_id !== before.input.device_id) void this.#call.useInput(String(input.device_id));
    if (output.device_id !== before.output.device_id)
      audio.useOutput(String(output.device_id)).catch(() => this.#lookAtDevices(audio));
  }

  #apply(call: Call, { input, output, mode }: VoiceSettings): void {
    call.listenBy(
      mode.type === 'PUSH_TO_TALK' ? AudioModeType.MODE_PTT : AudioModeType.MODE_VAD,
      { automatic: mode.auto_threshold === true, vadThreshold: Number(mode.threshold) },
      Number(mode.delay),
    );
    call.audio.setInputVolume(Number(input.volume) / 100);
    call.audio.setOutputVolume(Number(output.volume) / 100);
  }

  #report(): void {
    const text = JSON.stringify(this.#settings);
    if (text === this.#reported) return;
    this.#reported = text;
    this.#send({ op: 'settings', settings: this.#settings });
  }

  #tellState(): void {
    const seen = this.#call?.store.value ?? null;
    const state = seen === null ? 'DISCONNECTED' : PHASES[seen.phase];
    const ping = seen?.figures?.roundTripMs ?? null;
    if (`${state} ${ping}` === this.#state) return;
    this.#state = `${state} ${ping}`;
    this.#send({ op: 'connection', state, ping });
    // Their names are known only once the microphone is open.
    if (this.#call !== null) this.#lookAtDevices(this.#call.audio);
  }
}

function firstSettings(): VoiceSettings {
  const isClean = isCleaned();
  return {
    input: { ...deviceSettings([], chosenInput()), volume: 100 },
    output: { ...deviceSettings([], chosenOutput()), volume: 100 },
    mode: { type: 'VOICE_ACTIVITY', auto_threshold: true, threshold: -60, shortcut: [], delay: 20 },
    ...{ automatic_gain_control: isClean, echo_cancellation: isClean, noise_suppression: isClean },
    ...{ qos: true, silence_warning: true, deaf: false, mute: false },
  };
}

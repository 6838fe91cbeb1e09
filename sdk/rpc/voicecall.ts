import type { VoiceConnectionState } from '../../protocol/rpc.ts';
import { AudioModeType } from '../call/enums.ts';
import { Gate } from '../call/gate.ts';
import type { CallAudio } from '../call/media.ts';
import { VoiceSession } from '../call/voicesession.ts';
import { voiceUrlOf } from '../voice/voiceurl.ts';
import { backoffMs, type OpenSocket, type Timer } from '../voice/wire.ts';
import type { Args } from './link.ts';
import type { VoiceSettings } from './voicesettings.ts';

interface VoiceCallPorts {
  readonly audio: CallAudio;
  readonly open: OpenSocket;
  readonly gatewayUrl: string;
  readonly selfId: () => string | null;
  /** Id of the person's gateway session; null while there is none. */
  readonly sessionId: () => string | null;
  /** Leaves the channel and joins it again, for another ticket. */
  rejoin(guildId: string, channelId: string, settings: Pick<VoiceSettings, 'mute' | 'deaf'>): void;
  speaking(channelId: string, userId: string, isSpeaking: boolean): void;
  connection(state: VoiceConnectionState, hostname: string): void;
}

/** Tickets asked for in a row, after voice sessions that ended. */
const TICKETS_MAX = 5;
/** Members whose volume is kept for the next call. */
const GAINS_MAX = 500;

/**
 * The call of the channel that the RPC server's own gateway session is in. It receives the speaking state of members,
 * and plays nothing.
 */
export class VoiceCall {
  readonly #ports: VoiceCallPorts;
  readonly #gate = new Gate();
  readonly #gains = new Map<string, number>();
  #settings: VoiceSettings | null = null;
  #place: { readonly guildId: string; readonly channelId: string } | null = null;
  #ticket: { readonly endpoint: string; readonly token: string } | null = null;
  #session: VoiceSession | null = null;
  #state: VoiceConnectionState = 'DISCONNECTED';
  #tickets = 0;
  #timer: Timer | null = null;

  constructor(ports: VoiceCallPorts) {
    this.#ports = ports;
  }

  /** A dispatch of the person's gateway session. */
  dispatch(t: string, d: Args): void {
    const { selfId, sessionId } = this.#ports;
    if (t === 'READY') this.#leave();
    else if (t === 'VOICE_STATE_UPDATE' && d.user_id === selfId()) {
      const { guild_id: guildId, channel_id: channelId } = d;
      const isHere = d.session_id === sessionId() && typeof channelId === 'string';
      if (!isHere || typeof guildId !== 'string') this.#leave();
      else if (this.#place?.channelId !== channelId) this.#enter(guildId, channelId);
    } else if (t === 'VOICE_SERVER_UPDATE' && d.guild_id === this.#place?.guildId) {
      const { endpoint, token } = d;
      // Without an endpoint no server is available yet; another dispatch will name one.
      if (typeof endpoint !== 'string' || typeof token !== 'string') return;
      this.#ticket = { endpoint, token };
      this.#dial();
    }
  }

  apply(settings: VoiceSettings): void {
    this.#settings = settings;
    const { mode, input, output } = settings;
    const isHeldToTalk = mode.type === 'PUSH_TO_TALK';
    this.#gate.mode = isHeldToTalk ? AudioModeType.MODE_PTT : AudioModeType.MODE_VAD;
    this.#gate.releaseDelayMs = Number(mode.delay);
    this.#gate.vad = { automatic: mode.auto_threshold === true, vadThreshold: Number(mode.threshold) };
    this.#ports.audio.setInputVolume(Number(input.volume) / 100);
    this.#ports.audio.setOutputVolume(Number(output.volume) / 100);
    this.#session?.mute(settings.mute);
    this.#session?.deafen(settings.deaf);
  }

  setGain(userId: string, gain: number): void {
    const [oldest] = this.#gains.keys();
    if (this.#gains.size >= GAINS_MAX && oldest !== undefined) this.#gains.delete(oldest);
    this.#gains.set(userId, gain);
    this.#session?.setGain(userId, gain);
  }

  /** The push-to-talk key was pressed or released. */
  hold(isHeld: boolean): void {
    this.#gate.setHeld(isHeld, performance.now());
    this.#session?.refresh();
  }

  close(): void {
    this.#leave();
    this.#ports.audio.close();
  }

  #enter(guildId: string, channelId: string): void {
    this.#hangUp();
    this.#place = { guildId, channelId };
    this.#report('AWAITING_ENDPOINT');
    // A ticket is for all channels of a guild, and may have come first.
    if (this.#ticket !== null) this.#dial();
  }

  #leave(): void {
    if (this.#place === null && this.#ticket === null) return;
    this.#hangUp();
    this.#place = null;
    this.#ticket = null;
    this.#report('DISCONNECTED');
  }

  #dial(): void {
    const { audio } = this.#ports;
    const [place, ticket] = [this.#place, this.#ticket];
    this.#hangUp();
    this.#report('CONNECTING');
    audio.load().then(
      () => {
        if (place === this.#place && ticket === this.#ticket) this.#connect();
      },
      // The packages of calls are not installed: the person is in the channel without a connection to its call.
      () => this.#report('DISCONNECTED'),
    );
  }

  #connect(): void {
    const { audio, open, gatewayUrl, selfId, sessionId: sessionIdOf, speaking } = this.#ports;
    const [userId, sessionId] = [selfId(), sessionIdOf()];
    if (this.#place === null || this.#ticket === null || userId === null || sessionId === null) return;
    const { guildId, channelId } = this.#place;
    const { endpoint, token } = this.#ticket;
    const session = new VoiceSession({
      url: voiceUrlOf(endpoint, gatewayUrl),
      ticket: { serverId: guildId, channelId, userId, sessionId, token },
      ...{ open, audio, gate: this.#gate, callbacks: null },
      events: {
        signaled: () => this.#report('VOICE_CONNECTING'),
        lost: () => this.#report('VOICE_DISCONNECTED'),
        resumed: (hasSound) => this.#report(hasSound ? 'VOICE_CONNECTED' : 'VOICE_CONNECTING'),
        sound: (isUp) => {
          if (isUp) this.#tickets = 0;
          this.#report(isUp ? 'VOICE_CONNECTED' : 'VOICE_CONNECTING');
        },
        ended: ({ retry }) => this.#ended(session, retry),
        speaking: (id, isSpeaking) => speaking(channelId, id, isSpeaking),
        ...{ present: nothing, levels: nothing, level: nothing, dave: nothing, complaint: nothing },
      },
    });
    this.#session = session;
    if (this.#settings !== null) this.apply(this.#settings);
    for (const [id, gain] of this.#gains) session.setGain(id, gain);
  }

  /** Asks for another ticket, unless the server refuses this session or too many tickets led nowhere. */
  #ended(session: VoiceSession, retry: boolean): void {
    if (session !== this.#session) return;
    this.#hangUp();
    this.#report('DISCONNECTED');
    const place = this.#place;
    if (!retry || place === null || this.#tickets >= TICKETS_MAX) return;
    this.#tickets += 1;
    const { guildId, channelId } = place;
    this.#timer = setTimeout(
      () => this.#ports.rejoin(guildId, channelId, this.#settings ?? { mute: false, deaf: false }),
      backoffMs(this.#tickets),
    );
  }

  #hangUp(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#session?.close();
    this.#session = null;
  }

  #report(state: VoiceConnectionState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#ports.connection(state, this.#ticket?.endpoint ?? '');
  }
}

const nothing = (): void => undefined;

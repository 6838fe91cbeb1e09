import { type LinePorts, VoiceLines } from './voicelines.ts';
import { VoiceView } from './voiceview.ts';

/** The voice of one gateway session: what it is shown, and its voice connections. */
export class ClientVoice {
  readonly view: VoiceView;
  readonly lines: VoiceLines;
  /** By guild and user: when the client was last shown the user's voice, milliseconds of the world. */
  readonly shownMs = new Map<string, number>();
  readonly #ports: LinePorts;

  constructor(ports: LinePorts, userId: string, sessionId: () => string | null) {
    this.#ports = ports;
    this.lines = new VoiceLines(ports);
    this.view = new VoiceView(userId, !ports.name.startsWith('bot'), sessionId, this.lines);
  }

  heard(t: string, d: object): void {
    if (t.includes('VOICE_S') || t.startsWith('STREAM'))
      this.#ports.world.note(`${this.#ports.name} hears ${t} ${JSON.stringify(d)}`);
    if (t === 'VOICE_STATE_UPDATE' && 'user_id' in d && 'guild_id' in d)
      this.shownMs.set(`${d.guild_id} ${d.user_id}`, this.#ports.world.nowMs);
    this.view.heard(t, d);
  }
}

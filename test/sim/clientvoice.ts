import { type LinePorts, VoiceLines } from './voicelines.ts';
import { VoiceView } from './voiceview.ts';

/** The voice of one gateway session: what it is shown, and its voice connections. */
export class ClientVoice {
  readonly view: VoiceView;
  readonly lines: VoiceLines;
  readonly #ports: LinePorts;

  constructor(ports: LinePorts, userId: string, sessionId: () => string | null) {
    this.#ports = ports;
    this.lines = new VoiceLines(ports);
    this.view = new VoiceView(userId, !ports.name.startsWith('bot'), sessionId, this.lines);
  }

  heard(t: string, d: object): void {
    if (t.includes('VOICE_S') || t.startsWith('STREAM'))
      this.#ports.world.note(`${this.#ports.name} hears ${t} ${JSON.stringify(d)}`);
    this.view.heard(t, d);
  }
}

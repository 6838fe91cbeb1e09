import { setTimeout as sleep } from 'node:timers/promises';
import type { Ready, VoiceTicket } from './voice-client.ts';
import type { VoiceDave } from './voice-dave.ts';
import type { VoiceUdp } from './voice-rtp.ts';

const FRAME_MS = 20;

/** A member of a call, with media and DAVE. */
interface Talker {
  readonly ticket: VoiceTicket;
  readonly ready: Ready;
  readonly dave: VoiceDave;
  readonly udp: VoiceUdp;
}

/** As `expect.poll`, which is not for hooks. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  for (let left = 750; left > 0 && !holds(); left -= 1) await sleep(20);
  if (!holds()) throw new Error(`In 15 s it did not come about that ${what}.`);
}

/** One direction of a talk, counted: every frame is a number, encrypted. */
class Line {
  readonly from: Talker;
  readonly to: Talker;
  readonly packets: Buffer[] = [];
  sent = 0;
  readonly heard = new Set<number>();
  readonly arrived = new Set<number>();
  #read = 0;

  constructor(from: Talker, to: Talker) {
    this.from = from;
    this.to = to;
  }

  say(): void {
    const frame = Buffer.alloc(80);
    frame.writeUInt32BE(this.sent);
    this.packets.push(this.from.udp.sendOpus(this.from.dave.encrypt(frame), { seq: this.sent & 0xffff }));
    if (this.packets.length > 200) this.packets.shift();
    this.sent += 1;
  }

  listen(): void {
    const { rtp } = this.to.udp;
    for (; this.#read < rtp.length; this.#read += 1) {
      const { ssrc, seq, payload } = rtp[this.#read]!;
      if (ssrc !== this.from.ready.ssrc) continue;
      this.arrived.add(seq);
      try {
        this.heard.add(this.to.dave.decrypt(this.from.ticket.userId, payload).readUInt32BE());
      } catch {
        // Between two epochs a frame may come before its key.
      }
    }
  }
}

/** Two members of a call who talk all the time. */
export class Talk {
  readonly lines: readonly [Line, Line];
  readonly #timer: NodeJS.Timeout;

  constructor(one: Talker, other: Talker) {
    this.lines = [new Line(one, other), new Line(other, one)];
    this.#timer = setInterval(() => {
      for (const line of this.lines) line.say();
      for (const line of this.lines) line.listen();
    }, FRAME_MS);
  }

  /** Resolves when each has heard ten frames that were not yet spoken, in full. */
  async goesOn(): Promise<void> {
    const from = this.lines.map(({ sent }) => sent);
    const hasRun = ({ heard }: Line, since: number) => {
      let run = 0;
      for (let at = since; at < since + 500 && run < 10; at += 1) run = heard.has(at) ? run + 1 : 0;
      return run === 10;
    };
    await until('they hear each other', () => this.lines.every((line, index) => hasRun(line, from[index]!)));
  }

  end(): void {
    clearInterval(this.#timer);
  }
}

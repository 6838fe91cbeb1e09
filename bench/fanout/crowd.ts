import { present } from '../../protocol/present.ts';
import { nowNs } from '../wire/pace.ts';
import { WebSocketWire } from '../wire/websocket.ts';
import type { CrowdNews, CrowdOrder } from './orders.ts';

/** Connections opened concurrently. */
const AT_ONCE = 16;

type Gathering = Extract<CrowdOrder, { kind: 'gather' }>;

/** Connections that only count frames. Counting suffices because all get the same messages in the same order. */
class Crowd {
  readonly #order: Gathering;
  readonly #wires: WebSocketWire[] = [];
  readonly #counts: Uint32Array;
  /** For each message, the number of connections that have it, and when the last one got it. */
  #reached: number[] = [];
  #lastNs: number[] = [];
  #messages = 0;
  #payloadBytes = 0;
  #every = 0;

  constructor(order: Gathering) {
    this.#order = order;
    this.#counts = new Uint32Array(order.tokens.length);
  }

  async gather(): Promise<void> {
    let next = 0;
    const connectInTurn = async (): Promise<void> => {
      while (next < this.#counts.length) {
        next += 1;
        await this.#connect(next - 1);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, connectInTurn));
  }

  arm(every: number): void {
    this.#counts.fill(0);
    this.#reached = [];
    this.#lastNs = [];
    this.#messages = 0;
    this.#payloadBytes = 0;
    this.#every = every;
  }

  tell(): CrowdNews {
    const { crowd } = this.#order;
    return { kind: 'told', crowd, lastNs: this.#lastNs, payloadBytes: this.#payloadBytes };
  }

  #connect(index: number): Promise<void> {
    const { url, manner, tokens, intents, crowd } = this.#order;
    return new Promise((resolve) => {
      let opening = true;
      let frames = 0;
      const opened = (): void => {
        opening = false;
        resolve();
      };
      const wire = new WebSocketWire(new URL(url), {
        open: () => {
          wire.collecting = false;
          if (manner === 'plain') opened();
          if (manner !== 'gateway') return;
          const properties = { os: 'linux', browser: 'count', device: 'count' };
          wire.send(JSON.stringify({ op: 2, d: { token: tokens[index], intents, properties } }));
        },
        message: (_, payloadBytes) => {
          if (!opening) return this.#count(index, payloadBytes);
          frames += 1;
          // With socket.io the handshake and its answer are one frame each; a gateway sends HELLO, READY and GUILD_CREATE.
          if (manner === 'socketio' && frames === 1) wire.send('40');
          if (frames === (manner === 'socketio' ? 2 : 3)) opened();
        },
        closed: (code, reason) => say({ kind: 'lost', crowd, reason: `${code} ${reason}` }),
      });
      this.#wires.push(wire);
    });
  }

  #count(index: number, payloadBytes: number): void {
    const message = this.#counts[index] ?? 0;
    this.#counts[index] = message + 1;
    this.#payloadBytes += payloadBytes;
    const reached = (this.#reached[message] ?? 0) + 1;
    this.#reached[message] = reached;
    if (reached < this.#counts.length) return;
    this.#lastNs[message] = nowNs();
    this.#messages += 1;
    if (this.#every > 0 && this.#messages % this.#every === 0)
      say({ kind: 'reached', crowd: this.#order.crowd, messages: this.#messages });
  }
}

const say = (news: CrowdNews): void => void process.send?.(news);
const crowds = new Map<number, Crowd>();

process.on('message', async (order: CrowdOrder) => {
  if (order.kind === 'gather') {
    const crowd = new Crowd(order);
    crowds.set(order.crowd, crowd);
    await crowd.gather();
    say({ kind: 'gathered', crowd: order.crowd });
  } else if (order.kind === 'arm') crowds.get(order.crowd)?.arm(order.every);
  else say(present(crowds.get(order.crowd)).tell());
});
process.on('disconnect', () => process.exit());

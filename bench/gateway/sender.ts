import http from 'node:http';
import https from 'node:https';
import { Latencies } from '../wire/histogram.ts';
import { nowNs, Pacer, runPaced } from '../wire/pace.ts';
import { stampOf } from './stamp.ts';
import { add, type Counts } from './verdict.ts';

interface SendPlan {
  /** Base URL ending in `/api`. */
  readonly api: URL;
  readonly authorization: string;
  readonly channelId: string;
  readonly runId: string;
  readonly perSecond: number;
  readonly total: number;
  readonly contentBytes: number;
  /** How often a message answered with 429 is sent again, at the time the server allows. */
  readonly retriesMax: number;
}

export interface SendResult {
  readonly sent: number;
  readonly answered: number;
  readonly limited: number;
  readonly failed: number;
  /** Messages without a successful answer, by status; 0 means no answer. */
  readonly refused: Counts;
  readonly latencies: Latencies;
  /** For each message, 1 if it was answered with success. */
  readonly confirmed: Uint8Array;
}

const SOCKETS_MAX = 64;
const ANSWER_TIMEOUT_MS = 30_000;
const WARM_UP_AT_ONCE = 4;
const FILLER = 'the quick brown fox jumps over the lazy dog and on to the next field ';

/** Creates messages at their scheduled times, whatever the server does. Latencies start at the scheduled time. */
export class Sender {
  readonly #plan: SendPlan;
  readonly #agent: http.Agent;
  readonly #latencies = new Latencies();
  readonly #confirmed: Uint8Array;
  readonly #refused: Record<string, number> = {};
  #open = 0;
  #answered = 0;
  #limited = 0;
  #failed = 0;
  #sent = 0;

  constructor(plan: SendPlan) {
    this.#plan = plan;
    this.#confirmed = new Uint8Array(plan.total);
    const options = { keepAlive: true, maxSockets: SOCKETS_MAX };
    this.#agent = plan.api.protocol === 'https:' ? new https.Agent(options) : new http.Agent(options);
  }

  get sent(): number {
    return this.#sent;
  }

  /** Sends further messages first, a few at a time, so that the server has compiled its code. They belong to no run and do not count. */
  async warmUp(messages: number): Promise<void> {
    let left = messages;
    const send = async (): Promise<void> => {
      for (; left > 0; left -= 1)
        await new Promise<void>((resolve) =>
          this.#request(this.#bodyOf(`${this.#plan.runId}-warm-up`, left, 0), this.#plan.retriesMax, () =>
            resolve(),
          ),
        );
    };
    await Promise.all(Array.from({ length: WARM_UP_AT_ONCE }, send));
  }

  /** Sends all messages from `startNs` on; resolves when all are answered or given up. */
  async run(startNs: number): Promise<SendResult> {
    const { perSecond, total } = this.#plan;
    await runPaced(new Pacer({ perSecond, total, startNs }), (index, intendedNs) =>
      this.#send(index, Math.floor(intendedNs / 1000)),
    );
    const giveUpMs = Date.now() + ANSWER_TIMEOUT_MS;
    while (this.#open > 0 && Date.now() < giveUpMs) await new Promise((resolve) => setTimeout(resolve, 10));
    this.#agent.destroy();
    if (this.#open > 0) add(this.#refused, 0, this.#open);
    return {
      sent: this.#sent,
      answered: this.#answered,
      limited: this.#limited,
      failed: this.#failed + this.#open,
      refused: { ...this.#refused },
      latencies: this.#latencies,
      confirmed: this.#confirmed,
    };
  }

  #send(index: number, intendedMicros: number): void {
    const { runId, retriesMax } = this.#plan;
    this.#sent += 1;
    this.#open += 1;
    const body = this.#bodyOf(runId, index, intendedMicros);
    this.#request(body, retriesMax, (status) => this.#answer(index, intendedMicros, status));
  }

  #bodyOf(runId: string, index: number, intendedMicros: number): string {
    const { contentBytes } = this.#plan;
    const stamp = stampOf(runId, index, intendedMicros);
    const filler = FILLER.repeat(Math.ceil(contentBytes / FILLER.length));
    return JSON.stringify({ content: `${stamp}${filler}`.slice(0, Math.max(stamp.length, contentBytes)) });
  }

  #request(body: string, retriesLeft: number, answered: (status: number) => void): void {
    const { api, authorization, channelId } = this.#plan;
    const request = (api.protocol === 'https:' ? https : http).request(
      `${api.href.replace(/\/$/, '')}/v10/channels/${channelId}/messages`,
      {
        method: 'POST',
        agent: this.#agent,
        timeout: ANSWER_TIMEOUT_MS,
        headers: {
          authorization,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'guildhall-bench',
        },
      },
      (response) => {
        response.resume();
        response.on('end', () => {
          const { statusCode = 0, headers } = response;
          const waitSec = Number(headers['x-ratelimit-reset-after'] ?? headers['retry-after']);
          if (statusCode !== 429 || retriesLeft === 0 || !(waitSec * 1000 < ANSWER_TIMEOUT_MS))
            answered(statusCode);
          else setTimeout(() => this.#request(body, retriesLeft - 1, answered), Math.ceil(waitSec * 1000));
        });
      },
    );
    request.on('timeout', () => request.destroy());
    request.on('error', () => answered(0));
    request.end(body);
  }

  #answer(index: number, intendedMicros: number, status: number): void {
    this.#open -= 1;
    if (status >= 200 && status < 300) {
      this.#answered += 1;
      this.#confirmed[index] = 1;
      this.#latencies.record(nowNs() / 1000 - intendedMicros);
      return;
    }
    add(this.#refused, status);
    if (status === 429) this.#limited += 1;
    else this.#failed += 1;
  }
}

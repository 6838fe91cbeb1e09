import { setTimeout as sleep } from 'node:timers/promises';
import { present } from '../../protocol/present.ts';
import { type Percentiles, percentilesOf } from '../gateway/report.ts';
import { Latencies } from '../wire/histogram.ts';
import { nowNs, Pacer, runPaced } from '../wire/pace.ts';
import { Viewer } from './viewer.ts';

/** Viewers of a member list while some of them come and go. Times in milliseconds. */
export interface Viewed {
  readonly viewers: number;
  /** From the request for the first rows to them. */
  readonly firstRowsMs: Percentiles;
  /** How often one of them went offline or came back, with its row in sight of all. */
  readonly changes: number;
  /** GUILD_MEMBER_LIST_UPDATEs to all of them after the first, and their payloads together. */
  readonly updates: number;
  readonly updateBytes: number;
  /** Whether all hold the same rows at last, which are those that the server sends to a new request. */
  readonly same: boolean;
}

interface ViewersPlan {
  readonly url: string;
  readonly guildId: string;
  readonly channelId: string;
  /** Tokens of members whose names are the first of the list. */
  readonly tokens: readonly string[];
  readonly identifyPerSecond: number;
}

/** A session may change its presence five times in 20 seconds, so no more than as many change in turn. */
const CHANGING_MAX = 100;
const CHANGES_PER_SECOND_MAX = 5;
const CHANGES_PER_SECOND_OF_ONE = 0.2;
/** Updates of half a second are sent together. */
const QUIET_MS = 1500;
const QUIET_WAIT_MAX_MS = 15_000;
const LOOK_MS = 100;

/** The viewers of a guild's member list, connected by this process. */
export class Viewers {
  readonly #plan: ViewersPlan;
  readonly #viewers: Viewer[] = [];
  readonly #firstRows = new Latencies();
  #changes = 0;

  constructor(plan: ViewersPlan) {
    this.#plan = plan;
  }

  /** Connects all, and lets them subscribe at once. */
  async open(): Promise<void> {
    const { url, guildId, channelId, tokens, identifyPerSecond } = this.#plan;
    const pacer = new Pacer({ perSecond: identifyPerSecond, total: tokens.length, startNs: nowNs() });
    await runPaced(pacer, (index) => {
      const viewer = new Viewer(new URL(url), present(tokens[index]), guildId);
      // Awaited below; a connection may end before.
      viewer.introduced.catch(() => undefined);
      this.#viewers.push(viewer);
    });
    await Promise.all(this.#viewers.map(({ introduced }) => introduced));
    const took = await Promise.all(this.#viewers.map((viewer) => viewer.subscribe(channelId)));
    for (const ns of took) this.#firstRows.record(ns / 1000);
  }

  /** Some of them go offline and come back in turn, until `stopped` returns true and all are back. */
  async comeAndGo(stopped: () => boolean): Promise<void> {
    const changing = this.#viewers.slice(0, CHANGING_MAX);
    const perSecond = Math.min(CHANGES_PER_SECOND_MAX, changing.length * CHANGES_PER_SECOND_OF_ONE);
    const pacer = new Pacer({ perSecond, total: Number.MAX_SAFE_INTEGER, startNs: nowNs() });
    const away = new Set<Viewer>();
    await runPaced(
      pacer,
      (index) => {
        const viewer = present(changing[index % changing.length]);
        const isBack = away.delete(viewer);
        if (!isBack) away.add(viewer);
        viewer.show(isBack ? 'online' : 'invisible');
        this.#changes += 1;
      },
      stopped,
    );
    for (const viewer of away) viewer.show('online');
    this.#changes += away.size;
  }

  async result(): Promise<Viewed> {
    await this.#quiet();
    const sum = (of: (viewer: Viewer) => number): number =>
      this.#viewers.reduce((all, viewer) => all + of(viewer), 0);
    const counts = {
      ...{ viewers: this.#viewers.length, changes: this.#changes },
      updates: sum(({ updates }) => updates),
      updateBytes: sum(({ bytes }) => bytes),
    };
    const rows = new Set(this.#viewers.map((viewer) => viewer.rows()));
    const [first] = this.#viewers;
    await first?.subscribe(this.#plan.channelId);
    if (first) rows.add(first.rows());
    return { ...counts, firstRowsMs: percentilesOf(this.#firstRows), same: rows.size <= 1 };
  }

  close(): void {
    for (const viewer of this.#viewers) viewer.close();
  }

  /** Resolves when no update has come for a while, or after a bounded time. */
  async #quiet(): Promise<void> {
    const lastNs = (): number => Math.max(0, ...this.#viewers.map(({ lastUpdateNs }) => lastUpdateNs));
    const startNs = nowNs();
    const sinceMs = (ns: number): number => (nowNs() - ns) / 1e6;
    while (sinceMs(Math.max(startNs, lastNs())) < QUIET_MS && sinceMs(startNs) < QUIET_WAIT_MAX_MS)
      await sleep(LOOK_MS);
  }
}

import type { FleetPlan, FleetResult } from '../gateway/fleet.ts';
import { processFleet } from '../gateway/fleets.ts';
import type { RunningFleet } from '../gateway/remotefleet.ts';
import { nowNs } from '../wire/pace.ts';

/** Well below the usual limit of open files of a process. */
const SOCKETS_PER_PROCESS = 9000;
const STALLED_MS = 30_000;

type CrowdPlan = Pick<FleetPlan, 'url' | 'tokens' | 'intents' | 'runId' | 'total'> & {
  readonly identifyPerSecond: number;
};

/** Sessions of one kind, one for each token, in as many processes as needed. */
export class Crowd {
  readonly size: number;
  readonly #fleets: readonly RunningFleet[];
  readonly #ready: number[];

  constructor({ identifyPerSecond, ...plan }: CrowdPlan, onReady: (ready: number) => void) {
    const { tokens } = plan;
    this.size = tokens.length;
    const count = Math.ceil(tokens.length / SOCKETS_PER_PROCESS);
    this.#ready = new Array<number>(count).fill(0);
    const share = (index: number): number => Math.floor((tokens.length * index) / count);
    this.#fleets = this.#ready.map((_, index) => {
      const own = tokens.slice(share(index), share(index + 1));
      const events = {
        progress: (ready: number) => {
          this.#ready[index] = ready;
          onReady(this.#ready.reduce((sum, each) => sum + each, 0));
        },
        scouted: () => {},
      };
      const pace = {
        identifyIntervalMs: (1000 * count) / identifyPerSecond,
        identifyDelayMs: (1000 * index) / identifyPerSecond,
      };
      const sessions = { connections: own.length, measured: own.length, scouts: false, compress: false };
      return processFleet({ ...plan, tokens: own, ...sessions, ...pace }, events);
    });
  }

  /**
   * @returns seconds until all sessions had their guild.
   * @throws Error when no further session gets it for a while: a server at its socket limit does not report that.
   */
  async connect(): Promise<number> {
    const startNs = nowNs();
    const opened = Promise.all(this.#fleets.map((fleet) => fleet.connect()));
    let seen = -1;
    let stall: (error: Error) => void = () => undefined;
    const stalled = new Promise<never>((_, reject) => {
      stall = reject;
    });
    const watch = setInterval(() => {
      const ready = this.#ready.reduce((sum, each) => sum + each, 0);
      if (ready === seen)
        stall(new Error(`${ready} of ${this.size} sessions have their guild, and no more get it.`));
      seen = ready;
    }, STALLED_MS);
    try {
      await Promise.race([opened, stalled]);
    } catch (error) {
      opened.catch(() => undefined);
      this.abandon();
      throw error;
    } finally {
      clearInterval(watch);
    }
    return (nowNs() - startNs) / 1e9;
  }

  start(startNs: number): void {
    for (const fleet of this.#fleets) fleet.start(Math.floor(startNs / 1000));
  }

  lap(): Promise<FleetResult[]> {
    return Promise.all(this.#fleets.map((fleet) => fleet.lap()));
  }

  /** Closes its sessions. */
  async end(): Promise<void> {
    await Promise.all(this.#fleets.map((fleet) => fleet.finish()));
  }

  abandon(): void {
    for (const fleet of this.#fleets) void fleet.abandon();
  }
}

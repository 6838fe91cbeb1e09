import type { Routing } from '../../actors/placement/routing.ts';
import type { GuildId } from '../../protocol/ids.ts';
import { DueClock, type DueClockPorts } from '../dueclock.ts';

export interface GuildClockPorts extends DueClockPorts {
  readonly store: {
    /** Guilds in which something is due at `nowMs`; ascending by id. */
    due(nowMs: number, after: GuildId | null, limit: number): Promise<GuildId[]>;
    /** When something is due next, Unix milliseconds; null for never. */
    nextDueMs(): Promise<number | null>;
  };
  /** Has the guild do what is due. */
  settle(guildId: GuildId): Promise<unknown>;
  readonly routing: Pick<Routing, 'owns' | 'onMoved'>;
}

/** Guilds read together, and guilds asked at once. */
const [GUILDS_PAGE, AT_ONCE] = [100, 8];

/** Asks guilds to do what they have stored a time for: scheduled events begin and end, threads are archived. */
export function createGuildClock(ports: GuildClockPorts): DueClock {
  const { store, routing, scope, nowMs } = ports;
  async function settle(id: GuildId): Promise<void> {
    try {
      await ports.settle(id);
    } catch (error) {
      clock.report(error);
    }
  }
  const clock: DueClock = new DueClock({
    ...ports,
    async work() {
      for (let after: GuildId | null = null; !scope.over; ) {
        const page: GuildId[] = await store.due(nowMs(), after, GUILDS_PAGE);
        const own = page.filter((id) => routing.owns(id));
        for (let at = 0; at < own.length && !scope.over; at += AT_ONCE)
          await Promise.all(own.slice(at, at + AT_ONCE).map(settle));
        if (page.length < GUILDS_PAGE) return;
        after = page.at(-1) ?? null;
      }
    },
    nextDueMs: () => store.nextDueMs(),
  });
  return clock;
}

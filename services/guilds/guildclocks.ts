import type { Guilds } from '../../actors/guild/guilds.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { Storage } from '../../storage/ports.ts';
import type { DueClock } from '../dueclock.ts';
import { createGuildClock, type GuildClockPorts } from './guildclock.ts';

interface GuildClocksPorts extends Omit<GuildClockPorts, 'store' | 'settle' | 'onFault'> {
  readonly storage: Pick<Storage, 'scheduledEvents' | 'threads'>;
  readonly guilds: Pick<Guilds, 'call'>;
  readonly onFault: (error: unknown, where: string) => void;
}

/** Starts the clocks of guilds: scheduled events begin and end, quiet threads are archived. */
export function startGuildClocks({ storage, guilds, ...ports }: GuildClocksPorts) {
  const started = (
    where: string,
    store: GuildClockPorts['store'],
    command: 'settleScheduledEvents' | 'archiveThreads',
  ): DueClock => {
    const clock = createGuildClock({
      ...{ ...ports, store },
      settle: (guildId) => guilds.call(guildId, command, {}, SYSTEM),
      onFault: (error) => ports.onFault(error, where),
    });
    clock.start();
    return clock;
  };
  return {
    eventClock: started('scheduled events', storage.scheduledEvents, 'settleScheduledEvents'),
    threadClock: started('threads', storage.threads, 'archiveThreads'),
  };
}

import { SessionStarts } from '../../engine/session/starts.ts';
import type { UserId } from '../../protocol/ids.ts';
import { HERE } from '../placement/routing.ts';
import type { SessionDeps } from './sessions.ports.ts';

/** Session starts are counted by the owner of the user, across all shards. */
export function startsOf({
  settings,
  nowMs,
  routing = HERE,
}: Pick<SessionDeps, 'settings' | 'nowMs' | 'routing'>) {
  const starts = new SessionStarts({
    maxConcurrency: settings.maxConcurrency,
    perDayMax: settings.sessionStartsPerDay,
  });
  return {
    take: routing.ask(
      'sessionStarts.take',
      async (_userId: UserId, starter: string, shardId: number | null) =>
        starts.take(starter, shardId, nowMs()),
    ),
    limitOf: routing.ask('sessionStarts.limitOf', async (userId: UserId) => starts.limitOf(userId, nowMs())),
  };
}

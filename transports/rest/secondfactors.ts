import type { SecondFactor } from '../../engine/kernel/authority.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import type { Caller } from './operation.ts';
import type { Services } from './services.ts';

/** Callers for whom a guild has required a second factor; beyond this number the least recent is dropped. */
const ASKED_MAX = 10_000;

/** Looks up second factors, only for callers for whom a guild has required one. */
export interface SecondFactors {
  /** Whether a guild has required the caller's factor before. */
  isRequired(caller: Caller): boolean;
  /** Looks up whether the caller has one, because a guild requires it. */
  ask(caller: Caller): Promise<SecondFactor>;
}

export function createSecondFactors(services: Pick<Services, 'accounts' | 'read'>): SecondFactors {
  /** Least recently asked first. */
  const asked = new Set<string>();

  /** The account of a user, or of a bot's owner. */
  async function lookUp({ kind, userId, applicationId }: Caller): Promise<SecondFactor> {
    const application =
      kind === 'bot' && applicationId !== null ? await services.read.applications.get(applicationId) : null;
    const ownerId = kind === 'bot' ? application?.owner_id : userId;
    const hasFactor =
      ownerId !== undefined && ((await services.accounts.profile(ownerId))?.hasFactor ?? false);
    return hasFactor ? 'set' : 'none';
  }

  return {
    isRequired: ({ userId }) => asked.has(userId),
    ask(caller) {
      asked.delete(caller.userId);
      asked.add(caller.userId);
      dropOldest(asked, ASKED_MAX);
      return lookUp(caller);
    },
  };
}

import type { SecondFactor } from '../../engine/kernel/authority.ts';
import type { Caller } from './operation.ts';
import type { Services } from './services.ts';

/** Callers of whom it is remembered that a guild has asked for their second factor. */
const ASKED_MAX = 10_000;

/** Whether callers have a second factor. It is looked up for those whom a guild has asked for it, and for no others. */
export interface SecondFactors {
  /** The factor of a caller whom a guild has asked before; otherwise `unknown`, without a look-up. */
  known(caller: Caller): Promise<SecondFactor>;
  /** Looks up whether the caller has one, because a guild asks. */
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
    known: async (caller) => (asked.has(caller.userId) ? lookUp(caller) : 'unknown'),
    ask(caller) {
      asked.delete(caller.userId);
      asked.add(caller.userId);
      const [oldest] = asked;
      if (asked.size > ASKED_MAX && oldest !== undefined) asked.delete(oldest);
      return lookUp(caller);
    },
  };
}

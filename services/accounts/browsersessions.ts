import { ended, isCurrent, SEEN_EVERY_MS, signInStarted } from '../../engine/account/account.ts';
import type { SignIn } from '../../engine/account/facts.ts';
import { snowflakeMs, type UserId } from '../../protocol/ids.ts';
import { claimedUser, hashOf, makeToken, sameHash } from '../identity/identity.ts';
import type { AccountContext } from './context.ts';
import type { Accounts } from './ports.ts';

const AGENT_CHARACTERS_MAX = 256;

/** Opens, authenticates, lists and ends the sessions of signed-in browsers. */
export function createBrowserSessions(
  context: AccountContext,
): Pick<Accounts, 'open' | 'browserSession' | 'browserSessions' | 'close' | 'closeAll'> {
  const { ports, mutex } = context;
  const { accounts, commit } = ports;

  async function current(userId: UserId): Promise<readonly SignIn[]> {
    const nowMs = ports.nowMs();
    return (await accounts.signIns(userId)).filter((signIn) => isCurrent(signIn, nowMs));
  }

  return {
    async open(userId, client, device) {
      const nowMs = ports.nowMs();
      const token = makeToken(userId, nowMs, ports.randomBytes);
      const signIn: SignIn = {
        id: ports.nextId(),
        userId,
        hash: hashOf(token.reveal()),
        seenMs: nowMs,
        agent: client.agent.slice(0, AGENT_CHARACTERS_MAX),
        address: client.address ?? '',
      };
      await mutex(userId, async () =>
        commit(userId, [
          ...signInStarted(await accounts.signIns(userId), signIn, nowMs),
          ...(device === undefined ? [] : await context.deviceKnown(userId, device, client)),
        ]),
      );
      return token;
    },

    async browserSession(cookie) {
      const userId = claimedUser(cookie);
      if (userId === null) return null;
      const hash = hashOf(cookie);
      const found = (await current(userId)).find((one) => sameHash(one.hash, hash));
      if (found === undefined) return null;
      const nowMs = ports.nowMs();
      if (nowMs - found.seenMs >= SEEN_EVERY_MS)
        await commit(userId, [{ type: 'signInSeen', signInId: found.id, seenMs: nowMs }]);
      return { userId, signInId: found.id };
    },

    async browserSessions(userId) {
      const views = (await current(userId)).map(({ id, seenMs, agent, address }) => ({
        ...{ id, seenMs, agent, address },
        startedMs: snowflakeMs(id),
      }));
      return views.reverse();
    },

    close: (userId, signInId) => commit(userId, [{ type: 'signInEnded', signInId }]),

    async closeAll(userId, keep) {
      await mutex(userId, async () => {
        const others = (await accounts.signIns(userId)).filter(({ id }) => id !== keep);
        if (others.length > 0) await commit(userId, others.map(ended));
      });
      await ports.identity.revokeAll(userId);
    },
  };
}

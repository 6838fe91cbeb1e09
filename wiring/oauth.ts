import { routed } from '../actors/cluster/routing/routed.ts';
import { type Authority, SYSTEM } from '../engine/kernel/authority.ts';
import { CLOSE } from '../protocol/closecodes.ts';
import type { ApplicationId, GuildId, UserId } from '../protocol/ids.ts';
import { LIMITS } from '../protocol/limits.ts';
import { P } from '../protocol/permissions.ts';
import { refusal } from '../protocol/refusal.ts';
import { createOAuth as assemble } from '../services/oauth/oauth.ts';
import type { OAuth, UserGuild } from '../services/oauth/ports.ts';
import { oauthRoutes } from '../services/routes.ts';
import type { Site } from './site.ts';

const REVOKED = { ...CLOSE.AUTHENTICATION_FAILED, reason: 'The authorization was revoked.' };

const onBehalfOf = (userId: UserId, requires: bigint): Authority => ({
  by: { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null },
  requires,
});

export function createOAuth(site: Site): OAuth {
  const { storage, nextId, randomBytes, clock, guilds } = site;
  const { applications, users, settings } = storage;
  const closeSessions = site.routing.everywhere(
    'oauth.revoked',
    (userId: UserId, applicationId: ApplicationId) =>
      site.sessions().closeSessionsOfGrant(userId, applicationId, REVOKED),
  );
  const oauth = assemble({
    security: site.security,
    ...{ applications, users, settings, nextId, randomBytes, routing: site.routing },
    store: storage.oauth,
    commit: site.commit,
    commitAsOwner: site.commitAsOwner,
    nowMs: () => clock.now(),
    publicUrl: site.publicUrl,
    isBanned: (userId) => site.parts().provisional.isBanned(userId),
    merge: (order) => site.parts().provisional.merge(order),
    revoked(userId, applicationId) {
      closeSessions(userId, applicationId);
      site.parts().social.activities.takeBack(userId, applicationId);
    },
    // What hangs on a grant ends by itself; that it does not must not make the revocation look failed.
    deauthorized: (userId, applicationId) =>
      site
        .parts()
        .provisional.deauthorized(userId, applicationId)
        .catch((fault: unknown) => site.onFault(fault, 'deauthorized')),

    async addBot(approverId, { bot_id: botId, name }, { guildId, permissions }) {
      if (botId === null) return { ok: false, refusal: refusal('OAUTH2_APPLICATION_HAS_NO_BOT') };
      if ((await users.guildIds(botId)).length >= LIMITS.guilds_per_bot_max)
        return { ok: false, refusal: refusal('MAXIMUM_GUILDS') };
      const authority = onBehalfOf(approverId, P.MANAGE_GUILD);
      return guilds.call(guildId, 'installBot', { botId, name, permissions }, authority);
    },

    async guildObject(guildId) {
      const reply = await guilds.call(guildId, 'getGuild', { withCounts: false }, SYSTEM);
      return reply.ok ? reply.value : null;
    },

    async guildsOf(userId) {
      const ids = await users.guildIds(userId);
      const authority = onBehalfOf(userId, 0n);
      const replies = await Promise.all(
        ids.map((id) => guilds.call(id, 'myGuild', { withCounts: false }, authority)),
      );
      return replies.flatMap((reply): UserGuild[] => {
        if (!reply.ok) return [];
        const { id, name, icon, permissions } = reply.value;
        return [{ id: id as GuildId, name, icon, permissions }];
      });
    },
  });
  return routed('oauth', oauth, oauthRoutes(applications), site.cluster);
}

import type { Guilds } from '../../actors/guild/guilds.ts';
import { SYSTEM, userAuthority } from '../../engine/kernel/authority.ts';
import type { GuildId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { UserStore } from '../../storage/user/port.ts';
import { membershipRefusal } from '../guilds/membershiplimit.ts';
import type { ConsentPorts } from './consents.ts';
import type { InstallPorts } from './install.ts';
import type { UserGuild } from './ports.ts';

type GuildPorts = Pick<InstallPorts, 'addBot' | 'guildObject'> & Pick<ConsentPorts, 'guildsOf'>;

/** Guild operations that the authorization server needs. */
export const oauthGuilds = (
  guilds: Pick<Guilds, 'call'>,
  users: Pick<UserStore, 'guildIds'>,
): GuildPorts => ({
  async addBot(approverId, { id: applicationId, bot_id: botId, name }, { guildId, permissions }) {
    if (botId === null) return { ok: false, refusal: refusal('OAUTH2_APPLICATION_HAS_NO_BOT') };
    const no = await membershipRefusal(users, { userId: botId, bot: true });
    if (no) return { ok: false, refusal: no };
    const authority = { ...userAuthority(approverId), requires: P.MANAGE_GUILD };
    return guilds.call(guildId, 'installBot', { botId, applicationId, name, permissions }, authority);
  },

  async guildObject(guildId) {
    const reply = await guilds.call(guildId, 'getGuild', { withCounts: false }, SYSTEM);
    return reply.ok ? reply.value : null;
  },

  async guildsOf(userId) {
    const ids = await users.guildIds(userId);
    const authority = userAuthority(userId);
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

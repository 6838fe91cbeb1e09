import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Admin } from '../../embedding.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import { ApiError } from '../../protocol/apierror.ts';
import type { GuildId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Storage } from '../../storage/ports.ts';
import { createDeletion } from '../guilds/deletion.ts';
import type { Provisional } from '../players/ports.ts';

interface ShowingPorts {
  readonly storage: Storage;
  readonly guilds: Guilds;
  readonly isBanned: Provisional['isBanned'];
  /** The value of a reply. @throws ApiError for a refusal. */
  readonly granted: <Value>(reply: Reply<Value>) => Value;
  /** The error for an unknown id. */
  readonly unknown: (kind: 'user' | 'application', id: string) => ApiError;
}

/** Most applications of a guild that are shown. */
const BOTS_MAX = 100;

/** Shows single records to the operator, and deletes guilds. */
export function showingOf({
  storage,
  guilds,
  isBanned,
  granted,
  unknown,
}: ShowingPorts): Pick<Admin, 'showApplication' | 'showUser' | 'showGuild' | 'deleteGuild'> {
  /** @throws ApiError when the guild does not exist. */
  const load = async (guildId: GuildId) => {
    const found = await storage.guilds.load(guildId);
    if (found) return found;
    throw new ApiError({ ...refusal('UNKNOWN_GUILD'), message: `There is no guild ${guildId}.` });
  };

  const remove = createDeletion({ guilds, store: storage.guilds });

  return {
    async showApplication(applicationId) {
      const application = await storage.applications.get(applicationId);
      if (!application) throw unknown('application', applicationId);
      const [bot = null] = application.bot_id ? await storage.users.get([application.bot_id]) : [];
      const commands = await storage.appCommands.list(applicationId, null);
      return { application, bot, commands: commands.length };
    },

    async showUser(userId) {
      const [user] = await storage.users.get([userId]);
      if (!user) throw unknown('user', userId);
      const guildIds = await storage.users.guildIds(userId);
      const tokens = await storage.users.tokens([userId]);
      return { user, guildIds, tokens: tokens.length, banned: await isBanned(userId) };
    },

    async showGuild(guildId) {
      const { channels } = await load(guildId);
      const guild = granted(await guilds.call(guildId, 'getGuild', { withCounts: true }, SYSTEM));
      return {
        guild,
        channels: channels.map(({ id, type, name }) => ({ id, type, name })),
        bots: await storage.applications.inGuild(guildId, BOTS_MAX),
      };
    },

    async deleteGuild(guildId) {
      await load(guildId);
      granted(await remove(guildId, SYSTEM));
    },
  };
}

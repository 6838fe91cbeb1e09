import type { Guilds } from '../../actors/guild/guilds.ts';
import type { AppCommand, CommandOverwrite } from '../../engine/appcommand/appcommand.ts';
import type { MemberAccess } from '../../engine/guild/members.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { Application } from '../../engine/user/facts.ts';
import {
  COMMAND_OVERWRITE,
  INSTALLATION,
  INTERACTION_CONTEXT,
  type Installation,
  type InteractionContext,
} from '../../protocol/appcommands.ts';
import {
  type ApplicationId,
  type ChannelId,
  compareIds,
  type GuildId,
  type UserId,
} from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Storage } from '../../storage/ports.ts';

interface IndexPorts {
  readonly storage: Pick<Storage, 'applications' | 'appCommands' | 'privateChannels' | 'users'>;
  readonly guilds: Pick<Guilds, 'call'>;
  /** Applications that the user has installed to the account. */
  installedBy(userId: UserId): Promise<readonly ApplicationId[]>;
}

/** The permission overwrites of a command that concern the caller; absent without any. */
interface ShownPermissions {
  readonly user?: boolean;
  readonly roles?: Readonly<Record<string, boolean>>;
  readonly channels?: Readonly<Record<string, boolean>>;
}

interface IndexedCommand {
  readonly command: AppCommand;
  readonly permissions?: ShownPermissions;
}

/** Applications and their commands, as a person's client completes them. */
export interface CommandIndex {
  readonly applications: readonly {
    readonly application: Application;
    readonly permissions?: ShownPermissions;
    /** Only where one application was asked for. */
    readonly bot?: APIUser;
  }[];
  readonly commands: readonly IndexedCommand[];
  /** The newest version of a command; `0` without any. */
  readonly version: string;
}

export interface CommandIndexes {
  /** Commands of the applications that are installed to a guild; the caller is a member. */
  ofGuild(guildId: GuildId, authority: Authority): Promise<Reply<CommandIndex>>;
  /** Commands of the bots in a private channel. @returns 10003 to everyone but its users. */
  ofChannel(channelId: ChannelId, userId: UserId): Promise<Reply<CommandIndex>>;
  /** Commands of the applications that the user has installed to the account. */
  ofUser(userId: UserId): Promise<Reply<CommandIndex>>;
  /** All global commands of an application that the user has installed. @returns 10002 for any other. */
  ofApplication(applicationId: ApplicationId, userId: UserId): Promise<Reply<CommandIndex>>;
}

/** The guild of an index, and the member who reads it. */
interface IndexReader {
  readonly guildId: GuildId;
  readonly access: MemberAccess;
}

/** Applications that one index shows. */
const APPLICATIONS_MAX = 200;

export function createCommandIndexes({ storage, guilds, installedBy }: IndexPorts): CommandIndexes {
  const { applications, appCommands, privateChannels, users } = storage;

  async function indexOf(
    shown: readonly Application[],
    isShown: (command: AppCommand) => boolean,
    guild: IndexReader | null = null,
  ): Promise<CommandIndex> {
    const ids = shown.map(({ id }) => id);
    const guildId = guild?.guildId ?? null;
    const [all, overwrites] = await Promise.all([
      appCommands.shown(ids, guildId),
      guild ? appCommands.permissionsIn(ids, guild.guildId) : [],
    ]);
    const permissionsOf = (id: string): { readonly permissions?: ShownPermissions } => {
      const own = overwrites.find((each) => each.id === id)?.permissions;
      return own && guild ? { permissions: shownTo(guild, own) } : {};
    };
    const commands = all.filter((command) => command.guild_id !== null || isShown(command));
    return {
      applications: shown.map((application) => ({ application, ...permissionsOf(application.id) })),
      commands: commands.map((command) => ({ command, ...permissionsOf(command.id) })),
      version: commands.reduce((max, { version }) => (compareIds(version, max) > 0 ? version : max), '0'),
    };
  }

  return {
    async ofGuild(guildId, authority) {
      const access = await guilds.call(guildId, 'getOwnAccess', {}, authority);
      if (!access.ok) return access;
      const there = await applications.inGuild(guildId, APPLICATIONS_MAX);
      const isShown = worksIn(INSTALLATION.GUILD, INTERACTION_CONTEXT.GUILD);
      return { ok: true, value: await indexOf(there, isShown, { guildId, access: access.value }) };
    },
    async ofChannel(channelId, userId) {
      const channel = await privateChannels.get(channelId);
      if (!channel?.recipientIds.includes(userId)) return { ok: false, refusal: refusal('UNKNOWN_CHANNEL') };
      const peerIds = channel.recipientIds.filter((id) => id !== userId);
      const found = await Promise.all(peerIds.map((id) => applications.byBot(id)));
      const context = channel.group ? INTERACTION_CONTEXT.PRIVATE_CHANNEL : INTERACTION_CONTEXT.BOT_DM;
      const isShown = ({ contexts = null }: AppCommand): boolean =>
        contexts === null || contexts.includes(context);
      const bots = found.flatMap((application) => application ?? []);
      return { ok: true, value: await indexOf(bots, isShown) };
    },
    async ofUser(userId) {
      const ids = (await installedBy(userId)).slice(0, APPLICATIONS_MAX);
      const found = await Promise.all(ids.map((id) => applications.get(id)));
      const installed = found.flatMap((application) => application ?? []);
      return { ok: true, value: await indexOf(installed, isInstalledAs(INSTALLATION.USER)) };
    },
    async ofApplication(applicationId, userId) {
      const isInstalled = (await installedBy(userId)).includes(applicationId);
      const application = isInstalled ? await applications.get(applicationId) : null;
      if (!application) return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
      const [bot] = application.bot_id === null ? [] : await users.get([application.bot_id]);
      const index = await indexOf([application], () => true);
      return { ok: true, value: { ...index, applications: [{ application, ...(bot && { bot }) }] } };
    },
  };
}

const isInstalledAs =
  (installation: Installation) =>
  ({ integration_types: types = [INSTALLATION.GUILD] }: AppCommand): boolean =>
    types.includes(installation);

const worksIn = (installation: Installation, context: InteractionContext) => (command: AppCommand) => {
  const { contexts = null } = command;
  return isInstalledAs(installation)(command) && (contexts === null || contexts.includes(context));
};

/** The overwrites that concern the caller: the caller's own, those of the caller's roles and of @everyone, and those of channels. */
function shownTo(
  { guildId, access: { userId, roles } }: IndexReader,
  overwrites: readonly CommandOverwrite[],
): ShownPermissions {
  const { CHANNEL, ROLE, USER } = COMMAND_OVERWRITE;
  const own = overwrites.find(({ type, id }) => type === USER && id === userId);
  const of = (wanted: number, isWanted: (id: string) => boolean) =>
    Object.fromEntries(
      overwrites.flatMap(({ type, id, permission }) =>
        type === wanted && isWanted(id) ? [[id, permission]] : [],
      ),
    );
  const held = new Set<string>([...roles, guildId]);
  return {
    ...(own && { user: own.permission }),
    roles: of(ROLE, (id) => held.has(id)),
    channels: of(CHANNEL, () => true),
  };
}

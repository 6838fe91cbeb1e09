import type { ChannelDirectory } from '../actors/channel/directory.ts';
import type { Guilds } from '../actors/guild/guilds.ts';
import type { Routing } from '../actors/placement/routing.ts';
import type { Users } from '../actors/user/users.ts';
import type { Authority } from '../engine/kernel/authority.ts';
import type { Reply } from '../engine/kernel/outcome.ts';
import { type PrivateCommands, privateRules } from '../engine/privatechannel/rules.ts';
import type { ChannelId, MessageId, UserId } from '../protocol/ids.ts';
import { refusal } from '../protocol/refusal.ts';
import { applicationUpdater } from '../services/applications/applications.ts';
import type { GuildFounding } from '../services/guilds/founding.ts';
import type { PrivateChannels } from '../services/privatechannels/privatechannels.ts';
import { carrierApplication } from '../services/social/messagerules.ts';
import type { Blobs } from '../storage/blob/blobs.ts';
import type { Commit, Storage } from '../storage/ports.ts';
import type { Services } from '../transports/rest/services.ts';
import type { Parts } from './site.ts';

interface ServicePorts
  extends Pick<
      Services,
      'authenticate' | 'nextId' | 'nowMs' | 'rulesMs' | 'randomBytes' | 'gateway' | 'authorizeRequests'
    >,
    Parts {
  readonly storage: Storage;
  readonly blobs: Blobs;
  readonly guilds: Guilds;
  readonly users: Users;
  readonly channels: ChannelDirectory;
  readonly inPrivate: PrivateChannels['call'];
  readonly openPrivate: PrivateChannels['open'];
  commitAsOwner(ownerId: string, facts: Commit['facts']): Promise<void>;
  readonly routing: Routing;
  readonly founding: GuildFounding;
  /** Flags or name of an application have changed: what is remembered of its bot no longer holds. */
  forget(botId: UserId): void;
}

const isPrivateCommand = (type: string): type is keyof PrivateCommands =>
  Object.hasOwn(privateRules.commands, type);

/** What a game that carried a message may want to hear of it, whoever does it by whatever route. */
const CHANGES: ReadonlySet<string> = new Set<keyof PrivateCommands>(['updateMessage', 'deleteMessage']);

/** What REST handlers may use, over the actors and stores. */
export function createServices(ports: ServicePorts): Services {
  const { storage, guilds, users, inPrivate } = ports;

  async function privately(
    channelId: ChannelId,
    type: string,
    input: object,
    authority: Authority,
  ): Promise<Reply<never>> {
    if (!isPrivateCommand(type)) {
      // To strangers the channel does not even exist.
      const shown = await privately(channelId, 'getChannel', { channelId }, authority);
      return shown.ok ? { ok: false, refusal: refusal('CANNOT_EXECUTE_ON_DM') } : shown;
    }
    const { messageId } = input as { readonly messageId?: MessageId };
    const carried =
      messageId && CHANGES.has(type) ? await carrierApplication(channelId, messageId, storage) : {};
    const whole = { ...input, ...carried };
    return inPrivate(channelId, type, whole as never, authority) as Promise<Reply<never>>;
  }

  return {
    authenticate: ports.authenticate,
    calls: {
      ring: (channelId, userIds, authority) => inPrivate(channelId, 'ringCall', { userIds }, authority),
      stopRinging: (channelId, userIds, authority) =>
        inPrivate(channelId, 'stopRinging', { userIds }, authority),
    },
    guilds: {
      call: (guildId, type, input, authority) => guilds.call(guildId, type, input, authority),
      create: ports.founding.createOwn,
    },
    channels: {
      async call(channelId, type, input, authority) {
        const owner = await ports.channels.owner(channelId);
        if (!owner) return { ok: false, refusal: refusal('UNKNOWN_CHANNEL') };
        const whole = { ...input, channelId } as never;
        if ('private' in owner) return privately(channelId, type, whole, authority);
        return guilds.call(owner.guildId, type, whole, { ...authority, channelId });
      },
    },
    users: {
      updateUser: (userId, change) => users.update(userId, change),
      openPrivateChannel: ports.openPrivate,
    },
    applications: { update: applicationUpdater(ports) },
    authorizeRequests: ports.authorizeRequests,
    oauth: ports.oauth,
    accounts: ports.accounts,
    provisional: ports.provisional,
    lobbies: ports.lobbies,
    matchmaking: ports.matchmaking,
    social: ports.social,
    read: storage,
    blobs: ports.blobs,
    nextId: ports.nextId,
    nowMs: ports.nowMs,
    rulesMs: ports.rulesMs,
    randomBytes: ports.randomBytes,
    gateway: ports.gateway,
  };
}

import type { ChannelDirectory } from '../actors/channel/directory.ts';
import type { Guilds } from '../actors/guild/guilds.ts';
import type { Routing } from '../actors/placement/routing.ts';
import type { Users } from '../actors/user/users.ts';
import type { UserId } from '../protocol/ids.ts';
import { applicationUpdater } from '../services/applications/applications.ts';
import { channelCalls } from '../services/channels/channels.ts';
import type { GuildFounding } from '../services/guilds/founding.ts';
import type { PrivateChannels } from '../services/privatechannels/privatechannels.ts';
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

/** What REST handlers may use, over the actors and stores. */
export function createServices(ports: ServicePorts): Services {
  const { storage, guilds, users, inPrivate } = ports;

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
    channels: { call: channelCalls(ports) },
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

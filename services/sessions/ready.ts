import type { LiveSession, Opening } from '../../actors/session/backend.ts';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import { type PrivateChannelObject, privateChannelObject } from '../../engine/privatechannel/objects.ts';
import type { ReadyApplication, ReadyRelations } from '../../engine/session/ready.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { Storage } from '../../storage/ports.ts';
import type { Lobbies } from '../lobbies/ports.ts';
import type { IdentityProfile, Provisional } from '../players/ports.ts';
import type { Social } from '../social/ports.ts';

/** Services that contribute to READY. */
interface OpeningPorts {
  readonly storage: Pick<Storage, 'privateChannels' | 'users' | 'applications'>;
  readonly social: Pick<Social, 'opened'>;
  readonly lobbies: Pick<Lobbies, 'opened'>;
  readonly provisional: Pick<Provisional, 'profiles' | 'parentOf'>;
}

type ReadyContent = Omit<Opening, 'user' | 'guildIds' | 'privateChannels'> & {
  readonly privateChannels: readonly PrivateChannelObject[];
};

/** Most private channels in a user's READY, newest first. */
const PRIVATE_CHANNELS_MAX = 100;

/**
 * The part of READY besides the account and its guilds: the application for bots; friends, private channels and players
 * for users; the granted part of those for an application that acts for a user. Call it once the session is added to
 * its user: changes after the reads are then delivered to the session.
 */
export async function openingOf(session: LiveSession, ports: OpeningPorts): Promise<ReadyContent> {
  const { authorization, applicationId: id, applicationFlags: flags } = session.principal;
  if (session.bot)
    return { application: id && { id, flags }, privateChannels: [], relations: null, lobbies: [] };
  const userId = session.userId;
  const { scopes } = authorization ?? {};
  const [application, privateChannels, relations, lobbies] = await Promise.all([
    authorization && applicationOf(authorization.applicationId, ports),
    !scopes || scopes.has('dm_channels.read') ? privateChannelsOf(userId, ports.storage) : [],
    relationsOf(session, authorization, ports),
    scopes?.has('lobbies.write') && !session.over ? ports.lobbies.opened(session) : [],
  ]);
  return { application, privateChannels, relations, lobbies };
}

async function applicationOf(
  id: ApplicationId,
  { storage, provisional }: OpeningPorts,
): Promise<ReadyApplication> {
  const [application, parentId] = await Promise.all([storage.applications.get(id), provisional.parentOf(id)]);
  if (!application) throw new Error("The token's application does not exist.");
  return { id, flags: application.flags, name: application.name, parentId };
}

async function relationsOf(
  session: LiveSession,
  authorization: Authorization | null,
  { social, provisional }: OpeningPorts,
): Promise<ReadyRelations> {
  const opened = await social.opened(session);
  if (!authorization) return { ...opened, profiles: {} };
  const friends = [...opened.relationships, ...opened.gameRelationships] as readonly { id: UserId }[];
  const userIds = [...new Set([session.userId, ...friends.map(({ id }) => id)])];
  const profiles: Record<string, object[]> = {};
  for (const profile of await provisional.profiles(authorization.applicationId, userIds)) {
    profiles[profile.identity.userId] ??= [];
    profiles[profile.identity.userId]?.push(profileObject(profile));
  }
  return { ...opened, profiles };
}

/** @source https://docs.discord.food/gateway/gateway-events#user-application-profile-structure */
const profileObject = ({ username, metadata, data, identity }: IdentityProfile) => ({
  username,
  metadata,
  data,
  avatar_hash: null,
  external_id: {
    provider_type: identity.providerType,
    provider_id: identity.providerId,
    provider_issued_user_id: identity.providerIssuedUserId,
    preferred_global_name: null,
  },
});

async function privateChannelsOf(
  userId: UserId,
  storage: OpeningPorts['storage'],
): Promise<readonly PrivateChannelObject[]> {
  const channels = await storage.privateChannels.of(userId, PRIVATE_CHANNELS_MAX);
  const recipients = await storage.users.get([
    ...new Set(channels.flatMap((channel) => channel.recipientIds)),
  ]);
  const byId = new Map(recipients.map((user) => [user.id, user]));
  return channels.map((channel) => {
    const present = channel.recipientIds.flatMap((id) => {
      const user = byId.get(id);
      return user ? [[id, user] as const] : [];
    });
    return privateChannelObject({ channel, recipients: new Map(present) }, userId);
  });
}

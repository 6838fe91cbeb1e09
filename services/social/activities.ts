import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import type { HiddenActivity } from '../../engine/presence/activities.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Storage } from '../../storage/ports.ts';
import type { FriendCache } from './friendcache.ts';
import { INVITE_MS, type SentInvite, type UnstoredInvites } from './invites.ts';
import type { JoinSecretLookup } from './joinsecrets.ts';
import type { Activities, ActivityTarget, Person } from './ports.ts';

interface ActivityPorts {
  readonly storage: Pick<Storage, 'privateChannels' | 'messages'>;
  readonly friendCache: FriendCache;
  readonly joinSecrets: Pick<JoinSecretLookup, 'of'>;
  readonly unstoredInvites: UnstoredInvites;
  readonly nowMs: () => number;
  /** Whether both are the same application or belong to one publisher. */
  readonly related: (a: ApplicationId, b: ApplicationId) => Promise<boolean>;
  /** Guilds of a user who is online. */
  readonly guildIds: (userId: UserId) => Promise<readonly string[]>;
}

const JOIN = 1;

/** Activities that others can join. Their secrets are given only to users who may join. */
export function createActivities(ports: ActivityPorts): Pick<Activities, 'accept' | 'metadata'> {
  const { joinSecrets, friendCache } = ports;

  /**
   * Finds the session's activity in the application or in another one of its publisher; null also when either user
   * blocks the other.
   */
  async function findActivity(
    by: Person,
    { userId, sessionId, applicationId }: Omit<ActivityTarget, 'action' | 'invite'>,
  ): Promise<HiddenActivity | null> {
    const blocked = await Promise.all([
      friendCache.blocks(by.userId, userId),
      friendCache.blocks(userId, by.userId),
    ]);
    if (blocked.includes(true)) return null;
    const own = by.authorization?.applicationId;
    if (own !== undefined && !(await ports.related(own, applicationId))) return null;
    const activities = joinSecrets.of(userId, sessionId);
    for (const one of activities) if (one.applicationId === applicationId) return one;
    for (const one of activities) if (await ports.related(one.applicationId, applicationId)) return one;
    return null;
  }

  return {
    async accept(by, target) {
      const activity = await findActivity(by, target);
      if (!activity) return refused(refusal('UNKNOWN_SESSION'));
      const secret = target.action === JOIN ? activity.secrets.join : activity.secrets.spectate;
      const invited = await isInvited(by, target, activity, ports);
      if (secret === null || !invited) return refused(refusal('INVALID_ACTIVITY_ACTION'));
      return { ok: true, value: { secret } };
    },

    async metadata(by, target): Promise<Reply<{ readonly button_urls: readonly string[] }>> {
      const activity = await findActivity(by, target);
      const [own, theirs] = await Promise.all([by.userId, target.userId].map(ports.guildIds));
      const sees =
        by.userId === target.userId ||
        own?.some((guildId) => theirs?.includes(guildId)) ||
        (await friendCache.friends(by.userId, target.userId, target.applicationId));
      if (!activity || !sees) return refused(refusal('UNKNOWN_SESSION'));
      return { ok: true, value: { button_urls: activity.buttonUrls } };
    },
  };
}

/** An invite is valid for six hours and for its party. Without one, friends may join a party that is open. */
async function isInvited(
  by: Person,
  { userId, invite, applicationId }: ActivityTarget,
  activity: HiddenActivity,
  { storage, unstoredInvites, friendCache, nowMs }: ActivityPorts,
): Promise<boolean> {
  if (!invite) return activity.isPublic && friendCache.friends(by.userId, userId, applicationId);
  const sent = unstoredInvites.get(invite.messageId) ?? (await storedInvite(by.userId, invite, storage));
  return (
    sent !== null &&
    sent.from === userId &&
    sent.to === by.userId &&
    sent.type === JOIN &&
    sent.partyId === activity.partyId &&
    nowMs() - sent.atMs <= INVITE_MS
  );
}

async function storedInvite(
  userId: UserId,
  { channelId, messageId }: NonNullable<ActivityTarget['invite']>,
  { privateChannels, messages }: ActivityPorts['storage'],
): Promise<SentInvite | null> {
  const channel = await privateChannels.get(channelId);
  if (!channel?.recipientIds.includes(userId)) return null;
  const [message] = await messages.get(channelId, [{ channelId, id: messageId }]);
  if (!message?.activity) return null;
  const from = message.author.id;
  // In a group everyone is invited.
  const to = channel.group ? userId : channel.recipientIds.find((id) => id !== from);
  const { type, party_id: partyId = null } = message.activity;
  return to ? { from, to, type, partyId, atMs: Date.parse(message.timestamp) } : null;
}

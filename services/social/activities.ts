import { type Reply, refused } from '../../engine/kernel/outcome.ts';
import type { HiddenActivity } from '../../engine/presence/activities.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Storage } from '../../storage/ports.ts';
import type { ActingOf } from './acting.ts';
import type { Circle } from './circle.ts';
import { INVITE_MS, type PassingInvites, type SentInvite } from './invites.ts';
import type { Activities, ActivityTarget, Person } from './ports.ts';

interface ActivityPorts {
  readonly storage: Pick<Storage, 'privateChannels' | 'messages'>;
  readonly circle: Circle;
  readonly acting: Pick<ActingOf, 'of'>;
  readonly passing: PassingInvites;
  readonly nowMs: () => number;
  /** Same application, or of one publisher. */
  readonly related: (a: ApplicationId, b: ApplicationId) => Promise<boolean>;
  /** Guilds of a user who is online. */
  readonly guildIds: (userId: UserId) => Promise<readonly string[]>;
}

const JOIN = 1;

/** What people do and let others join: the secrets of it go to whoever may have them, and to nobody else. */
export function createActivities(ports: ActivityPorts): Pick<Activities, 'accept' | 'metadata'> {
  const { acting, circle } = ports;

  /** What the session does in the application, or in one of the same publisher; null too when a block is between. */
  async function found(
    by: Person,
    { userId, sessionId, applicationId }: Omit<ActivityTarget, 'action' | 'invite'>,
  ): Promise<HiddenActivity | null> {
    const blocked = await Promise.all([circle.blocks(by.userId, userId), circle.blocks(userId, by.userId)]);
    if (blocked.includes(true)) return null;
    const own = by.authorization?.applicationId;
    if (own !== undefined && !(await ports.related(own, applicationId))) return null;
    const activities = acting.of(userId, sessionId);
    for (const one of activities) if (one.applicationId === applicationId) return one;
    for (const one of activities) if (await ports.related(one.applicationId, applicationId)) return one;
    return null;
  }

  return {
    async accept(by, target) {
      const activity = await found(by, target);
      if (!activity) return refused(refusal('UNKNOWN_SESSION'));
      const secret = target.action === JOIN ? activity.secrets.join : activity.secrets.spectate;
      const invited = await isInvited(by, target, activity, ports);
      if (secret === null || !invited) return refused(refusal('INVALID_ACTIVITY_ACTION'));
      return { ok: true, value: { secret } };
    },

    async metadata(by, target): Promise<Reply<{ readonly button_urls: readonly string[] }>> {
      const activity = await found(by, target);
      const [own, theirs] = await Promise.all([by.userId, target.userId].map(ports.guildIds));
      const sees =
        by.userId === target.userId ||
        own?.some((guildId) => theirs?.includes(guildId)) ||
        (await circle.friends(by.userId, target.userId, target.applicationId));
      if (!activity || !sees) return refused(refusal('UNKNOWN_SESSION'));
      return { ok: true, value: { button_urls: activity.buttonUrls } };
    },
  };
}

/** An invite counts for six hours and for its party; without one, a friend may join a party that is open. */
async function isInvited(
  by: Person,
  { userId, invite, applicationId }: ActivityTarget,
  activity: HiddenActivity,
  { storage, passing, circle, nowMs }: ActivityPorts,
): Promise<boolean> {
  if (!invite) return activity.isPublic && circle.friends(by.userId, userId, applicationId);
  const sent = passing.get(invite.messageId) ?? (await storedInvite(by.userId, invite, storage));
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
  const from = message.author.id as UserId;
  const to = channel.recipientIds.find((id) => id !== from);
  const { type, party_id: partyId = null } = message.activity;
  return to ? { from, to, type, partyId, atMs: Date.parse(message.timestamp) } : null;
}

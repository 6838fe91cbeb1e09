import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { GroupDraft } from '../../engine/privatechannel/groups.ts';
import { type PrivateChannelObject, privateChannelObject } from '../../engine/privatechannel/objects.ts';
import { recipientsOf } from '../../engine/privatechannel/rules.ts';
import { RELATION } from '../../engine/social/facts.ts';
import type { GroupSettings } from '../../engine/user/facts.ts';
import type { ApplicationId, ChannelId, FreshId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Storage } from '../../storage/ports.ts';
import type { PrivateChannels } from './privatechannels.ts';

interface GroupPorts {
  readonly storage: Pick<Storage, 'privateChannels' | 'users' | 'relationships'>;
  readonly privates: Pick<PrivateChannels, 'call' | 'openGroup'>;
  readonly authenticate: (token: string) => Promise<TokenOwner | null>;
  readonly nextId: () => FreshId;
}

interface TokenOwner {
  readonly userId: UserId;
  readonly bot: boolean;
  readonly authorization: {
    readonly applicationId: ApplicationId;
    readonly scopes: ReadonlySet<string>;
  } | null;
}

/** The bot that opens and manages a group, and its application. */
interface ManagingBot {
  readonly userId: UserId;
  readonly applicationId: ApplicationId;
}

/** How the user is added: by a friend, or by an application with the user's access token. */
interface Adding {
  readonly accessToken: string | null;
  readonly nick: string | null;
}

/** Group direct messages. @source https://docs.discord.com/developers/resources/user#create-group-dm */
export interface Groups {
  /** @returns 50033 where somebody is not a friend, 30004 for too many. */
  open(by: UserId, friendIds: readonly UserId[]): Promise<Reply<PrivateChannelObject>>;
  /**
   * The bot is one of the recipients.
   *
   * @returns 50025 or 50026 for a token that does not allow it, 30004 for too many users, 30011 for too many groups.
   */
  openManaged(
    by: ManagingBot,
    accessTokens: readonly string[],
    nicks: Readonly<Record<string, string>>,
  ): Promise<Reply<PrivateChannelObject>>;
  /** @returns The new group where the channel is one of two users; null where the user joins a group. */
  add(
    channelId: ChannelId,
    userId: UserId,
    adding: Adding,
    authority: Authority,
  ): Promise<Reply<PrivateChannelObject | null>>;
  update(channelId: ChannelId, draft: GroupDraft, authority: Authority): Promise<Reply<PrivateChannelObject>>;
  remove(channelId: ChannelId, userId: UserId, authority: Authority): Promise<Reply<null>>;
}

const NOTHING_SAID = { name: null, icon: null, nicks: {} };

export function createGroups(ports: GroupPorts): Groups {
  const { storage, privates } = ports;

  async function opened(
    by: UserId,
    recipientIds: readonly UserId[],
    group: GroupSettings,
  ): Promise<Reply<PrivateChannelObject>> {
    if (recipientIds.length > LIMITS.group_dm_recipients_max) return refused(refusal('MAXIMUM_RECIPIENTS'));
    const reply = await privates.openGroup(ports.nextId(), recipientIds, group);
    if (!reply.ok) return reply;
    const channel = reply.value;
    const users = await storage.users.get(recipientIds);
    return {
      ok: true,
      value: privateChannelObject({ channel, recipients: recipientsOf(channel, users) }, by),
    };
  }

  const open: Groups['open'] = async (by, friendIds) => {
    const others = [...new Set(friendIds)].filter((id) => id !== by);
    const no = await notFriends(by, others, storage);
    if (no) return refused(no);
    return opened(by, [by, ...others], { ...NOTHING_SAID, ownerId: by, applicationId: null });
  };

  return {
    open,
    async openManaged(by, accessTokens, nicks) {
      const tooLong = Object.entries(nicks).find(([, nick]) => !isNick(nick));
      if (tooLong) return refused(wrongNick(['nicks', tooLong[0]]));
      if (accessTokens.length >= LIMITS.group_dm_recipients_max)
        return refused(refusal('MAXIMUM_RECIPIENTS'));
      if ((await storage.privateChannels.managedBy(by.applicationId)) >= LIMITS.managed_groups_max)
        return refused(refusal('MAXIMUM_GROUP_DMS'));
      const consenting = await ownersOf(accessTokens, by.applicationId, ports);
      if (!consenting.ok) return consenting;
      const userIds = consenting.value;
      const known = Object.fromEntries(userIds.flatMap((id) => (nicks[id] ? [[id, nicks[id]]] : [])));
      const group = { ...NOTHING_SAID, nicks: known, ownerId: by.userId, applicationId: by.applicationId };
      return opened(by.userId, [by.userId, ...userIds], group);
    },

    async add(channelId, userId, { accessToken, nick }, authority) {
      if (nick !== null && !isNick(nick)) return refused(wrongNick(['nick']));
      const there = await privates.call(channelId, 'getChannel', { channelId }, authority);
      if (!there.ok) return there;
      const [peer] = there.value.recipients;
      if (there.value.owner_id === undefined && !authority.by.bot)
        return open(authority.by.userId, peer ? [peer.id, userId] : [userId]);
      const no = await mayAdd(there.value, { userId, accessToken }, authority, ports);
      if (no) return refused(no);
      const [user] = await storage.users.get([userId]);
      if (!user) return refused(refusal('UNKNOWN_USER'));
      return privates.call(channelId, 'addRecipient', { user, nick }, authority);
    },

    update: (channelId, draft, authority) => privates.call(channelId, 'updateChannel', { draft }, authority),

    remove: (channelId, userId, authority) =>
      privates.call(channelId, 'removeRecipient', { userId }, authority),
  };
}

const isNick = (text: string): boolean => [...text].length <= LIMITS.nick_chars_max;
const wrongNick = (path: readonly string[]): Refusal =>
  invalidField(path, 'BASE_TYPE_MAX_LENGTH', `Must be ${LIMITS.nick_chars_max} or fewer in length.`);

/** Why the caller may not add the user to a group, or null. A bot adds to the groups that its application manages. */
async function mayAdd(
  { owner_id: ownerId, application_id: managerId }: PrivateChannelObject,
  { userId, accessToken }: { readonly userId: UserId; readonly accessToken: string | null },
  { by }: Authority,
  ports: GroupPorts,
): Promise<Refusal | null> {
  if (!by.bot) return notFriends(by.userId, [userId], ports.storage);
  if (ownerId === undefined) return refusal('CANNOT_EXECUTE_ON_DM');
  if (managerId === undefined || managerId !== by.applicationId) return refusal('MISSING_PERMISSIONS');
  const owners = await ownersOf([accessToken ?? ''], managerId, ports);
  if (!owners.ok) return owners.refusal;
  return owners.value.includes(userId) ? null : refusal('INVALID_OAUTH2_ACCESS_TOKEN');
}

/** The users who let the application add them to groups. */
async function ownersOf(
  tokens: readonly string[],
  applicationId: ApplicationId,
  { authenticate }: GroupPorts,
): Promise<Reply<UserId[]>> {
  const userIds = new Set<UserId>();
  for (const token of tokens) {
    const owner = await authenticate(token);
    if (!owner || owner.bot || owner.authorization?.applicationId !== applicationId)
      return refused(refusal('INVALID_OAUTH2_ACCESS_TOKEN'));
    const no = refusal('MISSING_OAUTH2_SCOPE');
    if (!owner.authorization.scopes.has('gdm.join'))
      return refused({ ...no, message: `${no.message}: gdm.join` });
    userIds.add(owner.userId);
  }
  return { ok: true, value: [...userIds] };
}

/** People add only their friends, and no bots. */
async function notFriends(
  by: UserId,
  others: readonly UserId[],
  { users, relationships }: GroupPorts['storage'],
): Promise<Refusal | null> {
  const [known, relations] = await Promise.all([
    users.get([...others]),
    relationships.among([by, ...others]),
  ]);
  const isFriend = (user: APIUser): boolean =>
    !user.bot &&
    relations.some(
      (one) =>
        one.userId === by &&
        one.peerId === user.id &&
        one.type === RELATION.FRIEND &&
        one.applicationId === null,
    );
  return known.length === others.length && known.every(isFriend) ? null : refusal('INVALID_RECIPIENTS');
}

import { MessageType } from 'discord-api-types/v10';
import type { ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { refusal } from '../../protocol/refusal.ts';
import { systemMessage } from '../channel/messages.ts';
import type { MessageFacts } from '../guild/facts.ts';
import type { StoredMessage } from '../guild/guild.ts';
import { accepted, type Env, type FactOf, type Outcome, refused, type Topic } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { Needs } from '../kernel/needs.ts';
import type { StoredRelation } from '../social/facts.ts';
import type { AsksColumn } from '../social/reach.ts';
import type { GroupFacts, GroupSettings, PrivateChannel } from '../user/facts.ts';
import { type CallFacts, callCreate, needsCall, type PrivateCall, withoutCaller } from './calls.ts';
import { channelShown, type PrivateChannelObject, privateChannelObject } from './objects.ts';

/** State of a private channel that rules of groups use. */
interface GroupChannel {
  channel: PrivateChannel;
  recipients: ReadonlyMap<UserId, APIUser>;
  readonly messages: ReadonlyMap<MessageId, StoredMessage | null>;
  relations: readonly StoredRelation[] | null;
  call: PrivateCall | null;
}

/** Fields of the requests of guild channels are ignored. */
export interface GroupDraft {
  readonly name?: string | null;
  /** Hash of an image that is stored. */
  readonly icon?: string | null;
  readonly owner?: UserId;
}

type GroupCommands = {
  /** @returns 50003 in a channel of two users, 50013 when someone else than the owner names another owner. */
  updateChannel: { input: { readonly draft: GroupDraft }; value: PrivateChannelObject };
  /** The caller has shown that the user agrees. Does nothing for a recipient. @returns 30004 in a full group. */
  addRecipient: { input: { readonly user: APIUser; readonly nick: string | null }; value: null };
  /** @returns 10013 for somebody else's user, 50013 to all but the owner and the application that manages the group. */
  removeRecipient: { input: { readonly userId: UserId }; value: null };
  /**
   * The caller leaves a group. A channel of two closes for the caller, whose client removes it from the list; it stays
   * open for the other user and can be reopened.
   */
  deleteChannel: { input: { readonly channelId: ChannelId }; value: PrivateChannelObject };
};

type Facts = GroupFacts & CallFacts & Pick<MessageFacts, 'messageCreated' | 'messageUpdated'>;

interface GroupShape {
  readonly state: GroupChannel;
  readonly facts: Facts;
  readonly needs: Needs;
  readonly dispatch: Dispatch;
  readonly env: Env;
  readonly row: AsksColumn<GroupChannel>;
}

interface Inside {
  readonly user: APIUser;
  readonly group: GroupSettings;
}

/** Runs a rule for a recipient of a group; for anyone else the channel does not exist. */
function asRecipient<Value>(
  { channel, recipients }: GroupChannel,
  by: By,
  rule: (inside: Inside) => Outcome<Value, FactOf<Facts>>,
): Outcome<Value, FactOf<Facts>> {
  const user = recipients.get(by.userId);
  if (!user) return refused(refusal('UNKNOWN_CHANNEL'));
  const { group } = channel;
  return group ? rule({ user, group }) : refused(refusal('CANNOT_EXECUTE_ON_DM'));
}

const groupMessage = (
  { channel }: GroupChannel,
  type: MessageType,
  author: APIUser,
  env: Env,
  more: Partial<StoredMessage> = {},
): FactOf<Facts> => {
  const created = systemMessage(env, channel.id, type, author);
  return { ...created, message: { ...created.message, ...more } };
};

function update(
  state: GroupChannel,
  { draft: { name, icon, owner: ownerId } }: GroupCommands['updateChannel']['input'],
  by: By,
  env: Env,
): Outcome<PrivateChannelObject, FactOf<Facts>> {
  return asRecipient(state, by, ({ user, group }) => {
    const { id: channelId, recipientIds } = state.channel;
    if (ownerId !== undefined && ownerId !== group.ownerId) {
      if (group.ownerId !== user.id) return refused(refusal('MISSING_PERMISSIONS'));
      const next = state.recipients.get(ownerId);
      if (!next || next.bot) return refused(refusal('INVALID_RECIPIENTS'));
    }
    const after: GroupSettings = {
      ...group,
      name: name === undefined ? group.name : name,
      icon: icon === undefined ? group.icon : icon,
      ownerId: ownerId ?? group.ownerId,
    };
    const [isRenamed, isRedrawn] = [after.name !== group.name, after.icon !== group.icon];
    const shown = privateChannelObject({ ...state, channel: { ...state.channel, group: after } }, user.id);
    if (!isRenamed && !isRedrawn && after.ownerId === group.ownerId) return accepted(shown);
    return accepted(shown, [
      { type: 'groupUpdated', channelId, recipientIds, group: after },
      ...(isRenamed
        ? [groupMessage(state, MessageType.ChannelNameChange, user, env, { content: after.name ?? '' })]
        : []),
      ...(isRedrawn ? [groupMessage(state, MessageType.ChannelIconChange, user, env)] : []),
    ]);
  });
}

function add(
  state: GroupChannel,
  { user, nick }: GroupCommands['addRecipient']['input'],
  by: By,
  env: Env,
): Outcome<null, FactOf<Facts>> {
  return asRecipient(state, by, ({ user: author, group }) => {
    const { id: channelId, recipientIds } = state.channel;
    if (recipientIds.includes(user.id)) return accepted(null);
    if (recipientIds.length >= LIMITS.group_dm_recipients_max) return refused(refusal('MAXIMUM_RECIPIENTS'));
    const after = nick === null ? group : { ...group, nicks: { ...group.nicks, [user.id]: nick } };
    return accepted(null, [
      {
        ...{ type: 'recipientAdded', channelId, recipientIds: [...recipientIds, user.id] },
        ...{ group: after, user },
      },
      groupMessage(state, MessageType.RecipientAdd, author, env, { mentions: [user] }),
    ]);
  });
}

/** The facts of a recipient who leaves or is removed by `author`. */
function without(
  state: GroupChannel,
  group: GroupSettings,
  gone: APIUser,
  author: APIUser,
  env: Env,
): FactOf<Facts>[] {
  const { id: channelId } = state.channel;
  const recipientIds = state.channel.recipientIds.filter((id) => id !== gone.id);
  const heir = recipientIds.find((id) => !state.recipients.get(id)?.bot) ?? recipientIds[0];
  const ownerId = group.ownerId === gone.id ? (heir ?? gone.id) : group.ownerId;
  const { [gone.id]: _, ...nicks } = group.nicks;
  return [
    ...withoutCaller(state, gone.id, env),
    { type: 'recipientRemoved', channelId, recipientIds, group: { ...group, ownerId, nicks }, user: gone },
    ...(recipientIds.length > 0
      ? [groupMessage(state, MessageType.RecipientRemove, author, env, { mentions: [gone] })]
      : []),
  ];
}

const applied = (state: GroupChannel, { recipientIds, group }: GroupFacts['groupUpdated']): void => {
  state.channel = { ...state.channel, recipientIds, group };
};

const toUsers = (t: Dispatch['t'], d: object, userIds: readonly UserId[]): Dispatch => ({
  ...{ t, d },
  to: { kind: 'users', userIds },
});

/** Groups, and what happens to a channel of two in their place. */
export const groups: Topic<GroupShape, GroupCommands, keyof GroupFacts> = {
  commands: {
    updateChannel: { asks: 'nothing', decide: update },
    addRecipient: { asks: 'nothing', decide: add },
    removeRecipient: {
      asks: 'nothing',
      needs: needsCall,
      decide: (state, { userId }, by, env) =>
        asRecipient(state, by, ({ user, group }) => {
          const gone = state.recipients.get(userId);
          const manages = by.bot && group.applicationId !== null && by.applicationId === group.applicationId;
          if (gone?.id !== user.id && group.ownerId !== user.id && !manages)
            return refused(refusal('MISSING_PERMISSIONS'));
          if (!gone) return refused(refusal('UNKNOWN_USER'));
          return accepted(null, without(state, group, gone, user, env));
        }),
    },
    deleteChannel: {
      asks: 'nothing',
      needs: needsCall,
      decide: (state, _input, by, env) => {
        const user = state.recipients.get(by.userId);
        if (!user) return refused(refusal('UNKNOWN_CHANNEL'));
        const { group } = state.channel;
        const shown = privateChannelObject(state, user.id);
        return accepted(shown, group ? without(state, group, user, user, env) : []);
      },
    },
  },
  facts: {
    groupUpdated: { apply: applied, dispatches: (state) => channelShown(state, 'CHANNEL_UPDATE') },
    recipientAdded: {
      apply: (state, fact) => {
        applied(state, fact);
        state.recipients = new Map([...state.recipients, [fact.user.id, fact.user]]);
      },
      dispatches: (state, { channelId, user, recipientIds, group }) => {
        const nick = group.nicks[user.id];
        const d = { channel_id: channelId, user, ...(nick === undefined ? {} : { nick }) };
        const call = callCreate(state);
        return [
          ...channelShown(state, 'CHANNEL_CREATE', user.id),
          ...(call && !user.bot ? [toUsers('CALL_CREATE', call, [user.id])] : []),
          toUsers(
            'CHANNEL_RECIPIENT_ADD',
            d,
            recipientIds.filter((id) => id !== user.id),
          ),
        ];
      },
    },
    recipientRemoved: {
      apply: (state, fact) => {
        applied(state, fact);
        state.recipients = new Map([...state.recipients].filter(([id]) => id !== fact.user.id));
      },
      dispatches: (state, { channelId, user, recipientIds }) => [
        ...(user.bot ? [] : [toUsers('CHANNEL_DELETE', privateChannelObject(state, user.id), [user.id])]),
        toUsers('CHANNEL_RECIPIENT_REMOVE', { channel_id: channelId, user }, recipientIds),
      ],
    },
  },
};

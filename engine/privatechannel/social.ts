import {
  type ApplicationId,
  type ChannelId,
  compareIds,
  type MessageId,
  type UserId,
} from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { refusal } from '../../protocol/refusal.ts';
import { type WebhookEventFact, type WebhookEventType, webhookEvent } from '../application/webhookevents.ts';
import { sharedMessage } from '../channel/messages.ts';
import type { MessageFacts } from '../guild/facts.ts';
import type { StoredMessage } from '../guild/guild.ts';
import { accepted, type Env, type FactOf, type Outcome, refused, type Topic } from '../kernel/aggregate.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { Needs } from '../kernel/needs.ts';
import type { SocialFacts, StoredRelation } from '../social/facts.ts';
import { type AsksColumn, isBlocked } from '../social/reach.ts';
import type { Application, GroupFacts, GroupSettings, PrivateChannel } from '../user/facts.ts';
import { type CallFacts, endedCall, type PrivateCall } from './calls.ts';
import { channelShown } from './objects.ts';

/** The state of a private channel that social rules use. */
interface SocialChannel {
  channel: PrivateChannel;
  recipients: ReadonlyMap<UserId, APIUser>;
  readonly messages: ReadonlyMap<MessageId, StoredMessage | null>;
  /** Both sides of every relationship between the two; null until read. */
  relations: readonly StoredRelation[] | null;
  call: PrivateCall | null;
}

/** The application that writes, changes or deletes a message, with the fields that its events need. */
export type GameApplication = Pick<
  Application,
  'id' | 'event_webhooks_status' | 'event_webhooks_url' | 'event_webhooks_types'
>;

/** Commands of the server itself. */
type SocialChannelCommands = {
  /**
   * A relationship between the two has changed and is durable: it is read again before the next decision that uses it.
   */
  forgetRelations: { input: object; value: null };
  /** Ends a call between two users after one of them blocked the other. */
  applyBlock: { input: object; value: null };
  /** Sets the metadata of the application's moderation on a message it sent; an empty map removes it. */
  moderateMessage: {
    input: {
      readonly channelId: ChannelId;
      readonly messageId: MessageId;
      readonly applicationId: ApplicationId;
      readonly metadata: Readonly<Record<string, string>>;
    };
    value: null;
  };
  /** Two accounts were merged, and one of them is a recipient here. */
  replaceRecipient: { input: { readonly from: UserId; readonly user: APIUser }; value: null };
};

export type SocialChannelFacts = Pick<SocialFacts, 'recipientReplaced' | 'firstWritten'> & {
  /** Never stored, as the relationships have tables of their own. */
  relationsForgotten: object;
  webhookEventQueued: Omit<WebhookEventFact, 'type'>;
};

interface SocialNeeds extends Needs {
  /** The relations between the two users. */
  readonly relations?: true;
}

interface SocialShape {
  readonly state: SocialChannel;
  readonly facts: SocialChannelFacts & CallFacts & GroupFacts & Pick<MessageFacts, 'messageUpdated'>;
  readonly needs: SocialNeeds;
  readonly dispatch: Dispatch;
  readonly env: Env;
  readonly row: AsksColumn<SocialChannel>;
}

/** The facts of a group in which one account takes the place of another. */
function groupWith(
  { id: channelId, recipientIds }: PrivateChannel,
  group: GroupSettings,
  recipients: ReadonlyMap<UserId, APIUser>,
  from: UserId,
  user: APIUser,
): FactOf<GroupFacts>[] {
  const { [from]: nick, ...nicks } = group.nicks;
  const without = recipientIds.filter((id) => id !== from);
  const ownerId = group.ownerId === from ? user.id : group.ownerId;
  const removed = { channelId, recipientIds: without, group: { ...group, ownerId, nicks } };
  const facts: FactOf<GroupFacts>[] = [
    { type: 'recipientRemoved', ...removed, user: recipients.get(from) ?? user },
  ];
  if (recipients.has(user.id)) return facts;
  const named = { ...removed.group, nicks: { ...nicks, ...(nick !== undefined && { [user.id]: nick }) } };
  return [
    ...facts,
    { type: 'recipientAdded', channelId, recipientIds: [...without, user.id], group: named, user },
  ];
}

const NOBODY = refused(refusal('UNKNOWN_CHANNEL'));

/** Relationships are checked in a channel of two; a group does not require them. */
const needsRelations = (_input: object, { channel, call }: SocialChannel): SocialNeeds => ({
  ...(!channel.group && { relations: true }),
  ...(call && { messages: [{ channelId: channel.id, id: call.messageId }] }),
});

/** Effects of relationships, account merges and a game's moderation on a private channel: for the server only. */
export const social: Topic<SocialShape, SocialChannelCommands, keyof SocialChannelFacts> = {
  commands: {
    forgetRelations: {
      asks: 'nothing',
      decide: (_state, _input, by) => (by.system ? accepted(null, [{ type: 'relationsForgotten' }]) : NOBODY),
    },
    applyBlock: {
      asks: 'nothing',
      needs: needsRelations,
      decide: (state, _input, by, env) => {
        if (!by.system) return NOBODY;
        const isOver = !state.channel.group && isBlocked(state.relations ?? []);
        return accepted(null, isOver ? endedCall(state, env) : []);
      },
    },
    moderateMessage: {
      asks: 'nothing',
      needs: ({ channelId, messageId }) => ({ messages: [{ channelId, id: messageId }] }),
      decide: ({ messages }, { messageId, applicationId, metadata }, by) => {
        if (!by.system) return NOBODY;
        const message = messages.get(messageId);
        if (message?.application_id !== applicationId) return refused(refusal('UNKNOWN_MESSAGE'));
        const { moderation_metadata: _before, ...rest } = message;
        const isSet = Object.keys(metadata).length > 0;
        const next = isSet ? { ...rest, moderation_metadata: metadata } : rest;
        return accepted(null, [{ type: 'messageUpdated', message: next }]);
      },
    },
    replaceRecipient: {
      asks: 'nothing',
      decide: ({ channel, recipients }, { from, user }, by) => {
        if (!by.system) return NOBODY;
        if (!recipients.has(from)) return accepted(null);
        if (channel.group) return accepted(null, groupWith(channel, channel.group, recipients, from, user));
        return accepted(null, [{ type: 'recipientReplaced', channelId: channel.id, from, user }]);
      },
    },
  },
  facts: {
    relationsForgotten: {
      durable: false,
      apply: (state) => {
        state.relations = null;
      },
      dispatches: () => [],
    },
    firstWritten: {
      apply: (state, { userId }) => {
        state.channel = { ...state.channel, writtenBy: [...(state.channel.writtenBy ?? []), userId] };
      },
      dispatches: () => [],
    },
    recipientReplaced: {
      apply: (state, { from, user }) => {
        const recipients = new Map([...state.recipients].filter(([id]) => id !== from));
        state.recipients = recipients.set(user.id, user);
        const recipientIds = [...recipients.keys()].sort(compareIds);
        const writtenBy = state.channel.writtenBy?.map((id) => (id === from ? user.id : id)) ?? [];
        state.channel = { ...state.channel, recipientIds, writtenBy };
        state.relations = null;
      },
      // Both users receive the updated channel, the new user for the first time.
      dispatches: (state) => channelShown(state, 'CHANNEL_UPDATE'),
    },
    webhookEventQueued: { apply: () => {}, dispatches: () => [] },
  },
};

/** The facts of a message, with the webhook events of its application if it subscribes to them. */
export function toldToGame<Value, Fact extends { readonly type: string }>(
  { channel, recipients }: SocialChannel,
  game: GameApplication | undefined,
  outcome: Outcome<Value, Fact>,
  before: StoredMessage | null,
  env: Env,
): Outcome<Value, Fact | WebhookEventFact> {
  if (!outcome.ok || !game) return outcome;
  const shown = { channel: { id: channel.id, type: channel.type, recipients: [...recipients.values()] } };
  const events = outcome.facts.flatMap((fact) => {
    const type = EVENTS[fact.type];
    const message = 'message' in fact ? (fact.message as StoredMessage) : before;
    return type && message ? webhookEvent(game, type, { ...sharedMessage(message), ...shown }, env) : [];
  });
  return accepted(outcome.value, [...outcome.facts, ...events]);
}

const EVENTS: Readonly<Record<string, WebhookEventType>> = {
  messageCreated: 'GAME_DIRECT_MESSAGE_CREATE',
  messageUpdated: 'GAME_DIRECT_MESSAGE_UPDATE',
  messageDeleted: 'GAME_DIRECT_MESSAGE_DELETE',
};

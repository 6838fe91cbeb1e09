import type { APIUser } from 'discord-api-types/v10';
import {
  type ApplicationId,
  type ChannelId,
  compareIds,
  type MessageId,
  type UserId,
} from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { type WebhookEventFact, type WebhookEventType, webhookEvent } from '../application/webhookevents.ts';
import { endedCall, type PrivateCall } from '../call/ring.ts';
import { sharedMessage } from '../channel/wire.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { By, Dispatch, FactOf } from '../guild/topic.ts';
import { accepted, type Env, type Outcome, refused } from '../outcome.ts';
import type { Application, PrivateChannel } from '../user/facts.ts';
import type { SocialFacts, StoredRelation } from './facts.ts';
import { isBlocked } from './reach.ts';

/** What the social layer needs of a private channel. */
export interface SocialChannel {
  channel: PrivateChannel;
  recipients: ReadonlyMap<UserId, APIUser>;
  readonly messages: ReadonlyMap<MessageId, StoredMessage | null>;
  /** Both sides of every relationship between the two; null: to be read. */
  relations: readonly StoredRelation[] | null;
  call: PrivateCall | null;
}

/** The application through which a message is written, changed or deleted, as far as its events need it. */
export type GameApplication = Pick<
  Application,
  'id' | 'event_webhooks_status' | 'event_webhooks_url' | 'event_webhooks_types'
>;

/** Commands of the server itself; nobody else may. */
export type SocialChannelCommands = {
  /** A relationship between the two has changed and is durable: it is read again before anything is decided on it. */
  forgetRelations: { input: object; value: null };
  /** Ends a call between two of whom one blocks the other by now. */
  applyBlock: { input: object; value: null };
  /** Says what the application's moderation thinks of a message that it carried; an empty map: nothing. */
  moderateMessage: {
    input: {
      readonly channelId: ChannelId;
      readonly messageId: MessageId;
      readonly applicationId: ApplicationId;
      readonly metadata: Readonly<Record<string, string>>;
    };
    value: null;
  };
  /** Two accounts have become one, and one of them was in here. */
  replaceRecipient: { input: { readonly from: UserId; readonly user: APIUser }; value: null };
};

export type SocialChannelFacts = Pick<SocialFacts, 'recipientReplaced' | 'firstWritten'> & {
  /** Never stored: they are in the relationships. */
  relationsForgotten: object;
  webhookEventQueued: Omit<WebhookEventFact, 'type'>;
};
export type SocialChannelFact = FactOf<SocialChannelFacts>;

type Input<K extends keyof SocialChannelCommands> = SocialChannelCommands[K]['input'];
type MessageUpdated = { readonly type: 'messageUpdated'; readonly message: StoredMessage };
const NOBODY = refused(refusal('UNKNOWN_CHANNEL'));

export const socialDecisions = {
  forgetRelations(_: SocialChannel, _input: object, by: By): Outcome<null, SocialChannelFact> {
    return by.system ? accepted(null, [{ type: 'relationsForgotten' }]) : NOBODY;
  },

  applyBlock(
    state: SocialChannel,
    _input: object,
    by: By,
    env: Env,
  ): Outcome<null, ReturnType<typeof endedCall>[number]> {
    if (!by.system) return NOBODY;
    return accepted(null, isBlocked(state.relations ?? []) ? endedCall(state, env) : []);
  },

  moderateMessage(
    { messages }: SocialChannel,
    { messageId, applicationId, metadata }: Input<'moderateMessage'>,
    by: By,
  ): Outcome<null, MessageUpdated> {
    if (!by.system) return NOBODY;
    const message = messages.get(messageId);
    if (message?.application_id !== applicationId) return refused(refusal('UNKNOWN_MESSAGE'));
    const { moderation_metadata: _before, ...rest } = message;
    const says = Object.keys(metadata).length > 0;
    const next = says ? { ...rest, moderation_metadata: metadata } : rest;
    return accepted(null, [{ type: 'messageUpdated', message: next }]);
  },

  replaceRecipient(
    { channel, recipients }: SocialChannel,
    { from, user }: Input<'replaceRecipient'>,
    by: By,
  ): Outcome<null, SocialChannelFact> {
    if (!by.system) return NOBODY;
    if (!recipients.has(from)) return accepted(null);
    return accepted(null, [{ type: 'recipientReplaced', channelId: channel.id, from, user }]);
  },
};

export const socialChanges = {
  relationsForgotten(state: SocialChannel): void {
    state.relations = null;
  },
  firstWritten(state: SocialChannel, { userId }: SocialChannelFacts['firstWritten']): void {
    state.channel = { ...state.channel, writtenBy: [...(state.channel.writtenBy ?? []), userId] };
  },
  recipientReplaced(state: SocialChannel, { from, user }: SocialChannelFacts['recipientReplaced']): void {
    const recipients = new Map([...state.recipients].filter(([id]) => id !== from));
    state.recipients = recipients.set(user.id as UserId, user);
    const [low, high] = [...recipients.keys()].sort(compareIds) as [UserId, UserId];
    const writtenBy = state.channel.writtenBy?.map((id) => (id === from ? (user.id as UserId) : id)) ?? [];
    state.channel = { ...state.channel, recipientIds: [low, high], writtenBy };
    state.relations = null;
  },
  webhookEventQueued(): void {},
};

const silent = (): readonly Dispatch[] => [];
export const socialDispatches = {
  relationsForgotten: silent,
  firstWritten: silent,
  webhookEventQueued: silent,
};

/** The facts of a message with those that tell its application, if it wants to know. */
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

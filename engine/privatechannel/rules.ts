import { type ChannelId, isMessageId, isUserId, type MessageId, type UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { composeMessage, repeated } from '../channel/compose.ts';
import type { Sender } from '../channel/draft.ts';
import {
  applyMessage,
  deletedPayload,
  needsToPin,
  pinsIn,
  pinsPayload,
  type ReactionFact,
  reactionPayload,
  referencedOf,
  type Scope,
  sentUnder,
  sharedMessage,
  withReferenced,
} from '../channel/messages.ts';
import { pinMessage, removeMessage, unpinMessage } from '../channel/moderate.ts';
import {
  addReaction,
  applyReaction,
  namesTarget,
  needsReaction,
  type ReactionInput,
  reactionTarget,
  removeReaction,
} from '../channel/reactions.ts';
import { reviseMessage } from '../channel/revise.ts';
import type { EphemeralFacts, PollFacts } from '../guild/facts.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { MessageCommands, MessageInput } from '../guild/messages.ts';
import type { ReactionCommands } from '../guild/reactions.ts';
import {
  accepted,
  aggregate,
  type CommandsOf,
  type Env,
  type FactOf,
  type Outcome,
  refused,
  type Topic,
} from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { Needs } from '../kernel/needs.ts';
import type { StoredRelation } from '../social/facts.ts';
import { type Acquaintance, type AsksColumn, mayReach, type Unread } from '../social/reach.ts';
import type { GroupFacts, PrivateChannel, PrivateChannelFacts } from '../user/facts.ts';
import { type CallFacts, calls, type PrivateCall } from './calls.ts';
import { groups } from './groups.ts';
import { channelShown, type PrivateChannelObject, privateChannelObject } from './objects.ts';
import { polls } from './polls.ts';
import { type GameApplication, type SocialChannelFacts, social, toldToGame } from './social.ts';

/** State of the private-channel aggregate. Messages, nonces, pins and reactions are windows as in `Guild`. */
export interface PrivateChannelState {
  channel: PrivateChannel;
  /** In the order of `channel.recipientIds`. */
  recipients: ReadonlyMap<UserId, APIUser>;
  readonly messages: Map<MessageId, StoredMessage | null>;
  readonly nonces: Map<string, { readonly message: StoredMessage; readonly atMs: number }>;
  readonly pins: Map<ChannelId, ReadonlyMap<MessageId, number>>;
  readonly reacted: Map<string, boolean>;
  /** The current call; null without one. */
  call: PrivateCall | null;
  /** Both sides of every relationship between the two; null until read for the next command that needs them. */
  relations: readonly StoredRelation[] | null;
}

/** The recipients who still exist, in the order of the channel. */
export function recipientsOf(
  { recipientIds }: PrivateChannel,
  users: readonly APIUser[],
): ReadonlyMap<UserId, APIUser> {
  const byId = new Map(users.map((user) => [user.id, user]));
  return new Map(recipientIds.flatMap((id) => (byId.has(id) ? [[id, byId.get(id)!] as const] : [])));
}

/** A newly opened private channel. */
export const privateState = (
  channel: PrivateChannel,
  users: readonly APIUser[],
  relations: readonly StoredRelation[] | null,
): PrivateChannelState => ({
  channel,
  recipients: recipientsOf(channel, users),
  messages: new Map(),
  nonces: new Map(),
  pins: new Map(),
  reacted: new Map(),
  call: null,
  relations,
});

/** Commands of guild channels that private channels have too, with the same names and inputs. */
type OwnCommands = Pick<MessageCommands, 'authorizeHistory' | 'pinMessage' | 'unpinMessage'> & {
  readonly [K in 'createMessage' | 'updateMessage' | 'deleteMessage']: {
    /** `game`: the application that sends the command, which may receive an event. */
    input: MessageCommands[K]['input'] & {
      readonly game?: GameApplication;
      /** Both users have a session of the application that acts for the caller. */
      readonly together?: boolean;
    };
    value: MessageCommands[K]['value'];
  };
} & Pick<ReactionCommands, 'authorizeReactions' | 'addReaction' | 'removeReaction'> & {
    getChannel: { input: { readonly channelId: ChannelId }; value: PrivateChannelObject };
    startTyping: { input: { readonly channelId: ChannelId }; value: null };
  };

type OwnFacts = Omit<PrivateChannelFacts, keyof PollFacts | keyof GroupFacts> &
  Pick<EphemeralFacts, 'typingStarted'>;
type PrivateFacts = OwnFacts & GroupFacts & PollFacts & CallFacts & SocialChannelFacts;
export type PrivateFact = FactOf<PrivateFacts>;

/** Rows that a command needs before it is decided. */
export interface PrivateNeeds extends Needs {
  /** The relations between the two users. */
  readonly relations?: true;
}

interface PrivateShape {
  readonly state: PrivateChannelState;
  readonly facts: PrivateFacts;
  readonly needs: PrivateNeeds;
  readonly dispatch: Dispatch;
  readonly env: PrivateEnv;
  readonly row: AsksColumn<PrivateChannelState> & {
    /** The game that sent the changed message is notified, whichever user changes it and by whichever route. */
    readonly notifiesGame?: true;
  };
}

interface PrivateEnv extends Env {
  /** The relation of the two users in the database; null or absent when it was not loaded. */
  readonly acquaintance?: Acquaintance | null;
}

/** Permissions of every user; no user may change another's messages. */
const PRIVATE_PERMISSIONS =
  P.VIEW_CHANNEL |
  P.SEND_MESSAGES |
  P.SEND_TTS_MESSAGES |
  P.EMBED_LINKS |
  P.ATTACH_FILES |
  P.READ_MESSAGE_HISTORY |
  P.ADD_REACTIONS |
  P.SEND_VOICE_MESSAGES |
  P.SEND_POLLS |
  P.PIN_MESSAGES;

/** Runs a rule for one of the users, or for `from`; for anyone else the channel does not exist. */
function asRecipient<Value>(
  state: PrivateChannelState,
  by: By,
  env: Env,
  rule: (scope: Scope) => Outcome<Value, PrivateFact>,
  from?: Sender,
): Outcome<Value, PrivateFact> {
  const user = from ? from.fields.author : state.recipients.get(by.userId);
  return user ? rule(privateScope(state, user, by, env)) : refused(refusal('UNKNOWN_CHANNEL'));
}

/** The channel as `user` sees it, who writes for the caller. */
export function privateScope(state: PrivateChannelState, user: APIUser, by: By, env: Env): Scope {
  return {
    ownerId: state.channel.id,
    guildId: null,
    channelId: state.channel.id,
    user,
    permissions: PRIVATE_PERMISSIONS,
    userOf: (id) => (isUserId(id) && state.recipients.get(id)) || null,
    mayNotifyRole: () => false,
    messageOf: (id) => state.messages.get(id) ?? null,
    pins: () => pinsIn(state, state.channel.id),
    sentUnder: (nonce) => sentUnder(state, by.userId, nonce, env.nowMs),
  };
}

const shown = (
  state: PrivateChannelState,
  _: object,
  by: By,
  env: Env,
): Outcome<PrivateChannelObject, PrivateFact> =>
  asRecipient(state, by, env, ({ user }) => accepted(privateChannelObject(state, user.id)));

const nullValue = (outcome: Outcome<unknown, PrivateFact>): Outcome<null, PrivateFact> =>
  outcome.ok ? accepted(null, outcome.facts) : outcome;

/**
 * Whether the caller may contact the other user of a channel of two with this command: null when allowed, else a refusal, or the rows to
 * read first. For callers outside the channel the command's own rule refuses, as if there were no channel.
 */
export function reachOf(
  state: PrivateChannelState,
  { asks: column }: AsksColumn<PrivateChannelState>,
  input: object,
  by: By,
  known: Acquaintance | null,
): Refusal | Unread | null {
  const from = state.recipients.get(by.userId);
  const to = [...state.recipients.values()].find(({ id }) => id !== by.userId);
  if (by.system || !from || !to || state.channel.group) return null;
  const asks = typeof column === 'function' ? column(state, input, by) : column;
  const { writtenBy = [], last_message_id } = state.channel;
  const replied = writtenBy.includes(to.id);
  const begun = last_message_id !== null;
  const together = 'together' in input && input.together === true;
  const applicationId = from.bot ? null : by.applicationId;
  return mayReach(
    asks,
    { from, to, relations: state.relations, replied, begun },
    { applicationId, together },
    known,
  );
}

/** Records a user's first message here, so that the other may answer. */
function withFirst(
  { channel }: PrivateChannelState,
  facts: readonly PrivateFact[],
  by: By,
): readonly PrivateFact[] {
  if (channel.group || channel.writtenBy?.includes(by.userId)) return facts;
  const wrote = facts.some((fact) => fact.type === 'messageCreated' && fact.message.author.id === by.userId);
  const peerId = channel.recipientIds.find((id) => id !== by.userId);
  if (!wrote || !peerId) return facts;
  return [...facts, { type: 'firstWritten', channelId: channel.id, userId: by.userId, peerId }];
}

const toAll = (state: PrivateChannelState, t: Dispatch['t'], d: object): Dispatch => ({
  t,
  d,
  to: { kind: 'users', userIds: state.channel.recipientIds },
});

function shownMessage(
  { channel }: PrivateChannelState,
  message: StoredMessage,
  referenced: StoredMessage | null | undefined,
) {
  return { ...sharedMessage(message), ...withReferenced(message, referenced), channel_type: channel.type };
}

function updated(state: PrivateChannelState, message: StoredMessage): Dispatch {
  const d = { ...shownMessage(state, message, referencedOf(state, message)), tts: false };
  return toAll(state, 'MESSAGE_UPDATE', d);
}

function pinChanged(state: PrivateChannelState, messageId: MessageId): readonly Dispatch[] {
  const { id, last_pin_ms } = state.channel;
  const message = state.messages.get(messageId);
  const pins = toAll(state, 'CHANNEL_PINS_UPDATE', pinsPayload(id, last_pin_ms, null));
  return message ? [pins, updated(state, message)] : [pins];
}

const reactionShown = (state: PrivateChannelState, fact: ReactionFact): readonly Dispatch[] => {
  const { t, d } = reactionPayload(fact, null);
  return [toAll(state, t, d)];
};

const needsMessage = ({ channelId, messageId }: MessageInput): Needs => ({
  messages: [{ channelId, id: messageId }],
});

/** A channel of users: a guild's message rules, without roles, audit log or slow mode. */
const conversation: Topic<PrivateShape, OwnCommands, keyof OwnFacts> = {
  commands: {
    getChannel: { asks: 'nothing', decide: shown },
    startTyping: {
      asks: 'writing',
      decide: (state, { channelId }, by, env) =>
        asRecipient(state, by, env, () =>
          accepted(null, [{ type: 'typingStarted', channelId, userId: by.userId, atMs: env.nowMs }]),
        ),
    },
    authorizeHistory: {
      asks: 'nothing',
      decide: (state, _, by, env) =>
        asRecipient(state, by, env, ({ ownerId }) =>
          accepted({ ownerId, guildId: null, canReadHistory: true }),
        ),
    },
    createMessage: {
      asks: 'writing',
      needs: ({ channelId, draft }) => {
        const reference = draft.message_reference;
        const messageId = reference?.message_id;
        if (reference?.type || !isMessageId(messageId)) return {};
        return needsMessage({ channelId, messageId });
      },
      decide: (state, input, by, env) =>
        asRecipient(
          state,
          by,
          env,
          (scope) => {
            const before = repeated(scope, input);
            if (before) return accepted(before);
            return toldToGame(state, input.game, composeMessage(scope, input, by, env), null, env);
          },
          input.from,
        ),
    },
    updateMessage: {
      asks: 'writing',
      notifiesGame: true,
      needs: needsMessage,
      decide: (state, input, by, env) =>
        asRecipient(
          state,
          by,
          env,
          (scope) => {
            const outcome = reviseMessage(scope, input.messageId, input, by, env);
            return toldToGame(state, input.game, outcome, null, env);
          },
          input.from,
        ),
    },
    deleteMessage: {
      asks: 'nothing',
      notifiesGame: true,
      needs: needsMessage,
      decide: (state, { messageId, game, from }, by, env) =>
        asRecipient(
          state,
          by,
          env,
          (scope) => {
            const outcome = nullValue(removeMessage(scope, messageId));
            return toldToGame(state, game, outcome, scope.messageOf(messageId), env);
          },
          from,
        ),
    },
    pinMessage: {
      asks: 'writing',
      needs: (input, state) => needsToPin(state, input, false),
      decide: (state, { messageId }, by, env) =>
        asRecipient(state, by, env, (scope) => nullValue(pinMessage(scope, messageId, env))),
    },
    unpinMessage: {
      asks: 'writing',
      needs: (input, state) => needsToPin(state, input, true),
      decide: (state, { messageId }, by, env) =>
        asRecipient(state, by, env, (scope) =>
          nullValue(unpinMessage(scope, messageId, state.channel.last_pin_ms)),
        ),
    },
    authorizeReactions: {
      asks: 'nothing',
      needs: needsMessage,
      decide: (state, { messageId, emoji }, by, env) =>
        asRecipient(state, by, env, (scope) => {
          const target = reactionTarget(scope, messageId, emoji);
          return target.ok ? accepted({ ownerId: scope.ownerId, key: target.value.key }) : target;
        }),
    },
    addReaction: {
      // An unknown message or emoji is reported as such, whatever the relation of the two users is.
      asks: (state, input) => (namesTarget(state, input as ReactionInput) ? 'reacting' : 'nothing'),
      needs: (input, state, by) => needsReaction(state, input, by.userId),
      decide: (state, input, by, env) =>
        asRecipient(state, by, env, (scope) => addReaction(state, scope, by.userId, input, env)),
    },
    removeReaction: {
      asks: 'nothing',
      needs: (input, state) => needsReaction(state, input, input.userId),
      decide: (state, input, by, env) =>
        asRecipient(state, by, env, (scope) => {
          const target = reactionTarget(scope, input.messageId, input.emoji);
          if (!target.ok) return target;
          if (input.userId !== by.userId) return refused(refusal('CANNOT_EXECUTE_ON_DM'));
          return removeReaction(state, scope, input.userId, input);
        }),
    },
  },
  facts: {
    privateChannelOpened: {
      apply: (state, { channel }) => {
        state.channel = channel;
      },
      // @source https://docs.discord.com/developers/change-log#api-and-gateway-v8
      dispatches: (state) => channelShown(state, 'CHANNEL_CREATE'),
    },
    messageCreated: {
      apply: (state, fact) => {
        applyMessage(state, fact);
        state.channel = { ...state.channel, last_message_id: fact.message.id };
      },
      dispatches: (state, { message, nonce, referenced }) => {
        const d = { ...shownMessage(state, message, referenced), ...(nonce === null ? {} : { nonce }) };
        return [toAll(state, 'MESSAGE_CREATE', d)];
      },
    },
    messageUpdated: { apply: applyMessage, dispatches: (state, { message }) => [updated(state, message)] },
    messageDeleted: {
      apply: applyMessage,
      dispatches: (state, fact) => [toAll(state, 'MESSAGE_DELETE', deletedPayload(fact, null))],
    },
    messagesBulkDeleted: {
      apply: applyMessage,
      dispatches: (state, { channelId, messageIds }) =>
        messageIds.map((messageId) =>
          toAll(state, 'MESSAGE_DELETE', deletedPayload({ channelId, messageId }, null)),
        ),
    },
    messagePinned: {
      apply: (state, fact) => {
        applyMessage(state, fact);
        state.channel = { ...state.channel, last_pin_ms: fact.pinnedMs };
      },
      dispatches: (state, { messageId }) => pinChanged(state, messageId),
    },
    messageUnpinned: {
      apply: (state, fact) => {
        applyMessage(state, fact);
        state.channel = { ...state.channel, last_pin_ms: fact.lastPinMs };
      },
      dispatches: (state, { messageId }) => pinChanged(state, messageId),
    },
    reactionAdded: { apply: applyReaction, dispatches: reactionShown },
    reactionRemoved: { apply: applyReaction, dispatches: reactionShown },
    reactionsCleared: { apply: applyReaction, dispatches: reactionShown },
    reactionsEmojiCleared: { apply: applyReaction, dispatches: reactionShown },
    typingStarted: {
      durable: false,
      apply: () => {},
      dispatches: (state, { channelId, userId, atMs }) => {
        const d = { channel_id: channelId, user_id: userId, timestamp: Math.floor(atMs / 1_000) };
        return [toAll(state, 'TYPING_START', d)];
      },
    },
  },
};

/** The channel of two users or of a group, with its current call. */
export const privateRules = aggregate<PrivateShape>()({
  name: 'private channel',
  missing: refusal('UNKNOWN_CHANNEL'),
  authorize: (state, { row, input, authority: { by } }, { acquaintance = null }) => {
    const no = reachOf(state, row, input, by, acquaintance);
    if (typeof no === 'string') throw new Error(`Rows were not loaded before the decision: ${no}.`);
    return no;
  },
  consequences: [
    { causes: new Set(['messageCreated']), add: (state, facts, { by }) => withFirst(state, facts, by) },
  ],
  topics: [conversation, groups, polls, calls, social],
});

/** Every command of a private channel with its input and its value. */
export type PrivateCommands = CommandsOf<typeof privateRules>;

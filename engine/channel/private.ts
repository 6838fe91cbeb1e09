import type { APIUser } from 'discord-api-types/v10';
import { CHANNEL } from '../../protocol/channeltypes.ts';
import type { ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import {
  type CallCommands,
  type CallFacts,
  callChanges,
  callDecisions,
  callDispatches,
  type PrivateCall,
} from '../call/ring.ts';
import type { EphemeralFacts } from '../guild/facts.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { MessageCommands, MessageInput } from '../guild/messages.ts';
import type { ReactionCommands } from '../guild/reactions.ts';
import type { By, Commands, Dispatch, FactOf, Facts, Needs } from '../guild/topic.ts';
import { accepted, type Env, type Outcome, refused } from '../outcome.ts';
import {
  type GameApplication,
  type SocialChannelCommands,
  type SocialChannelFacts,
  socialChanges,
  socialDecisions,
  socialDispatches,
  toldToGame,
} from '../social/channel.ts';
import type { StoredRelation } from '../social/facts.ts';
import { type Acquaintance, type Asks, mayReach, type Unread } from '../social/reach.ts';
import type { PrivateChannel, PrivateChannelFacts } from '../user/facts.ts';
import { composeMessage, repeated } from './compose.ts';
import { pinMessage, removeMessage, unpinMessage } from './moderate.ts';
import { addReaction, applyReaction, reactionTarget, removeReaction } from './reactions.ts';
import { reviseMessage } from './revise.ts';
import type { ReactionFact, Scope } from './scope.ts';
import { isoTimestamp } from './text.ts';
import { applyMessage, sentUnder } from './window.ts';
import {
  deletedPayload,
  pinsPayload,
  reactionPayload,
  referencedOf,
  sharedMessage,
  withReferenced,
} from './wire.ts';

/** State of the private-channel aggregate. Messages and nonces are windows as in `Guild`. */
export interface PrivateChannelState {
  channel: PrivateChannel;
  /** Both users. */
  recipients: ReadonlyMap<UserId, APIUser>;
  readonly messages: Map<MessageId, StoredMessage | null>;
  readonly nonces: Map<string, { readonly message: StoredMessage; readonly atMs: number }>;
  /** The call that is on; null: none. */
  call: PrivateCall | null;
  /** Both sides of every relationship between the two; null: to be read before the next command that asks for them. */
  relations: readonly StoredRelation[] | null;
}

/** A private channel as it was just opened. */
export const privateState = (
  channel: PrivateChannel,
  users: readonly APIUser[],
  relations: readonly StoredRelation[] | null,
): PrivateChannelState => ({
  channel,
  recipients: new Map(users.map((user) => [user.id as UserId, user])),
  messages: new Map(),
  nonces: new Map(),
  call: null,
  relations,
});

/** A direct-message channel as one of its users sees it: the other one is the recipient. */
export interface PrivateChannelObject {
  readonly id: ChannelId;
  readonly type: 1;
  readonly flags: 0;
  readonly last_message_id: string | null;
  readonly last_pin_timestamp?: string;
  readonly recipients: readonly APIUser[];
}

/** Commands of a channel that a private channel knows too, under the same names and with the same inputs. */
export type PrivateCommands = Pick<MessageCommands, 'authorizeHistory' | 'pinMessage' | 'unpinMessage'> & {
  readonly [K in 'createMessage' | 'updateMessage' | 'deleteMessage']: {
    /** `game`: the application through which it is done; it may hear of it. */
    input: MessageCommands[K]['input'] & {
      readonly game?: GameApplication;
      /** Both users have a session of the application that acts for the caller. */
      readonly together?: boolean;
    };
    value: MessageCommands[K]['value'];
  };
} & Pick<ReactionCommands, 'authorizeReactions' | 'addReaction' | 'removeReaction'> & {
    getChannel: { input: { readonly channelId: ChannelId }; value: PrivateChannelObject };
    /** Closes it for the caller, whose client takes it off its list. It stays, as the other one's and to be reopened. */
    deleteChannel: { input: { readonly channelId: ChannelId }; value: PrivateChannelObject };
    startTyping: { input: { readonly channelId: ChannelId }; value: null };
  } & CallCommands &
  SocialChannelCommands;

export type PrivateFacts = PrivateChannelFacts &
  Pick<EphemeralFacts, 'typingStarted'> &
  CallFacts &
  SocialChannelFacts;
export type PrivateFact = FactOf<PrivateFacts>;

/** What a command must find before it is decided. */
export interface PrivateNeeds extends Needs {
  /** What the two are to each other. */
  readonly relations?: true;
}

/** As `Topic` of the guild, over the state of a private channel. */
export interface PrivateRules<C extends Commands, F extends Facts> {
  readonly needs: {
    readonly [K in keyof C]: (input: C[K]['input'], state: PrivateChannelState) => PrivateNeeds;
  };
  readonly decide: {
    readonly [K in keyof C]: (
      state: PrivateChannelState,
      input: C[K]['input'],
      by: By,
      env: Env,
      /** What the database says of the two; null: nobody has asked, as `reachOf` did not. */
      known?: Acquaintance | null,
    ) => Outcome<C[K]['value'], FactOf<F>>;
  };
  readonly apply: { readonly [K in keyof F]: (state: PrivateChannelState, fact: F[K]) => void };
  readonly dispatches: {
    readonly [K in keyof F]: (state: PrivateChannelState, fact: F[K]) => readonly Dispatch[];
  };
}

/** What both sides may do; neither may touch what the other wrote. */
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

/** Runs a rule for one of the two users; to everyone else the channel does not exist. */
function within<Value>(
  state: PrivateChannelState,
  by: By,
  env: Env,
  rule: (scope: Scope) => Outcome<Value, PrivateFact>,
): Outcome<Value, PrivateFact> {
  const user = state.recipients.get(by.userId);
  if (!user) return refused(refusal('UNKNOWN_CHANNEL'));
  return rule({
    ownerId: state.channel.id,
    guildId: null,
    channelId: state.channel.id,
    user,
    permissions: PRIVATE_PERMISSIONS,
    userOf: (id) => state.recipients.get(id as UserId) ?? null,
    mayNotifyRole: () => false,
    messageOf: (id) => state.messages.get(id) ?? null,
    sentUnder: (nonce) => sentUnder(state, by.userId, nonce, env.nowMs),
  });
}

const shown = (
  state: PrivateChannelState,
  _: object,
  by: By,
  env: Env,
): Outcome<PrivateChannelObject, PrivateFact> =>
  within(state, by, env, ({ user }) => accepted(privateChannelObject(state, user.id)));

const nullValue = (outcome: Outcome<unknown, PrivateFact>): Outcome<null, PrivateFact> =>
  outcome.ok ? accepted(null, outcome.facts) : outcome;

/**
 * What each command needs of the two users. Whatever reaches the other one is refused while either blocks the other;
 * reading, withdrawing what is one's own, and leaving stay allowed.
 */
const ASKS: {
  readonly [K in keyof PrivateCommands]:
    | Asks
    | ((state: PrivateChannelState, input: PrivateCommands[K]['input'], by: By) => Asks);
} = {
  getChannel: 'nothing',
  deleteChannel: 'nothing',
  authorizeHistory: 'nothing',
  authorizeReactions: 'nothing',
  deleteMessage: 'nothing',
  removeReaction: 'nothing',
  startTyping: 'writing',
  createMessage: 'writing',
  updateMessage: 'writing',
  pinMessage: 'writing',
  unpinMessage: 'writing',
  addReaction: 'reacting',
  setCallState: ({ call }, { join }, by) => {
    // Bots are refused by the rule of calls.
    if (!join || by.bot) return 'nothing';
    return call?.voiceStates.has(by.userId) ? 'staying' : 'writing';
  },
  ringCall: 'ringing',
  stopRinging: 'nothing',
  // For the server alone, which their own rules see to.
  ringTimedOut: 'nothing',
  dropCaller: 'nothing',
  showStreaming: 'nothing',
  forgetRelations: 'nothing',
  applyBlock: 'nothing',
  moderateMessage: 'nothing',
  replaceRecipient: 'nothing',
};

/**
 * Whether the caller may do this to the other user: null when so, a refusal when not, or what is to be read first.
 * Whoever is not in the channel is refused by the command's own rule, as if there were no channel.
 */
export function reachOf<K extends keyof PrivateCommands>(
  state: PrivateChannelState,
  type: K,
  input: PrivateCommands[K]['input'],
  by: By,
  known: Acquaintance | null,
): Refusal | Unread | null {
  const from = state.recipients.get(by.userId);
  const to = [...state.recipients.values()].find(({ id }) => id !== by.userId);
  if (by.system || !from || !to) return null;
  const row: Asks | ((state: PrivateChannelState, input: never, by: By) => Asks) = ASKS[type];
  const asks = typeof row === 'function' ? row(state, input as never, by) : row;
  const { writtenBy = [], last_message_id } = state.channel;
  const replied = writtenBy.includes(to.id as UserId);
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

/** A person's first message here is remembered: from then on the other may answer. */
function withFirst<Value>(
  { channel }: PrivateChannelState,
  by: By,
  outcome: Outcome<Value, PrivateFact>,
): Outcome<Value, PrivateFact> {
  if (!outcome.ok || channel.writtenBy?.includes(by.userId)) return outcome;
  const wrote = outcome.facts.some(
    (fact) => fact.type === 'messageCreated' && fact.message.author.id === by.userId,
  );
  const peerId = channel.recipientIds.find((id) => id !== by.userId);
  if (!wrote || !peerId) return outcome;
  const first = { type: 'firstWritten', channelId: channel.id, userId: by.userId, peerId } as const;
  return accepted(outcome.value, [...outcome.facts, first]);
}

type Rules = PrivateRules<PrivateCommands, PrivateFacts>['decide'];

type AnyRule = (state: PrivateChannelState, input: never, by: By, env: Env) => Outcome<unknown, PrivateFact>;

/** Every rule behind the rule of who reaches whom. */
function guarded(rules: Rules): Rules {
  const guard =
    (type: keyof PrivateCommands, rule: AnyRule) =>
    (state: PrivateChannelState, input: object, by: By, env: Env, known: Acquaintance | null = null) => {
      const no = reachOf(state, type, input as never, by, known);
      if (typeof no === 'string') throw new Error(`${type} was to be decided without its ${no}.`);
      return no ? refused(no) : withFirst(state, by, rule(state, input as never, by, env));
    };
  const table = Object.entries(rules) as [keyof PrivateCommands, AnyRule][];
  return Object.fromEntries(table.map(([type, rule]) => [type, guard(type, rule)])) as unknown as Rules;
}

const decide = guarded({
  getChannel: shown,
  deleteChannel: shown,
  startTyping: (state, { channelId }, by, env) =>
    within(state, by, env, () =>
      accepted(null, [{ type: 'typingStarted', channelId, userId: by.userId, atMs: env.nowMs }]),
    ),
  authorizeHistory: (state, _, by, env) =>
    within(state, by, env, ({ ownerId }) => accepted({ ownerId, guildId: null, canReadHistory: true })),
  createMessage: (state, input, by, env) =>
    within(state, by, env, (scope) => {
      const before = repeated(scope, input);
      if (before) return accepted(before);
      return toldToGame(state, input.game, composeMessage(scope, input, by, env), null, env);
    }),
  updateMessage: (state, input, by, env) =>
    within(state, by, env, (scope) => {
      const outcome = reviseMessage(scope, input.messageId, input, by, env);
      return toldToGame(state, input.game, outcome, null, env);
    }),
  deleteMessage: (state, { messageId, game }, by, env) =>
    within(state, by, env, (scope) => {
      const outcome = nullValue(removeMessage(scope, messageId));
      return toldToGame(state, game, outcome, scope.messageOf(messageId), env);
    }),
  pinMessage: (state, { messageId, pinCount }, by, env) =>
    within(state, by, env, (scope) => nullValue(pinMessage(scope, messageId, pinCount, env))),
  unpinMessage: (state, { messageId, newestOtherMs }, by, env) =>
    within(state, by, env, (scope) =>
      nullValue(unpinMessage(scope, messageId, state.channel.last_pin_ms, newestOtherMs)),
    ),
  authorizeReactions: (state, { messageId, emoji }, by, env) =>
    within(state, by, env, (scope) => {
      const target = reactionTarget(scope, messageId, emoji);
      return target.ok ? accepted({ ownerId: scope.ownerId, key: target.value.key }) : target;
    }),
  addReaction: (state, input, by, env) =>
    within(state, by, env, (scope) => addReaction(state, scope, input, env)),
  removeReaction: (state, input, by, env) =>
    within(state, by, env, (scope) => {
      if (input.userId !== by.userId) return refused(refusal('CANNOT_EXECUTE_ON_DM'));
      return removeReaction(state, scope, input.userId, input);
    }),
  ...callDecisions,
  ...socialDecisions,
});

/** The channel as `viewerId` sees it. */
export function privateChannelObject(
  state: Pick<PrivateChannelState, 'channel' | 'recipients'>,
  viewerId: string,
): PrivateChannelObject {
  const { id, type, last_message_id, last_pin_ms } = state.channel;
  return {
    id,
    type,
    flags: 0,
    last_message_id,
    ...(last_pin_ms === null ? {} : { last_pin_timestamp: isoTimestamp(last_pin_ms) }),
    recipients: [...state.recipients.values()].filter((user) => user.id !== viewerId),
  };
}

const toBoth = (state: PrivateChannelState, t: Dispatch['t'], d: object): Dispatch => ({
  t,
  d,
  to: { kind: 'users', userIds: state.channel.recipientIds },
});

function shownMessage(message: StoredMessage, referenced: StoredMessage | null | undefined) {
  return { ...sharedMessage(message), ...withReferenced(message, referenced), channel_type: CHANNEL.DM };
}

function updated(state: PrivateChannelState, message: StoredMessage): Dispatch {
  const d = { ...shownMessage(message, referencedOf(state, message)), tts: false };
  return toBoth(state, 'MESSAGE_UPDATE', d);
}

function pinChanged(state: PrivateChannelState, messageId: MessageId): readonly Dispatch[] {
  const { id, last_pin_ms } = state.channel;
  const message = state.messages.get(messageId);
  const pins = toBoth(state, 'CHANNEL_PINS_UPDATE', pinsPayload(id, last_pin_ms, null));
  return message ? [pins, updated(state, message)] : [pins];
}

const reactionShown = (state: PrivateChannelState, fact: ReactionFact): readonly Dispatch[] => {
  const { t, d } = reactionPayload(fact, null);
  return [toBoth(state, t, d)];
};

const dispatches: PrivateRules<PrivateCommands, PrivateFacts>['dispatches'] = {
  // Bots are not told of private channels; the first message brings theirs. @source the platform's changes of v8
  privateChannelOpened: (state) =>
    [...state.recipients.values()]
      .filter((user) => !user.bot)
      .map((user) => ({
        t: 'CHANNEL_CREATE',
        d: privateChannelObject(state, user.id),
        to: { kind: 'users', userIds: [user.id as UserId] },
      })),
  messageCreated: (state, { message, nonce, referenced }) => {
    const d = { ...shownMessage(message, referenced), ...(nonce === null ? {} : { nonce }) };
    return [toBoth(state, 'MESSAGE_CREATE', d)];
  },
  messageUpdated: (state, { message }) => [updated(state, message)],
  messageDeleted: (state, fact) => [toBoth(state, 'MESSAGE_DELETE', deletedPayload(fact, null))],
  messagesBulkDeleted: (state, { channelId, messageIds }) =>
    messageIds.map((messageId) =>
      toBoth(state, 'MESSAGE_DELETE', deletedPayload({ channelId, messageId }, null)),
    ),
  messagePinned: (state, { messageId }) => pinChanged(state, messageId),
  messageUnpinned: (state, { messageId }) => pinChanged(state, messageId),
  reactionAdded: (state, fact) => reactionShown(state, { type: 'reactionAdded', ...fact }),
  reactionRemoved: (state, fact) => reactionShown(state, { type: 'reactionRemoved', ...fact }),
  reactionsCleared: (state, fact) => reactionShown(state, { type: 'reactionsCleared', ...fact }),
  reactionsEmojiCleared: (state, fact) => reactionShown(state, { type: 'reactionsEmojiCleared', ...fact }),
  typingStarted: (state, { channelId, userId, atMs }) => {
    const d = { channel_id: channelId, user_id: userId, timestamp: Math.floor(atMs / 1_000) };
    return [toBoth(state, 'TYPING_START', d)];
  },
  // Both see the channel as it is now, the new one for the first time.
  recipientReplaced: (state) =>
    [...state.recipients.values()]
      .filter((user) => !user.bot)
      .map((user) => ({
        t: 'CHANNEL_UPDATE',
        d: privateChannelObject(state, user.id),
        to: { kind: 'users', userIds: [user.id as UserId] },
      })),
  ...callDispatches,
  ...socialDispatches,
};

const needsMessage = ({ channelId, messageId }: MessageInput): Needs => ({
  messages: [{ channelId, id: messageId }],
});

/** A call that ends changes the message that told of it. */
const needsCall = (_input: object, { channel, call }: PrivateChannelState): Needs =>
  call ? needsMessage({ channelId: channel.id, messageId: call.messageId }) : {};

/** Rules of a channel between two users: those of a guild's messages, without roles, audit or slow mode. */
export const privateRules: PrivateRules<PrivateCommands, PrivateFacts> = {
  needs: {
    getChannel: () => ({}),
    deleteChannel: () => ({}),
    startTyping: () => ({}),
    authorizeHistory: () => ({}),
    createMessage: ({ channelId, draft }) => {
      const reference = draft.message_reference;
      if (!reference || reference.type) return {};
      return needsMessage({ channelId, messageId: reference.message_id as MessageId });
    },
    updateMessage: needsMessage,
    deleteMessage: needsMessage,
    pinMessage: needsMessage,
    unpinMessage: needsMessage,
    authorizeReactions: needsMessage,
    addReaction: needsMessage,
    removeReaction: needsMessage,
    setCallState: needsCall,
    ringCall: () => ({}),
    stopRinging: () => ({}),
    ringTimedOut: () => ({}),
    dropCaller: needsCall,
    showStreaming: () => ({}),
    forgetRelations: () => ({}),
    applyBlock: (input, state) => ({ ...needsCall(input, state), relations: true }),
    moderateMessage: needsMessage,
    replaceRecipient: () => ({}),
  },
  decide,
  apply: {
    privateChannelOpened: (state, { channel }) => {
      state.channel = channel;
    },
    messageCreated: (state, fact) => {
      applyMessage(state, { type: 'messageCreated', ...fact });
      state.channel = { ...state.channel, last_message_id: fact.message.id };
    },
    messageUpdated: (state, fact) => applyMessage(state, { type: 'messageUpdated', ...fact }),
    messageDeleted: (state, fact) => applyMessage(state, { type: 'messageDeleted', ...fact }),
    messagesBulkDeleted: (state, fact) => applyMessage(state, { type: 'messagesBulkDeleted', ...fact }),
    messagePinned: (state, fact) => {
      applyMessage(state, { type: 'messagePinned', ...fact });
      state.channel = { ...state.channel, last_pin_ms: fact.pinnedMs };
    },
    messageUnpinned: (state, fact) => {
      applyMessage(state, { type: 'messageUnpinned', ...fact });
      state.channel = { ...state.channel, last_pin_ms: fact.lastPinMs };
    },
    reactionAdded: (state, fact) => applyReaction(state, { type: 'reactionAdded', ...fact }),
    reactionRemoved: (state, fact) => applyReaction(state, { type: 'reactionRemoved', ...fact }),
    reactionsCleared: (state, fact) => applyReaction(state, { type: 'reactionsCleared', ...fact }),
    reactionsEmojiCleared: (state, fact) => applyReaction(state, { type: 'reactionsEmojiCleared', ...fact }),
    typingStarted: () => {},
    ...callChanges,
    ...socialChanges,
  },
  dispatches,
};

// Goal: one rule decides which users reach each other in private, for every command, and a block comes before
// everything else.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type PrivateChannelState,
  type PrivateCommands,
  privateRules,
  privateState,
  reachOf,
} from '../../../engine/privatechannel/rules.ts';
import { RELATION, type StoredRelation } from '../../../engine/social/facts.ts';
import { type Acquaintance, type Asks, type Between, mayReach } from '../../../engine/social/reach.ts';
import { CONTACT_POLICIES } from '../../../protocol/contactpolicies.ts';
import type { ApplicationId, ChannelId, MessageId, UserId } from '../../../protocol/ids.ts';
import { user } from '../../support/guild.ts';
import { messageEnv, openPoll, storedMessage } from '../../support/messages.ts';
import { caller } from '../../support/people.ts';

const ID = '50' as ChannelId;
const [A, B] = ['10', '11'] as [UserId, UserId];
const GAME = '77' as ApplicationId;

const relation = (
  userId: UserId,
  peerId: UserId,
  type: StoredRelation['type'],
  applicationId: ApplicationId | null = null,
): StoredRelation => ({
  ...{ userId, peerId, applicationId, type },
  ...{ sinceMs: 0, nickname: null, originApplicationId: null },
});
const friends = (applicationId: ApplicationId | null = null) => [
  relation(A, B, RELATION.FRIEND, applicationId),
  relation(B, A, RELATION.FRIEND, applicationId),
];

/** Inputs that the tables below vary; A acts on B. */
interface Situation {
  readonly relations?: readonly StoredRelation[];
  readonly writtenBy?: readonly UserId[];
  readonly known?: Partial<Acquaintance>;
  readonly fromBot?: boolean;
  readonly toBot?: boolean;
}
const SITUATIONS = {
  'blocked by the other': { relations: [relation(B, A, RELATION.BLOCKED)], writtenBy: [A, B] },
  'blocking the other': { relations: [relation(A, B, RELATION.BLOCKED)], writtenBy: [A, B] },
  'blocked, although a game makes them friends': {
    relations: [relation(B, A, RELATION.BLOCKED), ...friends(GAME)],
  },
  friend: { relations: friends() },
  'friend in a game only': { relations: friends(GAME) },
  'asked for friendship': {
    relations: [relation(A, B, RELATION.OUTGOING), relation(B, A, RELATION.INCOMING)],
  },
  stranger: {},
  'shared guild': { known: { sharesGuild: true } },
  'earlier reply': { writtenBy: [B] },
  'own earlier message': { writtenBy: [A] },
  'open to everyone': { known: { policy: 'everyone' } },
  'shared guild, open to friends': { known: { sharesGuild: true, policy: 'friends' } },
  'friend, open to whom one has written': { relations: friends(), known: { policy: 'replied' } },
  'bot, no guild': { fromBot: true },
  'bot that was answered, no guild': { fromBot: true, writtenBy: [B] },
  'bot, shared guild': { fromBot: true, known: { sharesGuild: true } },
  'bot, installed': { fromBot: true, known: { isInstalled: true } },
  'bot, no guild, open to everyone': { fromBot: true, known: { policy: 'everyone' } },
  'bot, shared guild, open to friends': { fromBot: true, known: { sharesGuild: true, policy: 'friends' } },
  'bot, installed, open to friends': { fromBot: true, known: { isInstalled: true, policy: 'friends' } },
  'bot, blocked': {
    fromBot: true,
    known: { sharesGuild: true },
    relations: [relation(B, A, RELATION.BLOCKED)],
  },
  'to a bot, no guild': { toBot: true },
  'to a bot, shared guild': { toBot: true, known: { sharesGuild: true } },
  'to a bot, installed': { toBot: true, known: { isInstalled: true } },
} satisfies Record<string, Situation>;

/** 50007 and 50278 as the platform has them; 90001 for reactions to somebody who blocks. */
const BLOCKED = { writing: 50007, reacting: 90001, ringing: 50007, staying: 50007 };
const OK = { writing: null, reacting: null, staying: null, ringing: 50007 };
const NO_GUILD = { writing: 50278, reacting: 50278, staying: null, ringing: 50007 };
const CLOSED = { writing: 50007, reacting: 50007, staying: null, ringing: 50007 };
const EXPECTED: Record<keyof typeof SITUATIONS, Record<Exclude<Asks, 'nothing'>, number | null>> = {
  'blocked by the other': BLOCKED,
  'blocking the other': BLOCKED,
  'blocked, although a game makes them friends': BLOCKED,
  friend: { ...OK, ringing: null },
  'friend in a game only': NO_GUILD,
  'asked for friendship': NO_GUILD,
  stranger: NO_GUILD,
  'shared guild': OK,
  'earlier reply': OK,
  'own earlier message': NO_GUILD,
  'open to everyone': OK,
  'shared guild, open to friends': CLOSED,
  'friend, open to whom one has written': { ...CLOSED, ringing: null },
  'bot, no guild': NO_GUILD,
  'bot that was answered, no guild': NO_GUILD,
  'bot, shared guild': OK,
  'bot, installed': OK,
  'bot, no guild, open to everyone': NO_GUILD,
  'bot, shared guild, open to friends': CLOSED,
  'bot, installed, open to friends': OK,
  'bot, blocked': BLOCKED,
  'to a bot, no guild': NO_GUILD,
  'to a bot, shared guild': OK,
  'to a bot, installed': OK,
};

/** Every command with what it asks. What is missing here does not compile. */
const ASKED: Record<keyof PrivateCommands, Asks> = {
  getChannel: 'nothing',
  deleteChannel: 'nothing',
  updateChannel: 'nothing',
  addRecipient: 'nothing',
  removeRecipient: 'nothing',
  authorizeHistory: 'nothing',
  authorizeReactions: 'nothing',
  deleteMessage: 'nothing',
  removeReaction: 'nothing',
  authorizeVoters: 'nothing',
  endPoll: 'nothing',
  expirePoll: 'nothing',
  stopRinging: 'nothing',
  ringTimedOut: 'nothing',
  dropCaller: 'nothing',
  showStreaming: 'nothing',
  endStreams: 'nothing',
  forgetRelations: 'nothing',
  applyBlock: 'nothing',
  moderateMessage: 'nothing',
  replaceRecipient: 'nothing',
  startTyping: 'writing',
  createMessage: 'writing',
  updateMessage: 'writing',
  pinMessage: 'writing',
  unpinMessage: 'writing',
  addReaction: 'reacting',
  votePoll: 'reacting',
  setCallState: 'writing',
  ringCall: 'ringing',
};

/** The message that users react to and vote on. */
const MESSAGE = storedMessage(ID, B, { poll: openPoll() });

function stateOf({ relations = [], writtenBy = [], fromBot, toBot }: Situation): PrivateChannelState {
  const channel = {
    id: ID,
    type: 1,
    recipientIds: [A, B],
    last_message_id: null,
    last_pin_ms: null,
  } as const;
  const state = privateState({ ...channel, writtenBy }, [user(A, fromBot), user(B, toBot)], relations);
  state.messages.set(MESSAGE.id, MESSAGE);
  return state;
}
const knownIn = ({ known }: Situation): Acquaintance => ({
  ...{ policy: 'shared_guild', sharesGuild: false, isInstalled: false },
  ...known,
});
const rowOf = (type: keyof PrivateCommands) => privateRules.commands[type];
/** Null: allowed; a number: the code of the refusal. */
const codeOf = (answer: ReturnType<typeof mayReach>) =>
  typeof answer === 'string' ? answer : (answer?.code ?? null);

describe.each(Object.entries(SITUATIONS) as [keyof typeof SITUATIONS, Situation][])(
  '%s',
  (name, situation) => {
    it.each(Object.entries(ASKED) as [keyof PrivateCommands, Asks][])('%s', (type, asks) => {
      const input = { join: true, messageId: MESSAGE.id, emoji: '👍', answerIds: [1] } as never;
      const by = caller(A, { bot: situation.fromBot ?? false });
      // Bots take no part in calls, even with users they reach.
      const isFree = asks === 'nothing' || (type === 'setCallState' && by.bot);
      const expected = isFree ? null : EXPECTED[name][asks];
      expect(codeOf(reachOf(stateOf(situation), rowOf(type), input, by, knownIn(situation)))).toBe(expected);
      if (expected === null) return;
      const outcome = privateRules.decide(
        stateOf(situation),
        type,
        input,
        { by, requires: 0n },
        { ...messageEnv(), acquaintance: knownIn(situation) },
      );
      expect(outcome).toMatchObject({ ok: false, refusal: { code: expected } });
    });

    it('a reaction to an unknown message or emoji is rejected as unknown, whatever the relation of the users', () => {
      const decide = (input: { readonly messageId: MessageId; readonly emoji: string }) =>
        privateRules.decide(
          stateOf(situation),
          'addReaction',
          { channelId: ID, ...input },
          { by: caller(A), requires: 0n },
          { ...messageEnv(), acquaintance: null },
        );
      expect(decide({ messageId: '404' as MessageId, emoji: '👍' })).toMatchObject({
        refusal: { code: 10008 },
      });
      expect(decide({ messageId: MESSAGE.id, emoji: 'nope' })).toMatchObject({ refusal: { code: 10014 } });
    });

    it('a participant stays in the call unless blocked, and may always leave', () => {
      const state = stateOf(situation);
      state.call = { voiceStates: new Map([[A, {}]]) } as never;
      const by = caller(A);
      expect(codeOf(reachOf(state, rowOf('setCallState'), { join: true }, by, knownIn(situation)))).toBe(
        EXPECTED[name].staying,
      );
      expect(reachOf(state, rowOf('setCallState'), { join: false }, by, null)).toBeNull();
    });
  },
);

describe('contact that a game makes for a person', () => {
  const through = (together: boolean) => ({ applicationId: GAME, together });
  const between = (more: Partial<Between> = {}): Between => ({
    ...{ from: { id: A }, to: { id: B }, relations: [], replied: false, begun: false },
    ...more,
  });
  const of = (more: Partial<Between>, together: boolean, known: Partial<Acquaintance> = {}) =>
    codeOf(mayReach('writing', between(more), through(together), knownIn({ known })));

  it('reaches friends in the game, players of the same game, and earlier recipients who share a guild', () => {
    expect(of({}, false)).toBe(50278);
    expect(of({ relations: friends(GAME) }, false)).toBeNull();
    expect(of({ relations: friends('78' as ApplicationId) }, false)).toBe(50278);
    expect(of({}, true)).toBeNull();
    expect(of({}, false, { sharesGuild: true })).toBe(50278);
    expect(of({ begun: true }, false, { sharesGuild: true })).toBeNull();
    expect(of({ begun: true }, false)).toBe(50278);
    expect(of({ replied: true, begun: true }, false)).toBe(50278);
  });

  it('rings friends of the person, and not friends in the game only', () => {
    const ring = (relations: readonly StoredRelation[]) =>
      codeOf(mayReach('ringing', between({ relations }), through(true), knownIn({})));
    expect(ring(friends(GAME))).toBe(50007);
    expect(ring([...friends(GAME), ...friends()])).toBeNull();
  });

  it('respects the contact policy of the recipient', () => {
    expect(of({}, true, { policy: 'friends' })).toBe(50007);
    expect(of({ replied: true }, true, { policy: 'friends' })).toBeNull();
    expect(of({ relations: friends(GAME) }, false, { policy: 'friends' })).toBeNull();
    expect(of({ relations: friends(GAME) }, true, { policy: 'replied' })).toBe(50007);
  });
});

describe('the rule of who may reach whom', () => {
  const SOME = fc.record({
    policy: fc.constantFrom(...CONTACT_POLICIES),
    sharesGuild: fc.boolean(),
    isInstalled: fc.boolean(),
  });
  const ASKS = fc.constantFrom<Exclude<Asks, 'nothing'>[]>('writing', 'reacting', 'staying', 'ringing');

  it('rejects every attempt while either user blocks the other, whatever else connects them', () => {
    const blocks = fc.constantFrom(relation(A, B, RELATION.BLOCKED), relation(B, A, RELATION.BLOCKED));
    const both = fc.tuple(fc.boolean(), fc.boolean(), fc.boolean(), fc.boolean(), fc.boolean());
    fc.assert(
      fc.property(ASKS, SOME, blocks, both, (asks, known, block, [fromBot, toBot, replied, begun, game]) => {
        const between = {
          ...{ from: { id: A, bot: fromBot }, to: { id: B, bot: toBot } },
          ...{ relations: [...friends(GAME), block], replied, begun },
        };
        const through = { applicationId: game ? GAME : null, together: game };
        expect(codeOf(mayReach(asks, between, through, known))).toBe(asks === 'reacting' ? 90001 : 50007);
      }),
    );
  });

  it('requests its missing inputs once, and never decides without them', () => {
    fc.assert(
      fc.property(ASKS, fc.boolean(), fc.boolean(), (asks, replied, bot) => {
        const between = { from: { id: A, bot }, to: { id: B }, relations: null, replied, begun: replied };
        const through = { applicationId: null, together: false };
        expect(mayReach(asks, between, through, null)).toBe('relations');
        const next = mayReach(asks, { ...between, relations: [] }, through, null);
        const isWriting = asks === 'writing' || asks === 'reacting';
        expect(next === 'acquaintance').toBe(isWriting && (bot || !replied));
      }),
    );
  });

  it('does not apply to the server itself, nor to callers outside of the channel', () => {
    const state = stateOf({ relations: [relation(B, A, RELATION.BLOCKED)] });
    expect(reachOf(state, rowOf('createMessage'), {}, caller('99'), null)).toBeNull();
    expect(reachOf(state, rowOf('createMessage'), {}, caller(A, { system: true }), null)).toBeNull();
  });
});

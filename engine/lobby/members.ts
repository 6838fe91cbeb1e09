import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { LobbyChange } from '../../protocol/schemas/lobbyfields.ts';
import { cleanText } from '../channel/text.ts';
import type { SessionRef } from '../fanout/direct.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { LobbyFact, LobbyFacts, MatchedTicket } from './facts.ts';
import {
  changedLobby,
  INITIAL_FIELDS,
  type Lobby,
  type LobbyMember,
  type LobbyState,
  sameMetadata,
} from './lobby.ts';
import { cleanMetadata, METADATA, type Metadata, metadataRefusal } from './metadata.ts';
import {
  aboutMember,
  attach,
  enter,
  everyone,
  gatewayLobby,
  type LobbyMemberObject,
  type LobbyObject,
  lobbyObject,
  lobbyUpdate,
  memberObject,
  memberUpdate,
  others,
} from './objects.ts';
import { capacityOf, joinRefusal, settingsOf } from './settings.ts';
import type { LobbyOutcomeFact, LobbyTopic } from './topic.ts';
import { leavingVoice } from './voice.ts';

/** A user who may become a member, with the sessions open in the lobby's application. */
export interface Person {
  readonly user: APIUser;
  readonly sessions: readonly SessionRef[];
  /** `sessions` are all that are open now, and the owner of the user attaches those that open later. */
  readonly allSessions?: true;
  /** The user is in the maximum number of lobbies of the application. */
  readonly full: boolean;
}

/** A change of one member. An absent field stays; null removes it. */
export interface MemberDraft {
  readonly metadata?: Metadata | null;
  readonly flags?: number | null;
  readonly additional_name?: string | null;
}

type MemberCommands = {
  getLobby: { input: object; value: LobbyObject };
  /** For a client that knows the secret: adds the caller, and overwrites the named fields. */
  joinLobby: {
    input: { readonly person: Person; readonly lobby: LobbyChange; readonly member: MemberDraft };
    value: LobbyObject;
  };
  /** Null `members` keeps the members; else only the listed ones remain. `matched`: shown to their players if all are members then. */
  updateLobby: {
    input: {
      readonly change: LobbyChange;
      readonly matched?: readonly MatchedTicket[];
      readonly members: readonly { readonly person: Person; readonly draft: MemberDraft }[] | null;
    };
    value: LobbyObject;
  };
  deleteLobby: { input: object; value: null };
  /** Adds the user, or changes the member. */
  setMember: { input: { readonly person: Person; readonly draft: MemberDraft }; value: LobbyMemberObject };
  /** Changes many members and removes others. Users beyond the capacity are left out of the lobby and the reply. */
  setMembers: {
    input: {
      readonly entries: readonly {
        readonly person: Person;
        readonly draft: MemberDraft;
        readonly remove: boolean;
      }[];
    };
    value: readonly LobbyMemberObject[];
  };
  removeMember: { input: { readonly userId: UserId }; value: null };
  leaveLobby: { input: object; value: null };
  /** Two accounts were merged: `to` takes over the membership of `from`. For the server itself. */
  mergeMember: { input: { readonly from: UserId; readonly to: Person }; value: null };
  /** An account was split: `to` gets a copy of the membership of `from`, which stays. For the server itself. */
  copyMember: { input: { readonly from: UserId; readonly to: Person }; value: null };
};

/** The platform documents no code for these refusals; 0 is its general error. */
const lobbyFull = (capacity: number): Refusal => ({
  status: 400,
  code: 0,
  message: `Maximum number of lobby members reached (${capacity})`,
});
const TOO_MANY_LOBBIES: Refusal = {
  status: 400,
  code: 0,
  message: `Maximum number of lobbies reached (${LIMITS.lobbies_per_user_max})`,
};

type Path = readonly (string | number)[];

/** Why a change of a lobby is invalid; null when it is valid. `key`: its metadata's key in the request. */
const changeRefusal = ({ metadata }: LobbyChange, key: string): Refusal | null =>
  metadataRefusal(metadata, METADATA, [key]);

/** For requests of a client that joins: they have the member's metadata under this key. */
export const ownDraftRefusal = ({ metadata }: MemberDraft): Refusal | null =>
  metadataRefusal(metadata, METADATA, ['member_metadata']);

/** Why a draft is invalid; null when it is valid. `path` leads to it in the request. */
function draftRefusal(draft: MemberDraft, path: Path): Refusal | null {
  const no = metadataRefusal(draft.metadata, METADATA, [...path, 'metadata']);
  if (no || draft.additional_name == null || cleanText(draft.additional_name).trim() !== '') return no;
  return invalidField([...path, 'additional_name'], 'BASE_TYPE_REQUIRED', 'This field is required');
}

/** The refusal of the first invalid draft of a list in the request; null when all are valid. */
function draftsRefusal(drafts: readonly MemberDraft[], path: Path): Refusal | null {
  for (const [index, draft] of drafts.entries()) {
    const no = draftRefusal(draft, [...path, index]);
    if (no) return no;
  }
  return null;
}

/** A lobby that does not exist yet, and who makes it. */
export interface Founding {
  readonly applicationId: ApplicationId;
  readonly change: LobbyChange;
  /** Key of the lobby's metadata in the request. */
  readonly metadataKey: 'metadata' | 'lobby_metadata';
  /** Made by a client: clients may join and leave the lobby. */
  readonly byClient: boolean;
  /** The secret that names the lobby, with its expiry; absent for a lobby without one. */
  readonly secret?: Pick<LobbyFacts['lobbySecretKept'], 'hash' | 'nowMs' | 'expiresMs'>;
  /** The caller, who joins next; absent when the caller adds others. */
  readonly founder?: { readonly draft: MemberDraft; readonly full: boolean };
  /** Members who are added next. */
  readonly drafts?: readonly MemberDraft[];
}

type FoundingFact = Extract<LobbyFact, { type: 'lobbyCreated' | 'lobbySecretKept' }>;

/** Why no such lobby may be founded: it is invalid, or the commands by which its members join next would be refused. */
export const foundingRefusal = ({ change, metadataKey, founder, drafts = [] }: Founding): Refusal | null =>
  changeRefusal(change, metadataKey) ??
  draftsRefusal(drafts, ['members']) ??
  (founder ? ownDraftRefusal(founder.draft) : null) ??
  (founder?.full ? TOO_MANY_LOBBIES : null);

/** Decides on a new, empty lobby: there is no aggregate yet that could. Its members join by commands of their own. */
export function foundLobby(founding: Founding, { nowMs, nextId }: Env): Outcome<Lobby, FoundingFact> {
  const no = foundingRefusal(founding);
  if (no) return refused(no);
  const { applicationId, change, byClient, secret } = founding;
  const blank: Lobby = {
    id: nextId(),
    application_id: applicationId,
    ...INITIAL_FIELDS,
    by_secret: byClient,
    idle_since_ms: nowMs,
    linked: null,
  };
  const lobby = changedLobby(blank, change);
  const created: FoundingFact = { type: 'lobbyCreated', lobby };
  return accepted(
    lobby,
    secret ? [created, { type: 'lobbySecretKept', applicationId, lobbyId: lobby.id, ...secret }] : [created],
  );
}

function changedMember(member: LobbyMember, draft: MemberDraft): LobbyMember {
  const next: LobbyMember = {
    ...member,
    ...(draft.metadata !== undefined ? { metadata: cleanMetadata(draft.metadata) } : {}),
    ...(draft.flags != null ? { flags: draft.flags } : {}),
    ...(draft.additional_name !== undefined
      ? { additional_name: draft.additional_name && cleanText(draft.additional_name) }
      : {}),
  };
  const same =
    sameMetadata(member.metadata, next.metadata) &&
    member.flags === next.flags &&
    member.additional_name === next.additional_name;
  return same ? member : next;
}

/** The facts that make the person a member as in the draft. `room`: how many more members fit. */
export function upsert(
  state: LobbyState,
  person: Person,
  draft: MemberDraft,
  room: number,
  env: Env,
): { readonly facts: readonly LobbyOutcomeFact[]; readonly member: LobbyMember } | Refusal {
  const { id: lobbyId, application_id: applicationId } = state.lobby;
  const before = state.members.get(person.user.id);
  if (before) {
    const member = changedMember(before, draft);
    return { member, facts: member === before ? [] : [{ type: 'lobbyMemberUpdated', lobbyId, member }] };
  }
  if (room <= 0) return lobbyFull(capacityOf(state.lobby));
  if (person.full) return TOO_MANY_LOBBIES;
  const blank = { user: person.user, metadata: null, flags: 0, additional_name: null, joined_ms: env.nowMs };
  const member = changedMember(blank, draft);
  const { sessions, allSessions } = person;
  const added = { type: 'lobbyMemberAdded', lobbyId, applicationId, member, sessions } as const;
  return { member, facts: [allSessions ? { ...added, allSessions } : added] };
}

/** Removes a member, from the call too. */
function removal(state: LobbyState, userId: UserId): LobbyOutcomeFact[] {
  const member = state.members.get(userId);
  if (!member) return [];
  const { id: lobbyId, application_id: applicationId } = state.lobby;
  const sessions = [...state.sessions.values()].filter((session) => session.userId === userId);
  return [
    ...leavingVoice(state, userId),
    { type: 'lobbyMemberRemoved', lobbyId, applicationId, member, sessions },
  ];
}

const roomIn = ({ lobby, members }: LobbyState): number => capacityOf(lobby) - members.size;

/** A REST reply must show the result of its facts, although they are applied after the decision. */
export function shownWith(
  state: LobbyState,
  lobby: Lobby,
  facts: readonly LobbyOutcomeFact[],
  bot: boolean,
): LobbyObject {
  const members = new Map(state.members);
  for (const fact of facts) {
    if (fact.type === 'lobbyMemberAdded' || fact.type === 'lobbyMemberUpdated')
      members.set(fact.member.user.id, fact.member);
    else if (fact.type === 'lobbyMemberRemoved') members.delete(fact.member.user.id);
  }
  return lobbyObject({ ...state, lobby, members }, bot);
}

const lobbyFacts = (state: LobbyState, next: Lobby): LobbyOutcomeFact[] =>
  next === state.lobby ? [] : [{ type: 'lobbyUpdated', lobby: next }];

function joinLobby(
  state: LobbyState,
  { person, lobby, member }: MemberCommands['joinLobby']['input'],
  by: By,
  env: Env,
): Outcome<LobbyObject, LobbyOutcomeFact> {
  const no =
    changeRefusal(lobby, 'lobby_metadata') ??
    ownDraftRefusal(member) ??
    joinRefusal(state, by.userId, undefined);
  if (no) return refused(no);
  const entered = upsert(state, person, member, roomIn(state), env);
  if ('status' in entered) return refused(entered);
  const next = changedLobby(state.lobby, lobby);
  return accepted(shownWith(state, next, entered.facts, by.bot), [
    ...lobbyFacts(state, next),
    ...entered.facts,
  ]);
}

function updateLobby(
  state: LobbyState,
  { change, members, matched = [] }: MemberCommands['updateLobby']['input'],
  by: By,
  env: Env,
): Outcome<LobbyObject, LobbyOutcomeFact> {
  const no = changeRefusal(change, 'metadata') ?? draftsRefusal((members ?? []).map(draftOf), ['members']);
  if (no) return refused(no);
  const next = changedLobby(state.lobby, change);
  const facts = members ? replacing(state, members, env) : [];
  const shown = shownWith(state, next, facts, by.bot);
  const inside = new Set(shown.members.map(({ id }) => id));
  const isWhole = matched.every(({ user_ids }) => user_ids.every((id) => inside.has(id)));
  const matches = matched.map((ticket): LobbyOutcomeFact => ({ type: 'lobbyMatched', ticket }));
  return accepted(shown, [...lobbyFacts(state, next), ...facts, ...(isWhole ? matches : [])]);
}

function replacing(
  state: LobbyState,
  members: NonNullable<MemberCommands['updateLobby']['input']['members']>,
  env: Env,
): LobbyOutcomeFact[] {
  const named = new Set(members.map(({ person }) => person.user.id));
  const facts = [...state.members.keys()].flatMap((id) => (named.has(id) ? [] : removal(state, id)));
  // Members that are not named are removed; named members stay.
  let room = capacityOf(state.lobby) - [...state.members.keys()].filter((id) => named.has(id)).length;
  for (const { person, draft } of lastOfEach(members)) {
    const entered = upsert(state, person, draft, room, env);
    if ('status' in entered) continue;
    if (entered.facts[0]?.type === 'lobbyMemberAdded') room -= 1;
    facts.push(...entered.facts);
  }
  return facts;
}

const draftOf = ({ draft }: { readonly draft: MemberDraft }): MemberDraft => draft;

/** The last entry of a user who is named more than once counts. */
const lastOfEach = <Entry extends { readonly person: Person }>(entries: readonly Entry[]): Iterable<Entry> =>
  new Map(entries.map((entry) => [entry.person.user.id, entry])).values();

function setMembers(
  state: LobbyState,
  { entries }: MemberCommands['setMembers']['input'],
  _by: By,
  env: Env,
): Outcome<readonly LobbyMemberObject[], LobbyOutcomeFact> {
  const no = draftsRefusal(entries.map(draftOf), []);
  if (no) return refused(no);
  const facts: LobbyOutcomeFact[] = [];
  const shown: LobbyMemberObject[] = [];
  let room = roomIn(state);
  for (const { person, draft, remove } of lastOfEach(entries)) {
    const before = state.members.has(person.user.id);
    if (remove) {
      facts.push(...removal(state, person.user.id));
      if (before) room += 1;
      continue;
    }
    const entered = upsert(state, person, draft, room, env);
    if ('status' in entered) continue;
    facts.push(...entered.facts);
    shown.push(memberObject(entered.member));
    if (!before) room -= 1;
  }
  return accepted(shown, facts);
}

/** Copies a membership to another account, which keeps flags that it already has here. */
function membershipCopied(state: LobbyState, from: UserId, to: Person): LobbyOutcomeFact[] {
  const source = state.members.get(from);
  if (!source) return [];
  const { id: lobbyId, application_id: applicationId } = state.lobby;
  const there = state.members.get(to.user.id);
  if (there) {
    const flags = there.flags | source.flags;
    if (flags === there.flags) return [];
    return [{ type: 'lobbyMemberUpdated', lobbyId, member: { ...there, flags } }];
  }
  const member = { ...source, user: to.user };
  return [{ type: 'lobbyMemberAdded', lobbyId, applicationId, member, sessions: to.sessions }];
}

export const members: LobbyTopic<
  MemberCommands,
  | 'lobbyCreated'
  | 'lobbySecretKept'
  | 'lobbyUpdated'
  | 'lobbyDeleted'
  | 'lobbyMemberAdded'
  | 'lobbyMemberUpdated'
  | 'lobbyMemberRemoved'
  | 'lobbyMatched'
> = {
  commands: {
    getLobby: {
      decide: (state, _input, by) => {
        if (!by.bot && !by.system && !state.members.has(by.userId)) return refused(refusal('MISSING_ACCESS'));
        return accepted(lobbyObject(state, by.bot));
      },
    },
    joinLobby: { repeatable: true, decide: joinLobby },
    updateLobby: { decide: updateLobby },
    deleteLobby: { decide: (state, _input, _by) => accepted(null, [deletion(state)]) },
    setMember: {
      decide: (state, { person, draft }, _by, env) => {
        const no = draftRefusal(draft, []);
        if (no) return refused(no);
        const entered = upsert(state, person, draft, roomIn(state), env);
        return 'status' in entered ? refused(entered) : accepted(memberObject(entered.member), entered.facts);
      },
    },
    setMembers: { decide: setMembers },
    removeMember: { decide: (state, { userId }, _by) => accepted(null, removal(state, userId)) },
    leaveLobby: {
      decide: (state, _input, by) => {
        // The application's server removes the members that it added.
        if (!by.bot && !state.lobby.by_secret && !settingsOf(state.lobby).listed)
          return refused(refusal('MISSING_PERMISSIONS'));
        return accepted(null, removal(state, by.userId));
      },
    },
    mergeMember: {
      server: true,
      decide: (state, { from, to }, _by) =>
        accepted(null, [...membershipCopied(state, from, to), ...removal(state, from)]),
    },
    copyMember: {
      server: true,
      decide: (state, { from, to }, _by) => accepted(null, membershipCopied(state, from, to)),
    },
  },
  facts: {
    lobbyCreated: {
      apply: (state, { lobby }) => {
        state.lobby = lobby;
      },
      dispatches: () => [],
    },
    lobbySecretKept: { apply: () => {}, dispatches: () => [] },
    lobbyUpdated: {
      apply: (state, { lobby }) => {
        state.lobby = lobby;
      },
      dispatches: lobbyUpdate,
    },
    lobbyDeleted: {
      ends: true,
      apply: () => {},
      dispatches: (state) => [
        { t: 'LOBBY_DELETE', d: { id: state.lobby.id, reason: 'deleted' }, to: everyone(state) },
      ],
    },
    lobbyMemberAdded: {
      apply: (state, { member, sessions }) => {
        enter(state, member);
        attach(state, sessions);
      },
      dispatches: (state, { member, sessions }) => [
        // Also without a session, for the program that embeds the server.
        { t: 'LOBBY_CREATE', d: gatewayLobby(state), to: sessions },
        { t: 'LOBBY_MEMBER_ADD', d: aboutMember(state, member), to: others(state, member.user.id) },
      ],
    },
    lobbyMatched: {
      durable: 'record',
      apply: () => {},
      dispatches: (state, { ticket }) => [
        {
          t: 'GUILDHALL_MATCHMAKING_UPDATE',
          d: ticket,
          to: everyone(state).filter(({ userId }) => ticket.user_ids.includes(userId)),
        },
      ],
    },
    lobbyMemberUpdated: {
      apply: (state, { member }) => enter(state, member),
      dispatches: (state, { member }) => memberUpdate(state, member, 'member'),
    },
    lobbyMemberRemoved: {
      apply: (state, { member, sessions }) => {
        state.members.delete(member.user.id);
        for (const { sessionId } of sessions) state.sessions.delete(sessionId);
      },
      dispatches: (state, { member, sessions }) => [
        { t: 'LOBBY_MEMBER_REMOVE', d: aboutMember(state, member), to: everyone(state) },
        { t: 'LOBBY_DELETE', d: { id: state.lobby.id, reason: 'removed' }, to: sessions },
      ],
    },
  },
};

export const deletion = ({ lobby, members }: LobbyState): LobbyOutcomeFact => ({
  type: 'lobbyDeleted',
  lobby,
  memberIds: [...members.keys()],
});

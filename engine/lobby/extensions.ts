import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { ShownFields } from '../../protocol/schemas/fields.ts';
import { LOBBY_SETTINGS, type SettingsChange } from '../../protocol/schemas/lobbyfields.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { accepted, type Env, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { electedHost, hostChange, hostDueMs, hostFacts } from './host.ts';
import { callingMember, isConnected, isRefusal, type LobbyState, type ReadyCheck } from './lobby.ts';
import { type MemberDraft, ownDraftRefusal, type Person, shownWith, upsert } from './members.ts';
import { everyone, type LobbyObject, lobbyObject, shownOf } from './objects.ts';
import { capacityOf, capacityRefusal, joinRefusal, settingsOf, withSettings } from './settings.ts';
import type { LobbyOutcomeFact, LobbyTopic } from './topic.ts';

const readyObject = (lobbyId: string, { id, started_by, ends_ms, answers, status }: ReadyCheck) => ({
  lobby_id: lobbyId,
  id,
  started_by,
  status,
  ends_at: isoTimestamp(ends_ms),
  answers: [...answers].map(([user_id, ready]) => ({ user_id, ready })),
});

export type ReadyCheckObject = ReturnType<typeof readyObject>;

/** The check without the members who left; the same object when nothing changed. */
function settledCheck(check: ReadyCheck, { members }: LobbyState, nowMs: number): ReadyCheck {
  if (check.status !== 'open') return check;
  const left = [...check.answers.keys()].some((id) => !members.has(id));
  const answers = left ? new Map([...check.answers].filter(([id]) => members.has(id))) : check.answers;
  const said = [...answers.values()];
  const status = said.includes(false)
    ? 'declined'
    : said.length === 0
      ? 'cancelled'
      : !said.includes(null)
        ? 'passed'
        : nowMs >= check.ends_ms
          ? 'timed_out'
          : 'open';
  return left || status !== check.status ? { ...check, answers, status } : check;
}

function readyFacts(state: LobbyState, nowMs: number): LobbyOutcomeFact[] {
  if (!state.ready) return [];
  const check = settledCheck(state.ready, state, nowMs);
  return check === state.ready ? [] : [{ type: 'lobbyReadyChanged', check }];
}

/** A lobby with its fields beyond the platform's. */
export type LobbyExtensionObject = LobbyObject &
  ShownFields<typeof LOBBY_SETTINGS> & {
    readonly max_members: number;
    readonly has_password: boolean;
    readonly host_id: UserId | null;
    readonly ready_check: ReadyCheckObject | null;
  };

const shownSettings = shownOf(LOBBY_SETTINGS);

export interface GameProgress {
  /** The check ended, and the lobby has no other one. */
  readonly isOver: boolean;
  /** The caller has entered the game. */
  readonly hasJoined: boolean;
}

type ExtensionCommands = {
  getBeyond: { input: object; value: LobbyExtensionObject };
  /** For the application's server, the host, and the creator of the lobby while it has no host. */
  setSettings: { input: { readonly change: SettingsChange }; value: LobbyExtensionObject };
  /** Enters the caller without a secret. */
  enterLobby: {
    input: { readonly person: Person; readonly member: MemberDraft; readonly passwordHash: string | null };
    value: LobbyObject;
  };
  setHost: { input: { readonly userId: UserId }; value: LobbyExtensionObject };
  startReadyCheck: { input: { readonly timeoutMs: number }; value: ReadyCheckObject };
  answerReadyCheck: { input: { readonly ready: boolean }; value: ReadyCheckObject };
  cancelReadyCheck: { input: object; value: ReadyCheckObject };
  /** Checks whether the caller may send a game message; it is not stored. `game`: of the lobby, and how far it is. */
  authorizeGameMessage: { input: { readonly game: GameProgress | null }; value: null };
  /** For the server itself. */
  settleExtensions: { input: object; value: null };
};

function extensionObject(state: LobbyState, bot: boolean): LobbyExtensionObject {
  const { lobby, ready } = state;
  const settings = settingsOf(lobby);
  return {
    ...lobbyObject(state, bot),
    ...shownSettings(settings, bot),
    max_members: capacityOf(lobby),
    has_password: settings.password_hash !== null,
    host_id: lobby.host_id ?? null,
    ready_check: ready?.status === 'open' ? readyObject(lobby.id, ready) : null,
  };
}

/** Refuses callers who are neither a member, the application's server, nor the server itself. */
function refusedCaller(state: LobbyState, by: By): Refusal | null {
  const isKnown = by.bot || by.system || state.members.has(by.userId);
  return isKnown ? null : refusal('MISSING_ACCESS');
}

/**
 * Refuses callers without control of the lobby. Its application's server controls it, and its host; without a host, the
 * first member of a lobby made with a secret.
 */
function refusedWithoutControl(state: LobbyState, by: By): Refusal | null {
  const no = refusedCaller(state, by);
  if (no || by.bot || by.system) return no;
  const { lobby, members } = state;
  const ruler = lobby.host_id ?? (lobby.by_secret ? members.keys().next().value : null);
  return ruler === by.userId ? null : refusal('LOBBY_NOT_HOST');
}

function started(state: LobbyState, timeoutMs: number, by: By, env: Env): ReadyCheck {
  const asked = [...state.members.keys()].filter((id) => isConnected(state, id));
  const answers = new Map(asked.map((id) => [id, id === by.userId ? true : null]));
  return {
    id: env.nextId(),
    started_by: by.userId,
    ends_ms: env.nowMs + timeoutMs,
    answers,
    status: answers.size === 0 ? 'cancelled' : 'open',
  };
}

const extensionFacts = (check: ReadyCheck): LobbyOutcomeFact => ({ type: 'lobbyReadyChanged', check });
const openCheck = ({ ready }: LobbyState): ReadyCheck | null => (ready?.status === 'open' ? ready : null);
const idOf = ({ lobby }: LobbyState): ChannelId => lobby.id;

export const extensions: LobbyTopic<
  ExtensionCommands,
  'lobbyHostChanged' | 'lobbyHostAway' | 'lobbyReadyChanged' | 'lobbyListed' | 'lobbyUnlisted'
> = {
  commands: {
    getBeyond: {
      decide: (state, _input, by) => {
        const no = settingsOf(state.lobby).listed ? null : refusedCaller(state, by);
        return no ? refused(no) : accepted(extensionObject(state, by.bot));
      },
    },
    setSettings: {
      decide: (state, { change }, by, env) => {
        const no = refusedWithoutControl(state, by) ?? capacityRefusal(state.members.size, change);
        if (no) return refused(no);
        const next = withSettings(state.lobby, change);
        if (next === state.lobby) return accepted(extensionObject(state, by.bot));
        const hostId = electedHost({ ...state, lobby: next }, env.nowMs);
        const facts: LobbyOutcomeFact[] = [{ type: 'lobbyUpdated', lobby: next }];
        if (hostId !== (next.host_id ?? null)) facts.push(hostChange(next, hostId));
        return accepted(extensionObject({ ...state, lobby: { ...next, host_id: hostId } }, by.bot), facts);
      },
    },
    enterLobby: {
      decide: (state, { person, member, passwordHash }, by, env) => {
        const { listed, invited } = settingsOf(state.lobby);
        const known = state.members.has(by.userId) || listed || invited?.includes(by.userId) === true;
        const no =
          ownDraftRefusal(member) ??
          (known ? null : refusal('UNKNOWN_LOBBY')) ??
          joinRefusal(state, by.userId, passwordHash);
        if (no) return refused(no);
        const entered = upsert(state, person, member, capacityOf(state.lobby) - state.members.size, env);
        if ('status' in entered) return refused(entered);
        return accepted(shownWith(state, state.lobby, entered.facts, by.bot), entered.facts);
      },
    },
    setHost: {
      decide: (state, { userId }, by) => {
        const no = refusedWithoutControl(state, by);
        if (no) return refused(no);
        const { lobby } = state;
        if (
          settingsOf(lobby).host_grace_seconds === null ||
          !state.members.has(userId) ||
          !isConnected(state, userId)
        )
          return refused(refusal('HOST_NOT_CONNECTED'));
        if (lobby.host_id === userId) return accepted(extensionObject(state, by.bot));
        const shown = extensionObject({ ...state, lobby: { ...lobby, host_id: userId } }, by.bot);
        return accepted(shown, [hostChange(lobby, userId), { type: 'lobbyHostAway', sinceMs: null }]);
      },
    },
    startReadyCheck: {
      decide: (state, { timeoutMs }, by, env) => {
        const no = state.lobby.host_id == null ? refusedCaller(state, by) : refusedWithoutControl(state, by);
        if (no) return refused(no);
        if (openCheck(state)) return refused(refusal('READY_CHECK_OPEN'));
        const check = started(state, timeoutMs, by, env);
        return accepted(readyObject(idOf(state), check), [extensionFacts(check)]);
      },
    },
    answerReadyCheck: {
      decide: (state, { ready }, by, env) => {
        const check = openCheck(state);
        if (!check?.answers.has(by.userId) || env.nowMs >= check.ends_ms)
          return refused(refusal('NO_READY_CHECK'));
        const answers = new Map(check.answers).set(by.userId, ready);
        const facts = readyFacts({ ...state, ready: { ...check, answers } }, env.nowMs);
        const [news] = facts.length > 0 ? facts : [extensionFacts({ ...check, answers })];
        const next = news?.type === 'lobbyReadyChanged' ? news.check : check;
        return accepted(readyObject(idOf(state), next), [extensionFacts(next)]);
      },
    },
    cancelReadyCheck: {
      decide: (state, _input, by) => {
        const no = refusedCaller(state, by);
        if (no) return refused(no);
        const check = openCheck(state);
        if (!check) return refused(refusal('NO_READY_CHECK'));
        if (check.started_by !== by.userId && refusedWithoutControl(state, by))
          return refused(refusal('LOBBY_NOT_HOST'));
        const over: ReadyCheck = { ...check, status: 'cancelled' };
        return accepted(readyObject(idOf(state), over), [extensionFacts(over)]);
      },
    },
    authorizeGameMessage: {
      decide: (state, { game }, by) => {
        const member = callingMember(state, by);
        if (isRefusal(member)) return refused(member);
        if (game?.isOver) return refused(refusal('LOBBY_GAME_OVER'));
        return game?.hasJoined === false ? refused(refusal('MISSING_ACCESS')) : accepted(null);
      },
    },
    settleExtensions: {
      server: true,
      decide: (state, _input, _by, env) => accepted(null, extensionSettling(state, env.nowMs)),
    },
  },
  facts: {
    lobbyHostChanged: {
      apply: (state, { lobby }) => {
        state.lobby = lobby;
      },
      dispatches: (state, { lobby, previousId }) => {
        const d = { lobby_id: lobby.id, host_id: lobby.host_id ?? null, previous_host_id: previousId };
        return [{ t: 'GUILDHALL_LOBBY_HOST', d, to: everyone(state) }];
      },
    },
    lobbyHostAway: {
      durable: false,
      apply: (state, { sinceMs }) => {
        state.hostAwayMs = sinceMs;
      },
      dispatches: () => [],
    },
    lobbyReadyChanged: {
      durable: false,
      apply: (state, { check }) => {
        state.ready = check;
      },
      dispatches: (state, { check }) => [
        { t: 'GUILDHALL_LOBBY_READY', d: readyObject(state.lobby.id, check), to: everyone(state) },
      ],
    },
    lobbyListed: { apply: () => {}, dispatches: () => [] },
    lobbyUnlisted: { apply: () => {}, dispatches: () => [] },
  },
};

/** Changes of the host and the ready check that follow from time, joins and leaves. */
export const extensionSettling = (state: LobbyState, nowMs: number): LobbyOutcomeFact[] => [
  ...hostFacts(state, nowMs),
  ...readyFacts(state, nowMs),
];

/** When the next change by time alone is due, Unix milliseconds; null for none. */
export function extensionDueMs(state: LobbyState): number | null {
  const check = openCheck(state);
  const times = [hostDueMs(state), check?.ends_ms ?? null].filter((at) => at !== null);
  return times.length === 0 ? null : Math.min(...times);
}

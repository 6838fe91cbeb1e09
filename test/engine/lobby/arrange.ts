import type { DispatchBody, Recipient } from '../../../engine/fanout/body.ts';
import type { Outcome } from '../../../engine/kernel/aggregate.ts';
import type { By } from '../../../engine/kernel/authority.ts';
import {
  INITIAL_FIELDS,
  type Lobby,
  type LobbyMember,
  type LobbyState,
  newLobbyState,
} from '../../../engine/lobby/lobby.ts';
import type { Person } from '../../../engine/lobby/members.ts';
import { type LobbyCommands, lobbyRules } from '../../../engine/lobby/rules.ts';
import type { LobbyDispatch, LobbyEnv, LobbyOutcomeFact } from '../../../engine/lobby/topic.ts';
import type { ApplicationId, ChannelId, UserId } from '../../../protocol/ids.ts';
import { user } from '../../support/guild.ts';
import { envAt, NOW_MS } from '../../support/people.ts';

export const LOBBY_ID = '900' as ChannelId;
export const APPLICATION_ID = '1001' as ApplicationId;
export const CHANNEL = { id: '500', type: 0, name: 'general', guild_id: '1' } as never;

const lobby = (more: Partial<Lobby> = {}): Lobby => ({
  id: LOBBY_ID,
  application_id: APPLICATION_ID,
  ...INITIAL_FIELDS,
  by_secret: true,
  idle_since_ms: NOW_MS,
  linked: null,
  ...more,
});

export const link = {
  guild_id: '1' as never,
  channel: CHANNEL,
  linked_by: '11' as UserId,
  linked_at: 'then',
};

export const member = (id: string, more: Partial<LobbyMember> = {}): LobbyMember => ({
  user: user(id),
  metadata: null,
  flags: 0,
  additional_name: null,
  joined_ms: NOW_MS,
  ...more,
});

export const session = (userId: string, sessionId = `s${userId}`): Recipient => ({
  sessionId,
  userId: userId as UserId,
  intents: 0,
  bot: false,
  deliver: (_body: DispatchBody) => undefined,
});

/** A lobby with the given members; those with a session are connected. */
export function lobbyWith(
  members: readonly LobbyMember[],
  more: Partial<Lobby> = {},
  sessions: readonly Recipient[] = [],
): LobbyState {
  const state: LobbyState = { ...newLobbyState(lobby(more)), messages: new Map() };
  for (const each of members) state.members.set(each.user.id as UserId, each);
  for (const each of sessions) state.sessions.set(each.sessionId, each);
  return state;
}

export const person = (id: string, more: Partial<Person> = {}): Person => ({
  user: user(id),
  sessions: [],
  full: false,
  ...more,
});

const caller = { applicationId: APPLICATION_ID, applicationFlags: 0, reason: null };
/** A user through the lobby's application. */
export const as = (id: string): By => ({ ...caller, userId: id as UserId, bot: false });
export const BOT: By = { ...caller, userId: '1000' as UserId, bot: true };
export const STRANGER: By = { ...BOT, applicationId: '1002' as ApplicationId };
export const SYSTEM: By = { ...caller, userId: '0' as UserId, bot: false, applicationId: null, system: true };

/** Decides, and applies what comes of it, as the actor does. */
export function run<K extends keyof LobbyCommands>(
  state: LobbyState,
  type: K,
  input: LobbyCommands[K]['input'],
  by: By,
  nowMs = NOW_MS,
  more: Partial<LobbyEnv> = {},
) {
  const outcome: Outcome<LobbyCommands[K]['value'], LobbyOutcomeFact> = lobbyRules.decide(
    state,
    type,
    input,
    { by, requires: 0n },
    { ...envAt(nowMs), ...more },
  );
  const facts = outcome.ok ? outcome.facts : [];
  const dispatches = facts.flatMap((fact): readonly LobbyDispatch[] =>
    lobbyRules.applyAndDispatch(state, fact),
  );
  return {
    value: outcome.ok ? outcome.value : undefined,
    code: outcome.ok ? undefined : outcome.refusal.code,
    message: outcome.ok ? undefined : outcome.refusal.message,
    errors: outcome.ok ? undefined : outcome.refusal.errors,
    types: facts.map((fact) => fact.type),
    facts,
    /** Name, payload, and the sessions it is for. */
    told: dispatches.map(({ t, d, to }) => ({ t, d, to: [...to].map(({ sessionId }) => sessionId) })),
  };
}

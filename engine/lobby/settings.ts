import type { UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { keysOf } from '../../protocol/present.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { LobbySettings, SettingsChange } from '../../protocol/schemas/lobbyfields.ts';
import type { Consequence } from '../kernel/aggregate.ts';
import { type Listing, type Lobby, type LobbyState, NO_SETTINGS } from './lobby.ts';
import type { Metadata } from './metadata.ts';
import type { LobbyOutcomeFact, LobbyShape } from './topic.ts';

export const settingsOf = ({ settings }: Lobby): LobbySettings => settings ?? NO_SETTINGS;

/** The lobby with changed settings; the same object when nothing differs. */
export function withSettings(lobby: Lobby, change: SettingsChange): Lobby {
  const before = settingsOf(lobby);
  const settings = { ...before, ...change };
  const same = keysOf(before).every((key) => before[key] === settings[key]);
  if (same) return lobby;
  // A lobby without the host setting keeps no host.
  return {
    ...lobby,
    settings,
    host_id: settings.host_grace_seconds === null ? null : (lobby.host_id ?? null),
  };
}

/** Maximum number of members. */
export const capacityOf = (lobby: Lobby): number => settingsOf(lobby).max_members ?? LIMITS.lobby_members_max;

/**
 * Why the user may not join; null when allowed. An undefined `passwordHash` means a join by the secret, which replaces
 * the password.
 */
export function joinRefusal(
  { lobby, members }: LobbyState,
  userId: UserId,
  passwordHash: string | null | undefined,
): Refusal | null {
  if (members.has(userId)) return null;
  const { locked, invited, password_hash } = settingsOf(lobby);
  if (locked) return refusal('LOBBY_LOCKED');
  if (invited && !invited.includes(userId)) return refusal('LOBBY_NOT_INVITED');
  const isOpen = passwordHash === undefined || password_hash === null || passwordHash === password_hash;
  return isOpen ? null : refusal('LOBBY_WRONG_PASSWORD');
}

/** `max_members` cannot be set below the current number of members. */
export const capacityRefusal = (members: number, change: SettingsChange): Refusal | null =>
  change.max_members != null && change.max_members < members
    ? invalidField(['max_members'], 'NUMBER_TYPE_MIN', `The lobby has ${members} members already.`)
    : null;

/** A decimal that compares as a number everywhere: exact as a double, and short. */
const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,6})?$/;

/** @returns Null for text that is not such a number; a sixteenth digit would not be exact. */
export const numberOf = (text: string): number | null => (NUMBER.test(text) ? Number(text) : null);

function numbersOf(metadata: Metadata): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(metadata).flatMap(([key, text]) => {
      const value = numberOf(text);
      return value === null ? [] : [[key, value] as const];
    }),
  );
}

export function listingOf(lobby: Lobby, members: number): Listing {
  const { locked, password_hash, invited, game } = settingsOf(lobby);
  const metadata = lobby.metadata ?? {};
  return {
    id: lobby.id,
    application_id: lobby.application_id,
    members,
    capacity: capacityOf(lobby),
    locked,
    has_password: password_hash !== null,
    invite_only: invited !== null,
    game,
    metadata,
    numbers: numbersOf(metadata),
  };
}

/** Updates the search entry of a listed lobby. */
export const listingUpdates: Consequence<LobbyShape> = {
  causes: new Set(['lobbyMemberAdded', 'lobbyMemberRemoved', 'lobbyUpdated']),
  add: withListing,
};

function withListing(state: LobbyState, facts: readonly LobbyOutcomeFact[]): readonly LobbyOutcomeFact[] {
  let { lobby } = state;
  let { size } = state.members;
  for (const fact of facts) {
    if (fact.type === 'lobbyMemberAdded') size += 1;
    else if (fact.type === 'lobbyMemberRemoved') size -= 1;
    else if (fact.type === 'lobbyUpdated') lobby = fact.lobby;
    // The search entry is deleted with the lobby.
    else if (fact.type === 'lobbyDeleted') return facts;
  }
  const [was, is] = [settingsOf(state.lobby).listed, settingsOf(lobby).listed];
  const changed = lobby !== state.lobby || size !== state.members.size;
  if (!changed || (!was && !is)) return facts;
  const news: LobbyOutcomeFact = is
    ? { type: 'lobbyListed', listing: listingOf(lobby, size) }
    : { type: 'lobbyUnlisted', lobbyId: lobby.id };
  return [...facts, news];
}

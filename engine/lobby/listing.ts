import type { Consequence } from '../kernel/topic.ts';
import type { Listing, Lobby, LobbyState } from './lobby.ts';
import type { Metadata } from './metadata.ts';
import { capacityOf, settingsOf } from './settings.ts';
import type { LobbyOutcomeFact, LobbyShape } from './topic.ts';

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

import type { UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { keysOf } from '../../protocol/present.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Lobby, LobbySettings, LobbyState } from './lobby.ts';

export type SettingsChange = Partial<LobbySettings>;

export const NO_SETTINGS: LobbySettings = {
  listed: false,
  max_members: null,
  locked: false,
  password_hash: null,
  invited: null,
  host_grace_seconds: null,
  game: null,
};

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

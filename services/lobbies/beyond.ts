import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import { type Reply, refused } from '../../engine/kernel/outcome.ts';
import {
  type LobbyChange,
  lobbyChangeRefusal,
  type MemberDraft,
  TOO_MANY_LOBBIES,
} from '../../engine/lobby/members.ts';
import { METADATA, type Metadata, metadataRefusal } from '../../engine/lobby/metadata.ts';
import type { SettingsChange } from '../../engine/lobby/settings.ts';
import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';
import type { LobbiesBeyond } from './beyond.ports.ts';
import { applicationOf, found, type Parts, personsOf } from './parts.ts';

/** What lobbies have beyond the platform's operations. */
export function beyondOperations(parts: Parts): LobbiesBeyond {
  const { call, storage } = parts;
  const owners = speaking(parts);
  const create: LobbiesBeyond['create'] = async (input, authority) => {
    const own = applicationOf(authority);
    if (!own.ok) return own;
    const { change, settings, password, member } = input;
    const no =
      lobbyChangeRefusal(change, 'metadata') ??
      metadataRefusal(member.metadata, METADATA, ['member_metadata']);
    if (no) return refused(no);
    const made = await opened(parts, own.value, { change, member, authority });
    if (!made.ok) return made;
    // Whoever makes a lobby is in before its door closes.
    const ruled = await call(
      made.value,
      'setSettings',
      { change: await hashed(parts, made.value, own.value, { change: settings, password }) },
      SYSTEM,
    );
    return ruled.ok ? call(made.value, 'getBeyond', {}, authority) : ruled;
  };
  return {
    create,
    async enter(lobbyId, { password, member }, authority) {
      const own = applicationOf(authority);
      if (!own.ok) return own;
      const no = metadataRefusal(member.metadata, METADATA, ['member_metadata']);
      if (no) return refused(no);
      const { userId } = authority.by;
      const passwordHash = password === null ? null : await hashOf(parts, lobbyId, own.value, password);
      const persons = await personsOf(parts, own.value, [userId]);
      if (!persons.ok) return persons;
      const input = { person: persons.value(lobbyId, userId), member, passwordHash };
      return call(lobbyId, 'enterLobby', input, authority);
    },
    async configure(lobbyId, input, authority) {
      const own = applicationOf(authority);
      if (!own.ok) return own;
      return call(
        lobbyId,
        'setSettings',
        { change: await hashed(parts, lobbyId, own.value, input) },
        authority,
      );
    },
    async search(search, authority) {
      const own = applicationOf(authority);
      if (!own.ok) return own;
      return { ok: true, value: await storage.lobbies.search({ ...search, applicationId: own.value }) };
    },
    speak: (lobbyId, type, data, authority) => owners.speak(lobbyId, type, data, authority),
    gather: (applicationId, input) => gather(parts, applicationId, input),
  };
}

/** A lobby is spoken to where it is. */
const speaking = ({ call, registry, routing }: Parts) =>
  routing.asks('beyond', {
    async speak(lobbyId: ChannelId, type: string, data: unknown, authority: Authority): Promise<Reply<null>> {
      const said = registry.peek(lobbyId)?.speak(authority, type, data);
      if (said) return said;
      // Not resident: whoever may read it loads it.
      const may = await call(lobbyId, 'getLobby', {}, authority);
      if (!may.ok) return may;
      return registry.peek(lobbyId)?.speak(authority, type, data) ?? { ok: true, value: null };
    },
  });

/** A lobby that clients may join and leave, with the maker in it unless that is the application's server. */
async function opened(
  parts: Parts,
  applicationId: ApplicationId,
  {
    change,
    member,
    authority,
  }: { readonly change: LobbyChange; readonly member: MemberDraft; readonly authority: Authority },
): Promise<Reply<ChannelId>> {
  const { bot, userId } = authority.by;
  if (bot) return { ok: true, value: await found(parts, applicationId, change, null, false) };
  const persons = await personsOf(parts, applicationId, [userId]);
  if (!persons.ok) return persons;
  if (persons.full(userId)) return refused(TOO_MANY_LOBBIES);
  const id = await found(parts, applicationId, change, null, true);
  const input = { person: persons.value(id, userId), lobby: {}, member };
  const joined = await parts.call(id, 'joinLobby', input, authority);
  return joined.ok ? { ok: true, value: id } : joined;
}

/** Under a key that is not beside it, as secrets are, and good for this lobby alone. */
const hashOf = (
  { secretHash }: Parts,
  lobbyId: ChannelId,
  applicationId: ApplicationId,
  password: string,
): Promise<string> => secretHash(applicationId, `password\n${lobbyId}\n${password}`);

/** `password` undefined: as it was; null: none. */
async function hashed(
  parts: Parts,
  lobbyId: ChannelId,
  applicationId: ApplicationId,
  { change, password }: { readonly change: SettingsChange; readonly password?: string | null | undefined },
): Promise<SettingsChange> {
  if (password === undefined) return change;
  const hash = password === null ? null : await hashOf(parts, lobbyId, applicationId, password);
  return { ...change, password_hash: hash };
}

/** A lobby with all of these in it, or none: who is missing is named. */
async function gather(
  parts: Parts,
  applicationId: ApplicationId,
  {
    metadata,
    settings,
    players,
  }: {
    readonly metadata: Metadata | null;
    readonly settings: SettingsChange;
    readonly players: readonly UserId[];
  },
): Promise<Reply<{ readonly lobbyId: ChannelId; readonly missing: readonly UserId[] }>> {
  const { call } = parts;
  const persons = await personsOf(parts, applicationId, players);
  if (!persons.ok) return persons;
  const lobbyId = await found(parts, applicationId, { metadata }, null, true);
  const members = players.map((userId) => ({ person: persons.value(lobbyId, userId), draft: {} }));
  const filled = await call(lobbyId, 'updateLobby', { change: {}, members }, SYSTEM);
  if (!filled.ok) return filled;
  const inside = new Set(filled.value.members.map(({ id }) => id));
  const missing = players.filter((userId) => !inside.has(userId));
  if (missing.length > 0) await call(lobbyId, 'deleteLobby', {}, SYSTEM);
  // The game begins when everyone is there.
  else await call(lobbyId, 'setSettings', { change: settings }, SYSTEM);
  return { ok: true, value: { lobbyId, missing } };
}

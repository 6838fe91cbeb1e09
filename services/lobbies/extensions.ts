import type { LobbyShell } from '../../actors/lobby/lobby.shell.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { MemberDraft } from '../../engine/lobby/members.ts';
import type { ApplicationId, ChannelId } from '../../protocol/ids.ts';
import type { LobbyChange, SettingsChange } from '../../protocol/schemas/lobbyfields.ts';
import { served } from '../repeating.ts';
import { applicationOf, createEmptyLobby, type LobbyContext, personsOf } from './context.ts';
import type { LobbyExtensions } from './extensions.ports.ts';

/** Operations on lobbies that the platform does not have. */
export function extensionOperations(context: LobbyContext): LobbyExtensions {
  const { call, storage } = context;
  const speak = speakAtOwner(context);
  const create: LobbyExtensions['create'] = async (input, authority) => {
    const own = applicationOf(authority);
    if (!own.ok) return own;
    const { change, settings, password, member } = input;
    const made = await createOpenLobby(context, own.value, { change, member, authority });
    if (!made.ok) return made;
    // The creator joins before the settings apply, which may lock the lobby.
    const ruled = await call(
      made.value,
      'setSettings',
      { change: await withPasswordHash(context, made.value, own.value, { change: settings, password }) },
      SYSTEM,
    );
    return ruled.ok ? call(made.value, 'getBeyond', {}, authority) : ruled;
  };
  return {
    create,
    async enter(lobbyId, { password, member }, authority) {
      const own = applicationOf(authority);
      if (!own.ok) return own;
      const { userId } = authority.by;
      const passwordHash = password === null ? null : await hashOf(context, lobbyId, own.value, password);
      const persons = await personsOf(context, own.value, [userId]);
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
        { change: await withPasswordHash(context, lobbyId, own.value, input) },
        authority,
      );
    },
    async search(search, authority) {
      const own = applicationOf(authority);
      if (!own.ok) return own;
      return { ok: true, value: await storage.lobbies.search({ ...search, applicationId: own.value }) };
    },
    speak,
    createWith: (applicationId, input) => createWith(context, applicationId, input),
  };
}

/** Runs on the owner shard of the lobby. */
const speakAtOwner = ({ registry, routing }: LobbyContext) =>
  routing.ask(
    'lobbies.speak',
    (lobbyId: ChannelId, type: string, data: unknown, authority: Authority): Promise<Reply<null>> =>
      new Promise((resolve, reject) => {
        const make = (shell: LobbyShell) => shell.speak(authority, type, data, resolve, reject);
        registry.workWith(lobbyId, make, { reads: true });
      }),
  );

/** Creates a lobby that clients may join and leave; its creator joins it unless that is the application's server. */
async function createOpenLobby(
  context: LobbyContext,
  applicationId: ApplicationId,
  {
    change,
    member,
    authority,
  }: { readonly change: LobbyChange; readonly member: MemberDraft; readonly authority: Authority },
): Promise<Reply<ChannelId>> {
  const { bot, userId } = authority.by;
  const founding = { applicationId, change, metadataKey: 'metadata' } as const;
  if (bot)
    return createEmptyLobby(context, {
      ...founding,
      byClient: false,
      founder: { draft: member, full: false },
    });
  const persons = await personsOf(context, applicationId, [userId]);
  if (!persons.ok) return persons;
  const founder = { draft: member, full: persons.full(userId) };
  const created = await createEmptyLobby(context, { ...founding, byClient: true, founder });
  if (!created.ok) return created;
  const input = { person: persons.value(created.value, userId), lobby: {}, member };
  const joined = await context.call(created.value, 'joinLobby', input, authority);
  return joined.ok ? created : joined;
}

/** Hashed under the server's key like secrets, and bound to this lobby. */
const hashOf = (
  { secretHash }: LobbyContext,
  lobbyId: ChannelId,
  applicationId: ApplicationId,
  password: string,
): Promise<string> => secretHash(applicationId, `password\n${lobbyId}\n${password}`);

/** `password` undefined keeps the password; null removes it. */
async function withPasswordHash(
  context: LobbyContext,
  lobbyId: ChannelId,
  applicationId: ApplicationId,
  { change, password }: { readonly change: SettingsChange; readonly password?: string | null | undefined },
): Promise<SettingsChange> {
  if (password === undefined) return change;
  const hash = password === null ? null : await hashOf(context, lobbyId, applicationId, password);
  return { ...change, password_hash: hash };
}

/** Creates a lobby with all of these players, or none; reports the missing ones. */
async function createWith(
  context: LobbyContext,
  applicationId: ApplicationId,
  { metadata, settings, players, matched }: Parameters<LobbyExtensions['createWith']>[1],
): ReturnType<LobbyExtensions['createWith']> {
  const { call } = context;
  const persons = await personsOf(context, applicationId, players);
  if (!persons.ok) return persons;
  const founding = { applicationId, change: { metadata }, metadataKey: 'metadata', byClient: true } as const;
  const created = await createEmptyLobby(context, founding);
  if (!created.ok) return created;
  const lobbyId = created.value;
  const members = players.map((userId) => ({ person: persons.value(lobbyId, userId), draft: {} }));
  try {
    const tickets = { matched: matched(lobbyId) };
    const filled = await call(lobbyId, 'updateLobby', { change: {}, members, ...tickets }, SYSTEM);
    if (!filled.ok) return filled;
    const inside = new Set(filled.value.members.map(({ id }) => id));
    const missing = players.filter((userId) => !inside.has(userId));
    if (missing.length > 0) await call(lobbyId, 'deleteLobby', {}, SYSTEM);
    // The game starts when all players are in. They know of the match by now, so that it stays, whatever happens.
    else
      context.repeat(lobbyId, async () =>
        served(await call(lobbyId, 'setSettings', { change: settings }, SYSTEM)),
      );
    return { ok: true, value: { lobbyId, missing } };
  } catch (fault) {
    // The caller creates another lobby, and the players must not stay in this one.
    context.repeat(lobbyId, async () => served(await call(lobbyId, 'deleteLobby', {}, SYSTEM)));
    throw fault;
  }
}

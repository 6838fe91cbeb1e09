// Goal: sessions of a lobby miss nothing that no record has: not on a shard that takes it over, and not when its actor fails.
import { expect, test } from 'vitest';
import { FreshLobbies } from '../../../actors/lobby/fresh.ts';
import { lobbyMachine } from '../../../actors/lobby/lobby.machine.ts';
import { LobbyShell } from '../../../actors/lobby/lobby.shell.ts';
import type { AggregateOwnership } from '../../../actors/runtime/aggregateownership.ts';
import { KeptStates } from '../../../actors/runtime/keptstates.ts';
import { LoadQueue } from '../../../actors/runtime/loadqueue.ts';
import { Registry } from '../../../actors/runtime/registry.ts';
import { createSupervisor } from '../../../actors/runtime/supervisor.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { ownVoiceState } from '../../../engine/call/voicestate.ts';
import type { DispatchBody } from '../../../engine/fanout/body.ts';
import type { SessionRef } from '../../../engine/fanout/direct.ts';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import { INITIAL_FIELDS, type LobbyState, type LobbyVoiceState } from '../../../engine/lobby/lobby.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import type { Commit } from '../../../storage/ports.ts';
import { user } from '../../support/guild.ts';

const LOBBY_ID = '900';
const lobby = {
  ...{ id: LOBBY_ID, application_id: '1001', ...INITIAL_FIELDS },
  ...{ by_secret: true, idle_since_ms: null, linked: null },
};
const members = ['11', '12'].map((id) => ({
  ...{ user: user(id), metadata: null, flags: 0, additional_name: null, joined_ms: 0 },
}));

const sessionOf = (userId: string): SessionRef => ({
  ...{ sessionId: `s${userId}`, userId: userId as UserId, intents: 0, bot: false },
});

const inCall = (userId: UserId): LobbyVoiceState => {
  const wish = { sessionId: `s${userId}`, selfMute: false, selfDeaf: false, selfVideo: false };
  const id = LOBBY_ID as ChannelId;
  return { ...ownVoiceState(id, userId, wish), lobby_id: id };
};

/** After a takeover, dispatches are addressed for this long to members without an attached session, too. */
const NEW_MS = 60_000;
/** A session is sent the lobby again for this long after a dispatch that is in no record. */
const UNRECORDED_MS = 30_000;

const ownership: AggregateOwnership = {
  fenceOf: () => ({ partition: 1, epoch: 2 }),
  decides: () => true,
  records: async () => ({ records: [], cut: false }),
  saveSnapshot: async () => undefined,
  snapshot: async () => null,
  dropSnapshot: async () => undefined,
  loadQueue: new LoadQueue({ atOnceMax: 1, waitingMax: 100 }),
  stream: { dispatchesMax: 100, ageMs: 60_000, bytesMax: 100_000, numbers: { high: 0 } },
  keys: { keysMax: 100, ageMs: 60_000 },
  onFault: (error) => {
    throw error;
  },
};

/** Notes the users who left the call. */
const writerOf = (database: { readonly isAway: boolean }, left: string[]) => ({
  depth: 0,
  flush: async () => undefined,
  commit: ({ facts, done }: Commit) => {
    for (const fact of facts)
      if (fact.type === 'lobbyVoiceChanged' && fact.turn === 'left') left.push(fact.userId);
    queueMicrotask(() => done(database.isAway ? new Error('The database is gone.') : null));
  },
});

/** The lobby of two members, 11 and 12, which this shard takes over from another one. */
function arrange(isStandalone = false) {
  const clock = new VirtualClock();
  const wheel = new TimerWheel(clock);
  /** Dispatches of LOBBY_CREATE, by session id. */
  const shown: string[] = [];
  /** Users to whom dispatches were addressed by their ids. */
  const addressed: string[] = [];
  const routeTo = (ref: SessionRef) => ({
    ...ref,
    deliver: ({ t }: DispatchBody) => {
      if (t === 'LOBBY_CREATE') shown.push(ref.sessionId);
      if (t === 'LOBBY_UPDATE') heard.push(ref.sessionId);
    },
  });
  const database = { isAway: false, voiceStates: [] as LobbyVoiceState[] };
  /** Users who left the call, as stored. */
  const left: string[] = [];
  /** Sessions that lost the lobby. */
  const lost: string[][] = [];
  const heard: string[] = [];
  /** The sessions that the lobby had lost, each time that it was loaded. */
  const loaded: string[][] = [];
  const ports = {
    writer: writerOf(database, left),
    ...{ ownership: isStandalone ? null : ownership, clock, wheel, rulesMs: null, nextId: () => '1' },
    tap: { listening: false, see: () => undefined },
    listener: {
      idle: () => undefined,
      loaded: (_id: string, before: readonly SessionRef[]) =>
        loaded.push(before.map(({ sessionId }) => sessionId)),
      lost: (_id: string, sessions: readonly SessionRef[]) =>
        lost.push(sessions.map(({ sessionId }) => sessionId)),
    },
    kept: new KeptStates<readonly SessionRef[]>(),
    lobbies: {
      load: async () => ({ lobby, members, voiceStates: database.voiceStates }),
      message: async () => null,
    },
    ...{ fresh: new FreshLobbies(), messageWindowMax: 100, games: { get: () => undefined } },
    voiceListener: () => ({ voiceLeft: () => undefined }),
    toEach: (to: readonly (readonly [string, unknown])[]) => ({
      ...sessionOf('0'),
      deliver: () => void addressed.push(...to.map(([userId]) => userId)),
    }),
    route: routeTo,
  };
  const registry = new Registry<LobbyState, LobbyShell>({
    machine: lobbyMachine,
    makeShell: (id, send) => new LobbyShell(id, ports as never, send),
    ...{ backlogMax: 100, idleMs: 1e9, supervisor: createSupervisor(), clock, wheel },
    onBug: (_id, error) => {
      throw error;
    },
  });
  /** Attaches the user's session after the user was moved to another shard; returns the sessions that are sent the lobby. */
  const attachMoved = async (userId: string): Promise<string[]> => {
    const own = sessionOf(userId);
    const input = { userId: own.userId, sessions: [own], announce: false, areBack: true };
    await new Promise<Reply<unknown>>((resolve, reject) =>
      registry.workWith(LOBBY_ID, (shell) => shell.command('attachSessions', input, SYSTEM, resolve, reject)),
    );
    return shown.splice(0);
  };
  const setMetadata = (value: string) =>
    new Promise<Reply<unknown>>((resolve, reject) => {
      const input = { change: { metadata: { value } }, members: null } as const;
      registry.workWith(LOBBY_ID, (shell) => shell.command('updateLobby', input, SYSTEM, resolve, reject));
    });
  return { clock, attachMoved, addressed, setMetadata, database, lost, heard, loaded, left };
}

test('a session is sent the lobby when its member was addressed with a dispatch that no record has', async () => {
  const { attachMoved, addressed } = arrange();
  expect(await attachMoved('11')).toEqual([]);
  // The owner of 12 has no session of the user yet, and drops the dispatch of the connection of 11.
  expect(new Set(addressed)).toEqual(new Set(['12']));
  expect(await attachMoved('12')).toEqual(['s12']);
});

test('an attached session is sent the lobby again within 30 seconds after a dispatch that no record has', async () => {
  const shownAfter = async (delayMs: number): Promise<string[]> => {
    const { clock, attachMoved } = arrange();
    await attachMoved('12');
    clock.advance(NEW_MS);
    expect(await attachMoved('12')).toEqual([]);
    // The session of 12 is sent the connection of 11.
    await attachMoved('11');
    clock.advance(delayMs);
    return attachMoved('12');
  };
  expect(await shownAfter(UNRECORDED_MS - 1)).toEqual(['s12']);
  expect(await shownAfter(UNRECORDED_MS)).toEqual([]);
});

test.each([
  ['one process', true],
  ['a shard', false],
])(
  'sessions of a lobby in %s whose commit fails stay in voice, and are attached to the next actor',
  async (_where, isStandalone) => {
    const { attachMoved, setMetadata, database, lost, heard, loaded } = arrange(isStandalone);
    await attachMoved('11');
    database.isAway = true;
    await expect(setMetadata('lost')).rejects.toThrow('The database is gone.');
    database.isAway = false;
    expect(lost).toEqual([['s11']]);
    expect(await setMetadata('kept')).toMatchObject({ ok: true });
    expect(loaded).toEqual([[], ['s11']]);
    // A shard addresses the members until their sessions are attached.
    expect(heard).toEqual(isStandalone ? ['s11'] : []);
  },
);

test.each([
  ['one process at once', true, 0],
  ['a shard after a minute', false, NEW_MS],
])(
  'members in voice whose sessions are not attached leave a lobby in %s',
  async (_where, isStandalone, ms) => {
    const { clock, attachMoved, database, left } = arrange(isStandalone);
    database.voiceStates = ['11', '12'].map((userId) => inCall(userId as UserId));
    await attachMoved('11');
    clock.advance(Math.max(0, ms - 1_000));
    await Promise.resolve();
    if (!isStandalone) expect(left).toEqual([]);
    clock.advance(2_000);
    await Promise.resolve();
    expect(left).toEqual(['12']);
  },
);

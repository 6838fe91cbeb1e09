// Goal: the next owner of a guild knows what no table holds, and a snapshot of voice that could not be written is written later.
import { describe, expect, it } from 'vitest';
import {
  handoverStateOf,
  restoreHandoverState,
  VoiceSnapshotWriter,
  voiceHandoverStateOf,
} from '../../../actors/guild/guild.handover.ts';
import { OwnerEpoch } from '../../../actors/runtime/ownerepoch.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { GuildFact } from '../../../engine/guild/facts.ts';
import { guildRules } from '../../../engine/guild/rules.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, GUILD_ID } from '../../support/guild.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const ANN = '10';
const LOUNGE = '51';
const SLOWED = `30:${ANN}`;

const guildOf = () =>
  buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT | P.SPEAK,
    members: [fullMember(ANN)],
    channels: [channel(LOUNGE, [], { type: 2 })],
  });
const epochOf = (epoch: number, dispatchesMax = 1) =>
  new OwnerEpoch(
    GUILD_ID,
    { partition: 7, epoch },
    {
      stream: { dispatchesMax, ageMs: 1e9, bytesMax: 1e9, numbers: { high: 0 } },
      keys: { keysMax: 10, ageMs: 60_000 },
    },
  );

describe('the next owner of a guild', () => {
  it('restores every field of the handover state', () => {
    const [guild, epoch] = [guildOf(), epochOf(3)];
    const presence = { status: 'online', activities: [], client_status: {} };
    ruled(guild, 'setPresence', { userId: ANN, presence }, '0');
    const self = { selfMute: false, selfDeaf: false, selfVideo: false };
    ruled(guild, 'setVoiceState', { channelId: LOUNGE, sessionId: 's1', ...self }, ANN);
    guild.slowmode.set(SLOWED, NOW_MS);
    // Known not to have written.
    guild.slowmode.set(`31:${ANN}`, 0);
    epoch.keys.begin('key', NOW_MS);
    epoch.keys.settle('key', { ok: true, value: 'first' }, false);
    for (const status of ['idle', 'online'])
      epoch.stream.add({ t: 'PRESENCE_UPDATE', d: { status }, to: { kind: 'guild' } }, NOW_MS);

    const handover = JSON.parse(JSON.stringify(handoverStateOf(guild, epoch)));
    expect(handover).toMatchObject({
      epoch: 3,
      presences: [{ user: { id: ANN }, status: 'online' }],
      voiceStates: [{ user_id: ANN, channel_id: LOUNGE, session_id: 's1' }],
      liveVoice: [[LOUNGE, { startedMs: NOW_MS }]],
      slowmode: [[SLOWED, NOW_MS]],
      replies: [{ key: 'key', reply: { ok: true, value: 'first' }, atMs: NOW_MS }],
      floor: epoch.stream.last - 1,
      told: [{ t: 'PRESENCE_UPDATE', d: { status: 'online' }, n: epoch.stream.last, atMs: NOW_MS }],
    });

    const [nextGuild, nextEpoch] = [guildOf(), epochOf(4)];
    restoreHandoverState(nextGuild, handover, 4);
    nextEpoch.handedOver(handover.told, handover.floor, handover.replies);
    nextEpoch.restore({ records: [], cut: false });
    expect(handoverStateOf(nextGuild, nextEpoch)).toEqual({ ...handover, epoch: 4 });
  });
});

describe('a voice state that is handed over', () => {
  it('contains the member that the next owner has read', () => {
    const guild = guildOf();
    const self = { selfMute: false, selfDeaf: false, selfVideo: false };
    ruled(guild, 'setVoiceState', { channelId: LOUNGE, sessionId: 's1', ...self }, ANN);
    const handover = handoverStateOf(guild, epochOf(3));
    const next = guildOf();
    const renamed = { ...fullMember(ANN), nick: 'new' };
    next.members.set(ANN as never, renamed);
    restoreHandoverState(next, handover, 4);
    expect(next.voiceStates.get(ANN as never)?.member).toBe(renamed);
  });
});

describe('the last owner of a guild', () => {
  it('hands over the last thousand dispatches of what is not stored, and says that older ones are missing', () => {
    const epoch = epochOf(3, 2_000);
    const add = () => epoch.stream.add({ t: 'PRESENCE_UPDATE', d: {}, to: { kind: 'guild' } }, NOW_MS);
    const [first] = Array.from({ length: 999 }, add);
    const whole = handoverStateOf(guildOf(), epoch);
    expect([whole.told?.length, whole.told?.[0]?.n, whole.floor]).toEqual([
      999,
      first?.n,
      epoch.stream.floor,
    ]);
    for (let more = 0; more < 11; more += 1) add();
    const cut = handoverStateOf(guildOf(), epoch);
    expect([cut.told?.length, cut.floor]).toEqual([1_000, (first?.n ?? 0) + 9]);
    expect(cut.told?.[0]?.n).toBe((cut.floor ?? 0) + 1);
  });
});

/** A fact of each type that is in no table, with each name that its dispatches can have. */
const UNSTORED: readonly object[] = [
  { type: 'typingStarted', channelId: LOUNGE, userId: ANN, atMs: NOW_MS },
  { type: 'presenceChanged', userId: ANN, presence: null },
  { type: 'presenceReceived', userId: ANN, n: 1 },
  { type: 'voiceStateChanged', userId: ANN, voiceState: { user_id: ANN, channel_id: LOUNGE } },
  { type: 'voiceStateRepeated', userId: ANN },
  { type: 'streamLost', channelId: LOUNGE, voiceState: { user_id: ANN, channel_id: LOUNGE }, userIds: [ANN] },
  { type: 'voiceStatusChanged', channelId: LOUNGE, status: 'away' },
  { type: 'voiceStartChanged', channelId: LOUNGE, startedMs: NOW_MS },
  { type: 'soundPlayed', channelId: LOUNGE, userId: ANN, sound: { emoji_id: null, emoji_name: null } },
  ...['created', 'updated', 'deleted'].map((change) => ({
    ...{ type: 'integrationChanged', change },
    integration: { id: '70' },
  })),
  { type: 'autoModerationWorked', units: 1, atMs: NOW_MS },
  { type: 'autoModerationActionExecuted', execution: {} },
  { type: 'interactionSent', botId: ANN, interaction: {} },
];

/** Dispatches of these facts that the next owner need not deliver, with the reason. */
const NOT_HANDED_OVER: Readonly<Record<string, string>> = {
  TYPING_START: 'It expires after 10 seconds.',
  VOICE_CHANNEL_EFFECT_SEND: 'Clients play it once and keep nothing.',
  AUTO_MODERATION_ACTION_EXECUTION: 'It reports an event; the audit log stores what was done.',
  INTERACTION_CREATE: 'A bot must answer it within 3 seconds.',
  INTEGRATION_CREATE: 'Integrations are stored, and GUILD_CREATE does not contain them.',
  INTEGRATION_UPDATE: 'Integrations are stored, and GUILD_CREATE does not contain them.',
  INTEGRATION_DELETE: 'Integrations are stored, and GUILD_CREATE does not contain them.',
  GUILD_INTEGRATIONS_UPDATE: 'Integrations are stored, and GUILD_CREATE does not contain them.',
};

describe('a planned handover', () => {
  it('contains every dispatch that shows state of no table', () => {
    const rows = Object.entries(guildRules.facts);
    const unstored = rows.filter(([, { durable }]) => durable === false || durable === 'snapshot');
    const types = UNSTORED.map((fact) => (fact as GuildFact).type);
    expect([...new Set(types)].sort()).toEqual(unstored.map(([type]) => type).sort());

    const [guild, epoch] = [guildOf(), epochOf(3, 100)];
    for (const fact of UNSTORED)
      for (const dispatch of guildRules.applyAndDispatch(guild, fact as GuildFact))
        epoch.stream.add(dispatch, NOW_MS);
    const added = new Set(epoch.stream.lastOf(() => true, 100).map(({ t }) => t));
    const told = new Set(handoverStateOf(guild, epoch).told?.map(({ t }) => t));
    const left = [...added].filter((t) => !told.has(t));
    expect(left.sort()).toEqual(Object.keys(NOT_HANDED_OVER).sort());
  });
});

describe('the snapshot for a crash', () => {
  it('has the last 32 dispatches of voice, which sessions may have missed', () => {
    const { stream } = epochOf(3, 1_000);
    const add = (t: string) => stream.add({ t, d: {}, to: { kind: 'guild' } }, NOW_MS).n;
    const numbers = Array.from({ length: 20 }, () => {
      add('PRESENCE_UPDATE');
      return [add('VOICE_STATE_UPDATE'), add('STREAM_DELETE')];
    }).flat();
    const { told } = voiceHandoverStateOf(guildOf(), stream);
    expect(told?.map(({ n }) => n)).toEqual(numbers.slice(-32));
  });
});

describe('the writer of voice snapshots', () => {
  /** Results of writes in order; then false. */
  function arrange(...results: Promise<boolean>[]) {
    const clock = new VirtualClock();
    const faults: unknown[] = [];
    let writes = 0;
    const writer = new VoiceSnapshotWriter({
      wheel: new TimerWheel(clock),
      write: () => results[writes++] ?? Promise.resolve(false),
      onFault: (error) => faults.push(error),
    });
    const writesAfter = async (ms: number) => {
      clock.advance(ms);
      await new Promise<void>((resolve) => setImmediate(resolve));
      return writes;
    };
    return { writer, faults, writesAfter };
  }

  it('writes a change in its turn, and those of the next 100 ms together', async () => {
    const { writer, writesAfter } = arrange();
    writer.changed();
    writer.changed();
    expect(await writesAfter(0)).toBe(1);
    writer.changed();
    expect(await writesAfter(50)).toBe(1);
    writer.changed();
    expect(await writesAfter(50)).toBe(2);
    expect(await writesAfter(1_000)).toBe(2);
    writer.changed();
    expect(await writesAfter(0)).toBe(3);
  });

  it('repeats a failed write after 2 s', async () => {
    const { writer, faults, writesAfter } = arrange(Promise.reject(new Error('disk')));
    writer.changed();
    expect([await writesAfter(0), faults]).toEqual([1, [new Error('disk')]]);
    writer.changed();
    expect(await writesAfter(1_950)).toBe(1);
    expect(await writesAfter(50)).toBe(2);
    expect(await writesAfter(120_000)).toBe(2);
  });

  it('repeats a write every minute only when it must be refreshed', async () => {
    const { writer, writesAfter } = arrange(Promise.resolve(true), Promise.resolve(true));
    writer.changed();
    expect(await writesAfter(0)).toBe(1);
    for (const [ms, count] of [
      [100, 1],
      [59_950, 1],
      [50, 2],
      [100, 2],
      [60_000, 3],
      [100, 3],
      [200_000, 3],
    ] as const)
      expect(await writesAfter(ms)).toBe(count);
  });

  it('writes nothing after its end, not even the change of the same turn', async () => {
    const { writer, writesAfter } = arrange();
    writer.changed();
    const ended = writer.end();
    writer.changed();
    expect([await ended, await writesAfter(120_000)]).toEqual([false, 0]);
  });
});

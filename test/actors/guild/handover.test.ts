// Goal: the next owner of a guild knows what no table holds, and continues voice.
import { describe, expect, it } from 'vitest';
import { handoverStateOf, restoreHandoverState, restoreVoice } from '../../../actors/guild/guild.handover.ts';
import { OwnerEpoch } from '../../../actors/runtime/ownerepoch.ts';
import type { GuildFact } from '../../../engine/guild/facts.ts';
import { guildRules } from '../../../engine/guild/rules.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
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

  it('restores no presence when another owner came after the one that handed the guild over', () => {
    const guild = guildOf();
    const presence = { status: 'online', activities: [], client_status: {} };
    ruled(guild, 'setPresence', { userId: ANN, presence }, '0');
    guild.slowmode.set(SLOWED, NOW_MS);
    const handover = handoverStateOf(guild, epochOf(3));
    const next = guildOf();
    // The owner of epoch 4 was lost, and may have sent other presences.
    restoreHandoverState(next, handover, 5);
    expect([next.presences.size, [...next.slowmode]]).toEqual([0, [[SLOWED, NOW_MS]]]);
  });
});

describe('voice that the next owner continues', () => {
  const state = {
    ...{ user_id: ANN as UserId, channel_id: LOUNGE as ChannelId, session_id: 's1', suppress: false },
    ...{ deaf: false, mute: false, self_deaf: false, self_mute: true, self_video: false },
    request_to_speak_timestamp: null,
  };
  const live = { status: 'away', startedMs: NOW_MS };

  it('shows members as the next owner has read them', () => {
    const guild = guildOf();
    const renamed = { ...fullMember(ANN), nick: 'new' };
    guild.members.set(ANN as never, renamed);
    restoreVoice(guild, { voiceStates: [state], liveVoice: [[LOUNGE as ChannelId, live]] });
    expect([...guild.voiceStates.values()]).toEqual([{ ...state, member: renamed }]);
    expect([...guild.liveVoice]).toEqual([[LOUNGE, live]]);
  });

  it('leaves out users who are no members, and deleted channels', () => {
    const guild = guildOf();
    const [stranger, elsewhere] = [
      { ...state, user_id: '11' as UserId },
      { ...state, channel_id: '99' as ChannelId },
    ];
    restoreVoice(guild, { voiceStates: [stranger, elsewhere], liveVoice: [['99' as ChannelId, live]] });
    expect([guild.voiceStates.size, guild.liveVoice.size]).toEqual([0, 0]);
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
  { type: 'voiceStateRepeated', userId: ANN },
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
    const unstored = rows.filter(([, { durable }]) => durable === false);
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

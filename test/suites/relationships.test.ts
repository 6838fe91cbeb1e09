// Goal: both sides of a relationship between people are stored and read back, on every database.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ownVoiceState } from '../../engine/call/voicestate.ts';
import { RELATION, type Relation, type SocialFact } from '../../engine/social/facts.ts';
import type { ApplicationId, ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import type { GatewayVoiceState } from '../../protocol/objects.ts';
import { commit, created, id, message, seed, user } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const [A, B, C] = ['10', '11', '12'].map((one) => id<UserId>(one)) as [UserId, UserId, UserId];
const GAME = id<ApplicationId>('77');
const CHANNEL = id<ChannelId>('500');

const of = (type: Relation['type'], more: Partial<Relation> = {}): Relation => ({
  type,
  sinceMs: 1_700_000_000_000,
  nickname: null,
  originApplicationId: null,
  ...more,
});

const changed = (
  userId: UserId,
  peerId: UserId,
  relation: Relation | null,
  applicationId: ApplicationId | null = null,
): SocialFact => ({ type: 'relationChanged', userId, peerId, applicationId, relation });

describe.each(databases())('relationships on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  const store = () => fresh.storage.relationships;
  const write = (...facts: SocialFact[]) => commit(fresh.storage.writer, A, ...facts);

  beforeAll(async () => {
    fresh = await openFresh(kind);
  });
  afterAll(() => fresh.close());
  beforeEach(async () => {
    await fresh.driver.script(
      `DO $$ DECLARE t text; BEGIN FOR t IN SELECT table_name FROM information_schema.tables
        WHERE table_schema = 'public' AND table_name <> 'schema_migrations' LOOP EXECUTE 'TRUNCATE ' || t; END LOOP; END $$`,
    );
    await seed(fresh.storage.writer);
  });

  test('are read from both sides as they were written, with the platform and games apart', async () => {
    const named = of(RELATION.FRIEND, { nickname: 'Bee', originApplicationId: GAME });
    await write(
      changed(A, B, named),
      changed(B, A, of(RELATION.FRIEND)),
      changed(A, C, of(RELATION.OUTGOING), GAME),
      changed(C, A, of(RELATION.INCOMING), GAME),
    );
    expect(await store().of(A)).toEqual([
      { ...named, userId: A, peerId: B, applicationId: null },
      { ...of(RELATION.OUTGOING), userId: A, peerId: C, applicationId: GAME },
    ]);
    expect((await store().towards(A)).map(({ userId, type }) => [userId, type])).toEqual([
      [B, RELATION.FRIEND],
      [C, RELATION.INCOMING],
    ]);
    expect((await store().among([A, B])).map(({ userId }) => userId)).toEqual([A, B]);
    expect(await store().among([B, C])).toEqual([]);
    expect(await store().counts(A, null)).toEqual({ [RELATION.FRIEND]: 1 });
    expect(await store().counts(A, GAME)).toEqual({ [RELATION.OUTGOING]: 1 });
  });

  test('are deleted for one game at once, and for nothing else', async () => {
    const friends = of(RELATION.FRIEND);
    await write(changed(A, B, friends), changed(A, B, friends, GAME), changed(B, C, friends, GAME));
    await write({ type: 'gameRelationsForgotten', applicationId: GAME });
    expect((await store().of(A)).map(({ applicationId }) => applicationId)).toEqual([null]);
    expect(await store().of(B)).toEqual([]);
  });

  test('shared guilds, installed bots and the choice of who may write are read back', async () => {
    const stranger = { policy: null, sharesGuild: false, isInstalled: false };
    expect(await store().acquaintance(A, B)).toEqual(stranger);
    expect(await store().settings(A)).toEqual({ directMessagesFrom: null });
    await write(
      { type: 'userSettingsChanged', userId: B, settings: { directMessagesFrom: 'everyone' } },
      { type: 'userSettingsChanged', userId: B, settings: { directMessagesFrom: 'friends' } },
    );
    expect(await store().settings(B)).toEqual({ directMessagesFrom: 'friends' });
    await fresh.driver.script(
      `INSERT INTO user_guilds (user_id, guild_id) VALUES (${A}, 1), (${A}, 2), (${B}, 2), (${C}, 3);
       INSERT INTO applications (id, bot_id, data, signing_key, client_secret_hash) VALUES (${GAME}, ${C}, '{}', '', '');
       INSERT INTO oauth_grants (user_id, application_id, data) VALUES
         (${A}, ${GAME}, '{"userInstall": true}'), (${B}, ${GAME}, '{"userInstall": false}')`,
    );
    expect(await store().acquaintance(A, B)).toEqual({ ...stranger, policy: 'friends', sharesGuild: true });
    expect(await store().acquaintance(B, A)).toEqual({ ...stranger, sharesGuild: true });
    // A guild whose direct messages are closed does not count as shared.
    const closed = async (untilMs: number) => {
      const data = { invites_disabled_until: null, dms_disabled_until: new Date(untilMs).toISOString() };
      await commit(fresh.storage.writer, '2', { type: 'pageWritten', page: 'incidents', data });
      return (await store().acquaintance(A, B)).sharesGuild;
    };
    expect(await closed(Date.now() + 60_000)).toBe(false);
    expect(await closed(Date.now() - 60_000)).toBe(true);
    // A sender who has not passed the guild's screening shares it with no user; its other members share it with the
    // sender.
    await fresh.driver.script(
      `INSERT INTO members (guild_id, user_id, roles, username_search, data)
       VALUES (2, ${A}, '{}', 'a', '{"pending": true}')`,
    );
    expect((await store().acquaintance(A, B)).sharesGuild).toBe(false);
    expect((await store().acquaintance(B, A)).sharesGuild).toBe(true);
    for (const [from, to] of [
      [C, A],
      [A, C],
    ] as const)
      expect(await store().acquaintance(from, to)).toEqual({ ...stranger, isInstalled: true });
    expect(await store().acquaintance(C, B)).toEqual({ ...stranger, policy: 'friends' });
  });

  test('the authors in a private channel are known, also after another account replaced an author', async () => {
    const channel = {
      id: CHANNEL,
      type: 1,
      recipientIds: [A, B],
      last_message_id: null,
      last_pin_ms: null,
    } as const;
    await commit(fresh.storage.writer, CHANNEL, { type: 'privateChannelOpened', channel });
    const writtenBy = async () => (await fresh.storage.privateChannels.get(CHANNEL))?.writtenBy;
    expect(await writtenBy()).toEqual([]);
    await commit(fresh.storage.writer, CHANNEL, {
      type: 'firstWritten',
      channelId: CHANNEL,
      userId: B,
      peerId: A,
    });
    expect(await writtenBy()).toEqual([B]);
    expect((await fresh.storage.privateChannels.between(A, B))?.writtenBy).toEqual([B]);
    const taker = { ...user('12'), id: C };
    await commit(fresh.storage.writer, CHANNEL, {
      type: 'recipientReplaced',
      channelId: CHANNEL,
      from: B,
      user: taker,
    });
    expect(await writtenBy()).toEqual([C]);
  });

  test('a later change replaces an earlier one, null deletes it, and the last one of a commit counts', async () => {
    await write(changed(A, B, of(RELATION.OUTGOING)), changed(B, A, of(RELATION.INCOMING)));
    await write(changed(A, B, of(RELATION.FRIEND)), changed(A, B, of(RELATION.BLOCKED)), changed(B, A, null));
    expect((await store().of(A)).map(({ type }) => type)).toEqual([RELATION.BLOCKED]);
    expect(await store().of(B)).toEqual([]);
  });

  test('people are found by name without regard to case, and bots are not found', async () => {
    const named = async (userId: string, username: string, more: object = {}) =>
      commit(fresh.storage.writer, userId, {
        type: 'userCreated',
        user: user(userId, { username, ...more }),
      });
    await named('20', 'Robin');
    await named('21', 'helper', { bot: true });
    expect((await fresh.storage.users.peopleNamed('rObIn')).map((one) => one.id)).toEqual(['20']);
    expect(await fresh.storage.users.peopleNamed('helper')).toEqual([]);
    expect(await fresh.storage.users.peopleNamed('robin%')).toEqual([]);
  });

  test('a private channel moves to the account that replaces a recipient', async () => {
    const { writer, privateChannels } = fresh.storage;
    const channel = {
      id: CHANNEL,
      type: 1,
      recipientIds: [A, C],
      last_message_id: null,
      last_pin_ms: null,
    } as const;
    await commit(writer, CHANNEL, { type: 'privateChannelOpened', channel });
    await commit(writer, CHANNEL, created(message(CHANNEL, '9001')));
    await commit(writer, CHANNEL, { type: 'recipientReplaced', channelId: CHANNEL, from: A, user: user(B) });
    expect(await privateChannels.between(A, C)).toBeNull();
    expect(await privateChannels.between(C, B)).toMatchObject({ id: CHANNEL, recipientIds: [B, C] });
    expect((await privateChannels.of(B, 10)).map((one) => one.id)).toEqual([CHANNEL]);
    expect(await privateChannels.of(A, 10)).toEqual([]);
    await commit(writer, CHANNEL, {
      type: 'recipientReplaced',
      channelId: CHANNEL,
      from: B,
      user: user('15'),
    });
    expect((await privateChannels.get(CHANNEL))?.recipientIds).toEqual([C, '15']);
  });

  test('a running call of a private channel is stored with each change, until it ends', async () => {
    const { writer, privateChannels } = fresh.storage;
    const state = (userId: UserId, channelId: ChannelId | null): GatewayVoiceState => ({
      ...ownVoiceState(CHANNEL, userId, {
        sessionId: `s${userId}`,
        ...{ selfMute: false, selfDeaf: true, selfVideo: false },
      }),
      channel_id: channelId,
    });
    const [first, second] = [state(A, CHANNEL), state(B, CHANNEL)];
    const call = {
      ...{ messageId: '9001' as MessageId, ringing: [B], ringUntilMs: 1_700_000_060_000 },
      ...{ participantIds: [A], voiceStates: new Map([[A, first]]) },
    };
    const both = { ...call, participantIds: [A, B], voiceStates: new Map(call.voiceStates).set(B, second) };
    const answered = { ...both, ringing: [] };
    await commit(writer, CHANNEL, { type: 'callStarted', call, voiceState: first });
    expect(await privateChannels.call(CHANNEL)).toEqual(call);
    expect(await privateChannels.withCalls()).toEqual([CHANNEL]);
    const inCall = [{ id: CHANNEL, sessionId: first.session_id }];
    expect(await privateChannels.inCall(A, ['1' as ChannelId, CHANNEL])).toEqual(inCall);
    expect(await privateChannels.inCall(A, ['1' as ChannelId])).toEqual([]);
    expect(await privateChannels.inCall(B, [CHANNEL])).toEqual([]);
    await commit(
      writer,
      CHANNEL,
      { type: 'callStateChanged', call: both, userId: B, voiceState: second },
      { type: 'ringingChanged', call: answered },
    );
    expect(await privateChannels.call(CHANNEL)).toEqual(answered);
    const streaming = (self_stream: boolean) => {
      const voiceState = { ...first, self_stream };
      return {
        voiceState,
        call: { ...answered, voiceStates: new Map(answered.voiceStates).set(A, voiceState) },
      };
    };
    await commit(writer, CHANNEL, { type: 'callStateChanged', userId: A, ...streaming(true) });
    await commit(writer, CHANNEL, { type: 'callStreamLost', ...streaming(false) });
    expect(await privateChannels.call(CHANNEL)).toEqual(streaming(false).call);
    await commit(
      writer,
      CHANNEL,
      { type: 'callStateChanged', call: answered, userId: B, voiceState: state(B, null) },
      { type: 'callEnded' },
    );
    expect(await privateChannels.call(CHANNEL)).toBeNull();
    expect(await privateChannels.withCalls()).toEqual([]);
  });

  test('role connections are stored by user and application, and their metadata by application', async () => {
    const connection = { platform_name: 'Chess', platform_username: null, metadata: { elo: '1500' } };
    await write({ type: 'roleConnectionChanged', userId: A, applicationId: GAME, connection });
    expect(await store().roleConnection(A, GAME)).toEqual(connection);
    expect(await store().roleConnection(B, GAME)).toBeNull();
    await write({ type: 'roleConnectionChanged', userId: A, applicationId: GAME, connection: null });
    expect(await store().roleConnection(A, GAME)).toBeNull();
    const metadata = [{ type: 2, key: 'elo', name: 'Elo', description: 'How strong' }];
    expect(await store().roleConnectionMetadata(GAME)).toEqual([]);
    await write({ type: 'roleConnectionMetadataChanged', applicationId: GAME, metadata });
    expect(await store().roleConnectionMetadata(GAME)).toEqual(metadata);
  });
});

// Goal: lobbies, friendships, grants and calls are the same at all shards, whichever shard is asked, loses ownership or dies.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import { ACTIVITY_LEASE_MS } from '../../protocol/activityinstances.ts';
import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';
import type { Scope } from '../../protocol/scopes.ts';
import type { Secret } from '../../protocol/secret.ts';
import type { Person } from '../../services/social/ports.ts';
import { asking } from '../services/oauth/flows.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';
import type { RecordingSink } from '../support/instance.ts';

let cluster: TestCluster;
let names = 0;
beforeAll(async () => (await openCluster(1)).close(), 60_000);
afterEach(() => cluster.close());

async function open(shards = 3): Promise<void> {
  cluster = await openCluster(shards);
}

function must<Value>(reply: Reply<Value>): Value {
  if (!reply.ok) throw new Error(reply.refusal.message);
  return reply.value;
}

const wait = <T>(promise: Promise<T>): Promise<T> => cluster.while(promise);
const at = (index: number): ClusterInstance => cluster.instance(index % cluster.instances.length);

async function person(
  owner?: ClusterInstance,
): Promise<Person & { readonly token: string; readonly name: string }> {
  for (;;) {
    const name = `someone${names++}`;
    const { user, token } = await wait(at(names).operator.createUser({ username: name }));
    const userId = user.id as UserId;
    if (!owner || cluster.ownerOf(userId) === owner) return { userId, authorization: null, token, name };
  }
}

const game = async () => {
  const made = await wait(at(0).operator.createApplication({ name: 'Game' }));
  return { id: made.application.id as ApplicationId, secret: made.clientSecret };
};

async function player(applicationId: ApplicationId, scopes: Scope[] = ['sdk.social_layer']) {
  const made = await person();
  const issued = await wait(
    at(names).features.oauth.issue({ userId: made.userId, applicationId, scopes, refreshable: false }),
  );
  const by = { userId: made.userId, bot: false, applicationId, applicationFlags: 0, reason: null };
  return { ...made, access: issued.accessToken.reveal(), authority: { by, requires: 0n } as Authority };
}

type Player = Awaited<ReturnType<typeof player>>;

async function connect(instance: ClusterInstance, token: string): Promise<RecordingSink> {
  const { sink } = await wait(instance.connect(token));
  await cluster.until(() => sink.names.includes('READY'), 'READY');
  return sink;
}

const told = <T = Record<string, unknown>>(sink: RecordingSink, t: string): T[] =>
  sink.dispatches.filter((each) => each.t === t).map(({ d }) => d as T);

describe('lobbies over three shards', () => {
  const join = (instance: ClusterInstance, { authority }: { authority: Authority }, secret: string) =>
    instance.features.lobbies.createOrJoin({ secret, lobby: {}, member: {} }, authority);

  async function playersOf(applicationId: ApplicationId, count: number): Promise<[Player, ...Player[]]> {
    const players: Player[] = [];
    for (let index = 0; index < count; index += 1) players.push(await player(applicationId));
    return players as [Player, ...Player[]];
  }

  /** The one lobby that all of them are in. */
  function one(joined: readonly Reply<{ readonly id: string }>[]): [ChannelId] {
    const ids = new Set(joined.map((reply) => must(reply).id));
    expect(ids.size).toBe(1);
    return [...ids] as [ChannelId];
  }

  const shown = async (instance: ClusterInstance, lobbyId: ChannelId, { authority }: Player) =>
    must(await wait(instance.features.lobbies.call(lobbyId, 'getLobby', {}, authority)));

  it('become one lobby when twelve players join by one secret at all shards at once', async () => {
    await open();
    const { id } = await game();
    const players = await playersOf(id, 12);
    const joined = await wait(Promise.all(players.map((each, index) => join(at(index), each, 'storm'))));
    const [lobbyId] = one(joined);
    expect((await shown(at(1), lobbyId, players[0])).members.length).toBe(12);
  });

  it('take one question to the owner of the secret for each join, and nothing for members without a session', async () => {
    await open();
    const { id } = await game();
    const players = await playersOf(id, 6);
    await cluster.pass(10_000);
    const { asked, told: sent } = cluster.net;
    asked.length = sent.length = 0;
    for (const each of players) must(await wait(join(cluster.ownerOf(each.userId), each, 'storm')));
    expect(new Set(asked)).toEqual(new Set(['lobbies.ofSecret']));
    expect(asked.length).toBeLessThanOrEqual(players.length);
    expect(sent.filter(({ frame }) => frame.kind === 'tell' && frame.method === 'users.deliver')).toEqual([]);
  });

  it('lose no join when a shard dies while players join', async () => {
    await open();
    const { id } = await game();
    const players = await playersOf(id, 9);
    const joins = players.map((each, index) => join(at(index % 2), each, 'storm'));
    const victim = cluster.instance(2);
    const orphaned = cluster.kill(victim);
    await cluster.pass(200);
    await cluster.adopt(cluster.instance(0), orphaned.slice(0, orphaned.length / 2));
    await cluster.adopt(cluster.instance(1), orphaned.slice(orphaned.length / 2));
    const joined = await wait(Promise.all(joins));
    const [lobbyId] = one(joined);
    expect((await shown(at(0), lobbyId, players[0])).members.length).toBe(9);
  });

  it('deliver messages to sessions at any shard, also after the lobby moves to another shard', async () => {
    await open();
    const { id } = await game();
    const [ann, bob] = [await player(id), await player(id)];
    const sinks = [await connect(at(0), ann.access), await connect(at(1), bob.access)];
    const lobby = must(await wait(join(at(2), ann, 'room')));
    must(await wait(join(at(0), bob, 'room')));
    const lobbyId = lobby.id as ChannelId;
    await cluster.until(() => sinks.every((sink) => sink.names.includes('LOBBY_CREATE')), 'LOBBY_CREATE');
    const say = (content: string, instance: ClusterInstance) =>
      wait(instance.features.lobbies.send(lobbyId, { content, flags: 0 } as never, ann.authority));
    must(await say('one', at(1)));
    // Sessions whose users have just moved, as all have at the start, may be sent a lobby that moves again.
    await cluster.pass(11_000);
    await cluster.move(lobbyId, cluster.strangerTo(lobbyId));
    await cluster.pass(50);
    must(await say('two', at(2)));
    await cluster.until(() => sinks.every((sink) => told(sink, 'LOBBY_MESSAGE_CREATE').length === 2), 'both');
    for (const sink of sinks) {
      expect(told(sink, 'LOBBY_MESSAGE_CREATE').map(({ content }) => content)).toEqual(['one', 'two']);
      expect(told(sink, 'LOBBY_CREATE').length).toBe(1);
    }
  });

  it('deliver the messages that a shard stored but had not sent when it died', async () => {
    await open();
    const { id } = await game();
    const [ann, bob] = [await player(id), await player(id)];
    const sinks = [await connect(at(0), ann.access), await connect(at(1), bob.access)];
    let lobbyId: ChannelId;
    for (let index = 0; ; index += 1) {
      lobbyId = must(await wait(join(at(2), ann, `room ${index}`))).id as ChannelId;
      if (cluster.ownerOf(lobbyId) !== at(2)) continue;
      must(await wait(join(at(0), bob, `room ${index}`)));
      break;
    }
    const toldOf = (sink: RecordingSink) =>
      told(sink, 'LOBBY_MESSAGE_CREATE').map(({ content }) => content as string);
    const all = (count: number) => () => sinks.every((sink) => toldOf(sink).length === count);
    const say = (content: string, instance: ClusterInstance) =>
      wait(instance.features.lobbies.send(lobbyId, { content, flags: 0 } as never, ann.authority));
    must(await say('one', at(1)));
    await cluster.until(all(1), 'the first');
    // From here on no frame of the lobby's owner shard arrives.
    cluster.net.delayMs = () => 60_000;
    must(await say('two', at(2)));
    cluster.net.delayMs = () => 0;
    const orphaned = cluster.kill(at(2));
    await cluster.adopt(at(1), orphaned);
    must(await say('three', at(0)));
    await cluster.until(all(3), 'the rest');
    for (const sink of sinks) expect(toldOf(sink)).toEqual(['one', 'two', 'three']);
  });

  it('accept one matchmaking ticket of a player over all shards, and cancel it at any shard', async () => {
    await open();
    const { id } = await game();
    const ann = await player(id);
    for (const instance of cluster.instances) instance.features.matchmaking.define('duel', { size: 2 });
    const draft = { queue: 'duel', properties: {}, lobbyId: null, userIds: null };
    const ticket = must(await wait(at(0).features.matchmaking.enter(draft, ann.authority)));
    expect(await wait(at(1).features.matchmaking.enter(draft, ann.authority))).toMatchObject({ ok: false });
    const cancelled = must(await wait(at(2).features.matchmaking.cancel(ticket.id, ann.authority)));
    expect(cancelled.status).toBe('cancelled');
  });
});

describe('people on three shards', () => {
  it('become friends and receive each other’s presence', async () => {
    await open();
    const ann = await person(cluster.instance(0));
    const bob = await person(cluster.instance(1));
    const sink = await connect(at(2), ann.token);
    must(await wait(at(0).features.social.relationships.request(ann, bob.userId, null)));
    must(await wait(at(2).features.social.relationships.request(bob, ann.userId, null)));
    await cluster.until(() => told(sink, 'RELATIONSHIP_ADD').length === 2, 'a friend');
    const theirs = await connect(at(0), bob.token);
    await cluster.until(() => told(sink, 'PRESENCE_UPDATE').length > 0, 'the friend');
    expect(told(sink, 'PRESENCE_UPDATE')[0]).toMatchObject({ user: { id: bob.userId } });
    const ready = theirs.dispatches[0]?.d as { presences?: { user: { id: string } }[] };
    expect(JSON.stringify(ready)).toContain(ann.userId);
  });

  it('receive RELATIONSHIP_ADD once when the deciding shard dies before it sends the event', async () => {
    await open();
    const [first, second, third] = [at(0), at(1), at(2)];
    for (;;) {
      const [ann, bob] = [await person(), await person()];
      // The owner of the lower id decides both requests; that shard dies below.
      if (cluster.ownerOf(ann.userId) !== third || cluster.ownerOf(bob.userId) !== second) continue;
      const sinks = [await connect(first, ann.token), await connect(first, bob.token)];
      const heard = (count: number) => () =>
        sinks.every((sink) => told(sink, 'RELATIONSHIP_ADD').length === count);
      must(await wait(first.features.social.relationships.request(ann, bob.userId, null)));
      await cluster.until(heard(1), 'the request');
      const { relationships } = cluster.storage;
      const { among } = relationships;
      // From the decision on, when both users are locked, nothing of the shard arrives at others.
      const slowly = (...users: Parameters<typeof among>) => {
        cluster.net.delayMs = () => 60_000;
        return among(...users);
      };
      Object.assign(relationships, { among: slowly });
      third.features.social.relationships.request(bob, ann.userId, null).catch(() => null);
      const areFriends = async () =>
        (await cluster.storage.relationships.of(ann.userId)).some(({ type }) => type === 1);
      while (!(await wait(areFriends())));
      Object.assign(relationships, { among });
      cluster.net.delayMs = () => 0;
      await cluster.adopt(second, cluster.kill(third));
      await cluster.until(heard(2), 'the friend');
      must(await wait(first.features.social.relationships.remove(ann, bob.userId, null)));
      await cluster.until(
        () => sinks.every((sink) => told(sink, 'RELATIONSHIP_REMOVE').length === 1),
        'the end',
      );
      await cluster.pass(300);
      for (const sink of sinks)
        expect(told(sink, 'RELATIONSHIP_ADD').map(({ type }) => type)).toEqual([expect.anything(), 1]);
      return;
    }
  });

  it('share one private channel whichever shard opens it, and receive each message once', async () => {
    await open();
    const ann = await person(cluster.instance(0));
    const bob = await person(cluster.instance(1));
    const sinks = [await connect(at(1), ann.token), await connect(at(2), bob.token)];
    const opened = await wait(
      Promise.all(cluster.instances.map((instance) => instance.openPrivate(ann.userId, bob.userId))),
    );
    const ids = new Set(opened.map((reply) => must(reply).id));
    expect(ids.size).toBe(1);
    const [channelId] = [...ids] as [ChannelId];
    const by = { userId: ann.userId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
    const input = {
      channelId,
      draft: { content: 'hello', flags: null, nonce: null },
      ...{ carried: {}, attachments: [], forward: null },
    };
    for (const instance of cluster.instances)
      must(
        await wait(
          instance.inPrivate(channelId, 'createMessage', input as never, { by, requires: 0n } as never),
        ),
      );
    await cluster.until(() => sinks.every((sink) => told(sink, 'MESSAGE_CREATE').length === 3), 'messages');
  });
});

describe('OAuth2 over three shards', () => {
  async function code(
    instance: ClusterInstance,
    userId: UserId,
    applicationId: ApplicationId,
  ): Promise<string> {
    const redirect = { client_id: applicationId, redirect_uri: 'https://game.example/back' };
    const query = asking({ ...redirect, response_type: 'code', scope: 'identify' });
    const decision = { authorize: true, permissions: null, guildId: null, integrationType: null };
    const decided = await wait(instance.features.oauth.consents.decide(userId, query, decision));
    if (decided.kind !== 'decided' || !decided.location) throw new Error(JSON.stringify(decided));
    return new URL(decided.location).searchParams.get('code') as string;
  }

  const exchange = (
    instance: ClusterInstance,
    { id, secret }: { id: ApplicationId; secret: string },
    text: string,
  ) =>
    instance.features.oauth.token({
      ...{ clientId: id, clientSecret: secret, grantType: 'authorization_code', code: text },
      redirectUri: 'https://game.example/back',
      ...{ codeVerifier: null, refreshToken: null, scope: null, deviceCode: null, external: null },
    });

  async function client() {
    const made = await game();
    const redirectUris = ['https://game.example/back'];
    await wait(at(1).operator.configureClient({ applicationId: made.id, redirectUris }));
    return made;
  }

  it('exchanges a code at any shard, and revokes the tokens when two shards exchange one code at once', async () => {
    await open();
    const app = await client();
    const ann = await person();
    const tokens = must(await wait(exchange(at(1), app, await code(at(0), ann.userId, app.id))));
    for (const instance of cluster.instances)
      expect(await wait(instance.features.oauth.authenticate(tokens.accessToken.reveal()))).not.toBeNull();
    const again = await code(at(2), ann.userId, app.id);
    const both = await wait(Promise.all([exchange(at(0), app, again), exchange(at(1), app, again)]));
    expect(both.filter(({ ok }) => ok).length).toBe(1);
    const won = must(both.find(({ ok }) => ok) as Reply<{ accessToken: Secret }>);
    await cluster.pass(300);
    for (const instance of cluster.instances)
      expect(await wait(instance.features.oauth.authenticate(won.accessToken.reveal()))).toBeNull();
  });

  it('closes sessions at every shard when a grant is revoked', async () => {
    await open();
    const { id } = await game();
    const ann = await player(id);
    const sinks = [
      await connect(at(0), ann.access),
      await connect(at(1), ann.access),
      await connect(at(2), ann.access),
    ];
    expect(await wait(at(1).features.oauth.deauthorize(ann.userId, id))).toBe(true);
    await cluster.until(() => sinks.every(({ closed }) => closed?.code === 4004), 'the end');
    for (const instance of cluster.instances)
      expect(await wait(instance.features.oauth.authenticate(ann.access))).toBeNull();
  });

  it('issues the tokens of a device once when its start, approval and polls are at different shards', async () => {
    await open();
    const app = await client();
    await wait(at(0).operator.configureClient({ applicationId: app.id, publicClient: true }));
    const ann = await person();
    const begun = must(await wait(at(0).features.oauth.devices.begin(app.id, app.secret, 'identify')));
    expect(await wait(at(1).features.oauth.devices.finish(ann.userId, begun.userCode, true))).toBe(true);
    const poll = (instance: ClusterInstance) =>
      instance.features.oauth.token({
        ...{ clientId: app.id, clientSecret: app.secret, deviceCode: begun.deviceCode.reveal() },
        grantType: 'urn:ietf:params:oauth:grant-type:device_code',
        ...{
          code: null,
          redirectUri: null,
          codeVerifier: null,
          refreshToken: null,
          scope: null,
          external: null,
        },
      });
    const polled = await wait(Promise.all([poll(at(1)), poll(at(2))]));
    expect(polled.filter(({ ok }) => ok).length).toBe(1);
  });
});

describe('voice over three shards', () => {
  const nowhere = { channelId: null, selfMute: false, selfDeaf: false, selfVideo: false };

  it('lets a session at another shard than the guild join and leave', async () => {
    await open();
    const world = await cluster.found();
    const home = cluster.strangerTo(world.guildId);
    const sink = await connect(cluster.ownerOf(world.guildId), world.botToken);
    const { sink: own, session } = await wait(home.connect(world.ownerToken));
    await cluster.until(
      () => own.names.includes('GUILD_CREATE') && sink.names.includes('GUILD_CREATE'),
      'the guild',
    );
    const { channels } = told<{ channels: { id: ChannelId; type: number }[] }>(
      own,
      'GUILD_CREATE',
    )[0] as never;
    const voice = (channels as { id: ChannelId; type: number }[]).find(({ type }) => type === 2);
    const { guildId } = world;
    session.ask({ name: 'voiceState', input: { ...nowhere, guildId, channelId: voice?.id as ChannelId } });
    await cluster.until(() => told(sink, 'VOICE_STATE_UPDATE').length === 1, 'a voice state');
    expect(told(sink, 'VOICE_STATE_UPDATE')[0]).toMatchObject({
      user_id: world.ownerId,
      channel_id: voice?.id,
    });
    session.ask({ name: 'voiceState', input: { ...nowhere, guildId: null } });
    await cluster.until(() => told(sink, 'VOICE_STATE_UPDATE').length === 2, 'the end');
    expect(told(sink, 'VOICE_STATE_UPDATE')[1]).toMatchObject({ channel_id: null });
  });

  it('continues when the private channel moves to another shard', async () => {
    await open();
    const [ann, bob] = [await person(cluster.instance(0)), await person(cluster.instance(1))];
    const { id: channelId } = must(await wait(at(0).openPrivate(ann.userId, bob.userId)));
    const { session } = await wait(cluster.instance(2).connect(ann.token));
    session.ask({ name: 'voiceState', input: { ...nowhere, guildId: null, channelId } });
    const call = () => cluster.ownerOf(channelId).privateChannels.peek(channelId)?.isBusy === true;
    await cluster.until(call, 'the call');
    await cluster.move(channelId, cluster.strangerTo(channelId));
    const input = { userId: ann.userId, sessionId: session.id, live: false };
    must(await wait(at(0).inPrivate(channelId, 'showStreaming', input, SYSTEM)));
    await cluster.until(call, 'the call at the next owner');
    const sink = await connect(at(1), bob.token);
    await cluster.until(() => sink.names.includes('CALL_CREATE'), 'the call');
    expect(told(sink, 'CALL_CREATE')[0]).toMatchObject({ voice_states: [{ user_id: ann.userId }] });
  });

  it('continues when the private channel’s owner shard is killed, and stores nothing after its end', async () => {
    await open();
    const ann = await person(cluster.instance(0));
    let channelId: ChannelId;
    do {
      const { userId } = await person();
      channelId = must(await wait(at(0).openPrivate(ann.userId, userId))).id;
    } while (cluster.ownerOf(channelId) !== cluster.instance(2));
    const { session, sink } = await wait(cluster.instance(0).connect(ann.token));
    session.ask({ name: 'voiceState', input: { ...nowhere, guildId: null, channelId } });
    await cluster.until(() => told(sink, 'VOICE_STATE_UPDATE').length === 1, 'the call');
    await cluster.pass(500);
    const orphaned = cluster.kill(cluster.instance(2));
    await cluster.adopt(cluster.instance(1), orphaned);
    const call = () => cluster.instance(1).privateChannels.peek(channelId)?.isBusy === true;
    await cluster.until(call, 'the call at the next owner');
    expect(sink.names).not.toContain('CALL_DELETE');
    session.ask({ name: 'voiceState', input: { ...nowhere, guildId: null, channelId: null } });
    await cluster.until(() => sink.names.includes('CALL_DELETE'), 'the end');
    await cluster.pass(500);
    expect(await wait(cluster.storage.cluster.snapshot(channelId))).toBeNull();
  });
});

describe('a running activity', () => {
  it('survives the death of its guild’s owner shard, is listed at every shard, and expires at the next owner', async () => {
    await open();
    const { ownerId, ownerToken, guildId } = await cluster.found();
    const { id: applicationId } = await game();
    await wait(
      at(0).operator.configureActivity({
        applicationId,
        urlMappings: [{ prefix: '/', target: '127.0.0.1:9' }],
      }),
    );
    const guest = await person();
    await wait(at(0).operator.addMember({ guildId, userId: guest.userId, permissions: 0n }));
    const first = cluster.ownerOf(guildId);
    const watching = cluster.strangerTo(guildId);
    const sink = await connect(watching, ownerToken);
    await cluster.until(() => sink.names.includes('GUILD_CREATE'), 'the guild');
    const [{ channels }] = told<{ channels: { id: ChannelId; type: number }[] }>(sink, 'GUILD_CREATE') as [
      never,
    ];
    const channelId = (channels as { id: ChannelId; type: number }[]).find(({ type }) => type === 2)!.id;
    const place = { ownerId: guildId, guildId, channelId, userId: ownerId };
    const join = (instance: ClusterInstance, connectionId: string, userId = ownerId) =>
      wait(instance.features.runningActivities.join({ ...place, applicationId, connectionId, userId })).then(
        must,
      );
    /** The numbers of participants that a session at another shard than the owner receives. */
    const shown = () =>
      told<{ participants: readonly object[] }>(sink, 'EMBEDDED_ACTIVITY_UPDATE_V2').map(
        ({ participants }) => participants.length,
      );
    const list = async (instance: ClusterInstance) =>
      must(await wait(instance.features.runningActivities.list(place)));
    await join(watching, 'one');
    const third = cluster.instances.find((instance) => instance !== first && instance !== watching)!;
    const { activity } = await join(third, 'one', guest.userId);
    expect(await list(first)).toEqual([activity]);
    await cluster.until(() => shown().length === 2, 'both participants');
    const orphaned = cluster.kill(first);
    const living = cluster.strangerTo(guildId);
    await cluster.adopt(living, orphaned);
    for (const instance of cluster.instances)
      if (instance !== first) expect(await list(instance)).toEqual([activity]);
    expect((await join(living, 'one')).activity).toEqual(activity);
    expect((await join(third, 'one', guest.userId)).activity).toEqual(activity);
    // Without a renewal the new owner ends it.
    await cluster.pass(2 * ACTIVITY_LEASE_MS);
    expect(await list(living)).toEqual([]);
    expect(shown().slice(0, 2)).toEqual([1, 2]);
    expect(shown().at(-1)).toBe(0);
    expect(await wait(cluster.storage.activities.ofOwner(guildId))).toEqual([]);
  });
});

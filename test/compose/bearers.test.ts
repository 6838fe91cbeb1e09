// Goal: a session of an OAuth2 token receives no guild, shows its user in the game, and is closed when the token is revoked.
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { ALL_INTENTS } from '../../protocol/intents.ts';
import type { Scope } from '../../protocol/scopes.ts';
import { openInstance, RecordingSink, until } from '../support/instance.ts';

const CONNECT = ['identify', 'gateway.connect'] as const;
const WEEK_MS = 604_800_000;

let instance: Awaited<ReturnType<typeof openInstance>>;
beforeAll(async () => (await openInstance()).close(), 60_000);
afterEach(() => instance.close());

/** A game, and the owner of the instance's guild who has let it act. */
async function play(scopes: readonly Scope[] = ['sdk.social_layer']) {
  instance = await openInstance();
  const { application } = await instance.operator.createApplication({ name: 'Game' });
  const applicationId = application.id as ApplicationId;
  const order = { userId: instance.ownerId, applicationId, refreshable: false };
  const issue = async (granted = scopes) =>
    (await instance.features.oauth.issue({ ...order, scopes: granted })).accessToken.reveal();
  return { applicationId, token: await issue(), issue };
}

async function identify(token: string, capabilities = 0) {
  const sink = new RecordingSink();
  const asked = { shard: [0, 1], largeThreshold: 50, presence: null, version: 10 } as const;
  const outcome = await instance.sessions.identify(
    { ...asked, token, intents: ALL_INTENTS, capabilities },
    sink,
  );
  return { sink, outcome };
}

/** Until nothing that was begun waits for the database any more. */
const quiet = async () => {
  await instance.storage.writer.flush();
  for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
};

describe('a session of an OAuth2 token', () => {
  it('receives its application and its user, and no guild that its user is in or joins', async () => {
    const { token, applicationId } = await play();
    const { sink } = await identify(token);
    expect(sink.dispatches[0]?.d).toMatchObject({
      session_type: 'oauth',
      user: { id: instance.ownerId },
      application: { id: applicationId, name: 'Game', parent_id: null },
      guilds: [],
      relationships: [],
      private_channels: [],
    });
    const bot = await instance.connect();
    await until(() => bot.sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    const authority = { ...SYSTEM, by: { ...SYSTEM.by, userId: instance.ownerId } };
    await instance.guilds.call(instance.guildId, 'updateGuild', { draft: { name: 'New' } }, authority);
    await instance.operator.createGuild({ name: 'Other', ownerId: instance.ownerId });
    await quiet();
    expect(bot.sink.names).toContain('GUILD_UPDATE');
    expect(sink.names).toEqual(['READY']);
  });

  it('shows its user online in client_status.embedded until it ends', async () => {
    const { token } = await play();
    const bot = await instance.connect();
    await until(() => bot.sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    const shown = () =>
      bot.sink.dispatches.flatMap(({ t, d }) =>
        t === 'PRESENCE_UPDATE' && (d as { user: { id: string } }).user.id === instance.ownerId
          ? [(d as { client_status: object }).client_status]
          : [],
      );
    const social = vi.spyOn(instance.features.social, 'presented');
    const { outcome, sink } = await identify(token);
    await until(() => shown().length === 1, 'the presence');
    if (outcome.kind === 'open') outcome.session.detach(sink, false);
    await until(() => shown().length === 2, 'the end of it');
    expect(shown()).toEqual([{ embedded: 'online' }, {}]);
    expect(social.mock.calls).toMatchObject([
      [instance.ownerId, { client_status: { embedded: 'online' } }],
      [instance.ownerId, null],
    ]);
  });

  it('connects to its lobbies when it opens and disconnects when it ends, only with the scope for lobbies', async () => {
    const { token, issue } = await play();
    const opened = vi.spyOn(instance.features.lobbies, 'opened').mockResolvedValue([{ id: '5' }]);
    const ended = vi.spyOn(instance.features.lobbies, 'ended');
    const { sink, outcome } = await identify(token);
    await until(() => sink.names.includes('LOBBY_CREATE'), 'LOBBY_CREATE');
    expect(sink.names).toEqual(['READY', 'LOBBY_CREATE']);
    if (outcome.kind === 'open') outcome.session.detach(sink, false);
    await quiet();
    expect(opened).toHaveBeenCalledOnce();
    expect(ended).toHaveBeenCalledExactlyOnceWith(opened.mock.calls[0]?.[0]);
    const plain = await identify(await issue(CONNECT));
    await quiet();
    expect(plain.sink.names).toEqual(['READY']);
    expect(opened).toHaveBeenCalledOnce();
  });

  it('receives OAUTH2_TOKEN_REVOKE and is closed when its token is revoked, which then opens no session', async () => {
    const { token, applicationId } = await play();
    const { sink, outcome } = await identify(token);
    const own = await instance.connect((await instance.identity.issue(instance.ownerId, 'user')).reveal());
    await instance.features.oauth.deauthorize(instance.ownerId, applicationId);
    expect(sink.names).toEqual(['READY', 'OAUTH2_TOKEN_REVOKE']);
    expect(JSON.stringify(sink.dispatches[1]?.d)).not.toContain(token);
    expect(sink.closed?.code).toBe(4004);
    expect(own.sink.closed).toBeNull();
    expect((await identify(token)).outcome).toMatchObject({ kind: 'closed', code: 4004 });
    if (outcome.kind !== 'open') throw new Error('never open');
    const resumed = await instance.sessions.resume(
      { token, sessionId: outcome.session.id, seq: 1 },
      new RecordingSink(),
    );
    expect(resumed).toMatchObject({ kind: 'closed', code: 4004 });
  });

  it('stays open when its token expires, which then opens no session', async () => {
    const { token } = await play();
    const { sink } = await identify(token);
    instance.clock.advance(WEEK_MS);
    expect(sink.closed).toBeNull();
    expect((await identify(token)).outcome).toMatchObject({ kind: 'closed', code: 4004 });
  });

  it('receives USER_UPDATE when its user changes', async () => {
    const { token } = await play();
    const { sink } = await identify(token);
    await instance.users.update(instance.ownerId as UserId, { global_name: 'Renamed' });
    await until(() => sink.names.includes('USER_UPDATE'), 'USER_UPDATE');
  });
});

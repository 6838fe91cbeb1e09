// Goal: a session of an OAuth2 token receives no guild, shows its user in the game, and is closed when the token is revoked.
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { ALL_INTENTS } from '../../protocol/intents.ts';
import type { Scope } from '../../protocol/scopes.ts';
import { openHouse, RecordingSink, until } from '../support/house.ts';

const CONNECT = ['identify', 'gateway.connect'] as const;
const WEEK_MS = 604_800_000;

let house: Awaited<ReturnType<typeof openHouse>>;
beforeAll(async () => (await openHouse()).close(), 60_000);
afterEach(() => house.close());

/** A game, and the owner of the house's guild who has let it act. */
async function play(scopes: readonly Scope[] = ['sdk.social_layer']) {
  house = await openHouse();
  const { application } = await house.operator.createApplication({ name: 'Game' });
  const applicationId = application.id as ApplicationId;
  const order = { userId: house.ownerId, applicationId, refreshable: false };
  const issue = async (granted = scopes) =>
    (await house.features.oauth.issue({ ...order, scopes: granted })).accessToken.reveal();
  return { applicationId, token: await issue(), issue };
}

async function identify(token: string, capabilities = 0) {
  const sink = new RecordingSink();
  const asked = { shard: [0, 1], largeThreshold: 50, presence: null, version: 10 } as const;
  const outcome = await house.sessions.identify(
    { ...asked, token, intents: ALL_INTENTS, capabilities },
    sink,
  );
  return { sink, outcome };
}

/** Until nothing that was begun waits for the database any more. */
const quiet = async () => {
  await house.storage.writer.flush();
  for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
};

describe('a session of an OAuth2 token', () => {
  it('receives its application and its user, and no guild that its user is in or joins', async () => {
    const { token, applicationId } = await play();
    const { sink } = await identify(token);
    expect(sink.dispatches[0]?.d).toMatchObject({
      session_type: 'oauth',
      user: { id: house.ownerId },
      application: { id: applicationId, name: 'Game', parent_id: null },
      guilds: [],
      relationships: [],
      private_channels: [],
    });
    const bot = await house.connect();
    await until(() => bot.sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    const authority = { ...SYSTEM, by: { ...SYSTEM.by, userId: house.ownerId } };
    await house.guilds.call(house.guildId, 'updateGuild', { draft: { name: 'New' } }, authority);
    await house.operator.createGuild({ name: 'Other', ownerId: house.ownerId });
    await quiet();
    expect(bot.sink.names).toContain('GUILD_UPDATE');
    expect(sink.names).toEqual(['READY']);
  });

  it('shows its user online in client_status.embedded until it ends', async () => {
    const { token } = await play();
    const bot = await house.connect();
    await until(() => bot.sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    const shown = () =>
      bot.sink.dispatches.flatMap(({ t, d }) =>
        t === 'PRESENCE_UPDATE' && (d as { user: { id: string } }).user.id === house.ownerId
          ? [(d as { client_status: object }).client_status]
          : [],
      );
    const social = vi.spyOn(house.features.social, 'presented');
    const { outcome, sink } = await identify(token);
    await until(() => shown().length === 1, 'the presence');
    if (outcome.kind === 'open') outcome.session.detach(sink, false);
    await until(() => shown().length === 2, 'the end of it');
    expect(shown()).toEqual([{ embedded: 'online' }, {}]);
    expect(social.mock.calls).toMatchObject([
      [house.ownerId, { client_status: { embedded: 'online' } }],
      [house.ownerId, null],
    ]);
  });

  it('connects to its lobbies when it opens and disconnects when it ends, only with the scope for lobbies', async () => {
    const { token, issue } = await play();
    const opened = vi.spyOn(house.features.lobbies, 'opened').mockResolvedValue([{ id: '5' }]);
    const ended = vi.spyOn(house.features.lobbies, 'ended');
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
    const own = await house.connect((await house.identity.issue(house.ownerId, 'user')).reveal());
    await house.features.oauth.deauthorize(house.ownerId, applicationId);
    expect(sink.names).toEqual(['READY', 'OAUTH2_TOKEN_REVOKE']);
    expect(JSON.stringify(sink.dispatches[1]?.d)).not.toContain(token);
    expect(sink.closed?.code).toBe(4004);
    expect(own.sink.closed).toBeNull();
    expect((await identify(token)).outcome).toMatchObject({ kind: 'closed', code: 4004 });
    if (outcome.kind !== 'open') throw new Error('never open');
    const resumed = await house.sessions.resume(
      { token, sessionId: outcome.session.id, seq: 1 },
      new RecordingSink(),
    );
    expect(resumed).toMatchObject({ kind: 'closed', code: 4004 });
  });

  it('stays open when its token expires, which then opens no session', async () => {
    const { token } = await play();
    const { sink } = await identify(token);
    house.clock.advance(WEEK_MS);
    expect(sink.closed).toBeNull();
    expect((await identify(token)).outcome).toMatchObject({ kind: 'closed', code: 4004 });
  });

  it('receives USER_UPDATE when its user changes', async () => {
    const { token } = await play();
    const { sink } = await identify(token);
    await house.users.update(house.ownerId as UserId, { global_name: 'Renamed' });
    await until(() => sink.names.includes('USER_UPDATE'), 'USER_UPDATE');
  });
});

// Goal: the engine keeps its promises to the program that embeds it: every operation, hooks, dispatches, its own world, and a clean end.
import { connect } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it, vi } from 'vitest';
import { snowflakeSource } from '../actors/runtime/snowflakes.ts';
import type { Engine, OperationId, UploadedImage } from '../embedding.ts';
import { ApiError, createEngine } from '../main.ts';
import { reserveUdpPort } from '../media/webrtc/reservation.ts';
import { EPOCH_MS, type GuildId, type UserId } from '../protocol/ids.ts';
import type { Refusal } from '../protocol/refusal.ts';
import { openMemoryBlobs } from '../storage/blob/blobs.memory.ts';
import { openStorage } from '../storage/open.ts';
import type { Storage } from '../storage/ports.ts';
import { createTestEngine, VirtualClock } from '../testing.ts';
import { attachmentKey } from '../transports/rest/image.ts';
import { OPERATIONS } from '../transports/rest/operations.generated.ts';
import { unlisted } from '../transports/rest/resources/index.ts';
import { pngOf } from './support/media.ts';

const START_MS = 1_750_000_000_000;

/** A guild with an owner and a text channel. */
async function world(engine: Engine) {
  const { user, token } = await engine.admin.createUser({ username: 'owner' });
  const ownerId = user.id as UserId;
  const guild = await engine.admin.createGuild({ name: 'Test', ownerId });
  const guildId = guild.id as GuildId;
  const channels = await engine.api.list_guild_channels!({ params: { guild_id: guildId } }, { as: ownerId });
  const { id: channelId } = (channels as { id: string; type: number }[]).find(({ type }) => type === 0)!;
  const say = (content: string, as: string = ownerId) =>
    engine.api.create_message!({ params: { channel_id: channelId }, body: { content } }, { as }) as Promise<{
      id: string;
      content: string;
      timestamp: string;
    }>;
  return { ownerId, token, guildId, channelId, say };
}

const refusalOf = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error: unknown) => (error instanceof ApiError ? error.refusal : Promise.reject(error)),
  );

let storage: Storage;
let clock: VirtualClock;
let engine: Engine;
let here: Awaited<ReturnType<typeof world>>;
const blobs = openMemoryBlobs();
const logged: string[] = [];

beforeAll(async () => {
  storage = await openStorage();
  clock = new VirtualClock(START_MS);
  const logger = pino({ level: 'error' }, { write: (line: string) => void logged.push(line) });
  const ids = snowflakeSource(clock, { number: 7 });
  const nextId = (): string => ids();
  const randomBytes = (size: number) => new Uint8Array(size).fill(7);
  // People of these tests need not know each other to write.
  const config = { direct_messages_from: 'everyone' } as const;
  ({ engine } = await createTestEngine({ clock, storage, blobs, logger, nextId, randomBytes, config }));
  here = await world(engine);
}, 60_000);
afterAll(() => engine.close());

describe('operations', () => {
  it('are all there by name, and all are built', async () => {
    const names = OPERATIONS.map((line) => line.split(' ', 1)[0] as string);
    expect(Object.keys(engine.api).sort()).toEqual([...names, ...Object.keys(unlisted)].sort());
    const { ownerId } = here;
    const byName = engine.api as unknown as Record<string, (call: object, by: object) => Promise<unknown>>;
    const answers = await Promise.all(
      names.map((name) => refusalOf(byName[name]!({}, { as: ownerId })).catch((error) => ({ name, error }))),
    );
    expect(answers.filter((answer) => answer !== null && 'error' in answer)).toEqual([]);
    const unbuilt = names.filter((name, index) =>
      (answers[index] as Refusal | null)?.message.includes(`the operation ${name} yet`),
    );
    expect(unbuilt).toEqual([]);
  });

  it('know their caller, refuse as over HTTP, and are not limited', async () => {
    for (let count = 0; count < 20; count += 1) await here.say(`number ${count}`);
    expect(await refusalOf(here.say('nobody', null as never))).toMatchObject({ status: 401 });
    expect(await refusalOf(here.say(''))).toMatchObject({ status: 400, code: 50006 });
    await expect(here.say('x', 'not an id')).rejects.toThrow(RangeError);
    await expect(here.say('x', '404')).rejects.toThrow('404');
  });

  it('reveal nothing of a private channel to strangers, not even that it exists', async () => {
    const { user } = await engine.admin.createUser({ username: 'stranger' });
    const { user: friend } = await engine.admin.createUser({ username: 'confidant' });
    const call = { body: { recipient_id: friend.id } };
    const { id } = (await engine.api.create_dm!(call, { as: here.ownerId })) as { id: string };
    const params = { channel_id: id };
    for (const [name, body] of [
      ['get_channel', undefined],
      ['update_channel', { name: 'mine' }],
      ['create_message', { content: 'hello' }],
      ['create_channel_invite', {}],
    ] as const) {
      const answer = await refusalOf(engine.api[name]({ params, body } as never, { as: user.id }));
      expect(answer, name).toMatchObject({ status: 404, code: 10003 });
    }
    const closing = engine.api.delete_channel!({ params }, { as: user.id });
    expect(await refusalOf(closing)).toMatchObject({ code: 10003 });
    const own = engine.api.update_channel!({ params, body: { name: 'ours' } }, { as: friend.id });
    expect(await refusalOf(own)).toMatchObject({ code: 50003 });
  });

  it('close a private channel for the caller alone, who may open it again', async () => {
    const { user } = await engine.admin.createUser({ username: 'penfriend' });
    const open = () => engine.api.create_dm!({ body: { recipient_id: user.id } }, { as: here.ownerId });
    const { id } = (await open()) as { id: string };
    const params = { channel_id: id };
    await engine.api.create_message!({ params, body: { content: 'dear' } }, { as: here.ownerId });
    const closed = await engine.api.delete_channel!({ params }, { as: here.ownerId });
    expect(closed).toMatchObject({ id, type: 1, recipients: [{ id: user.id }] });
    const letters = await engine.api.list_messages!({ params }, { as: user.id });
    expect(letters).toMatchObject([{ content: 'dear' }]);
    expect(await open()).toMatchObject({ id });
  });

  it('carry the reason to the audit log', async () => {
    const { guildId, ownerId } = here;
    const params = { guild_id: guildId };
    const call = { params, body: { name: 'Renamed' } };
    await engine.api.update_guild!(call, { as: ownerId, reason: 'a new coat' });
    const log = await engine.api.list_guild_audit_log_entries!({ params }, { as: ownerId });
    expect(log).toMatchObject({ audit_log_entries: [{ reason: 'a new coat' }] });
  });
});

describe('files', () => {
  type Shown = {
    id: string;
    attachments: { id: string; url: string }[];
    embeds: { image?: { url: string } }[];
  };
  const post = async (as: string, body: object, names: readonly string[] = []) => {
    const files = names.map((filename, at) => ({
      field: `files[${at}]`,
      filename,
      contentType: 'text/plain',
      bytes: Buffer.from(filename),
    }));
    const call = { params: { channel_id: here.channelId }, body, files };
    return (await engine.api.create_message(call, { as })) as unknown as Shown & {
      message_snapshots: { message: Shown }[];
    };
  };
  const stored = async ({ url }: { url: string }) => {
    const [, channelId, id, filename] = /attachments\/(\d+)\/(\d+)\/([^?]+)/.exec(url) as string[];
    return (await blobs.head(attachmentKey(channelId!, id!, filename!))) !== null;
  };
  const remove = (message: { id: string }) =>
    engine.api.delete_message!(
      { params: { channel_id: here.channelId, message_id: message.id } },
      { as: here.ownerId },
    );

  it('go with the message that shows them, however it goes, and no sooner', async () => {
    const picture = [{ image: { url: 'attachment://map.png' } }];
    const message = await post(here.ownerId, { embeds: picture }, ['a.txt', 'b.txt', 'map.png']);
    expect(message).not.toHaveProperty('files');
    const [a, b] = message.attachments as [{ id: string; url: string }, { id: string; url: string }];
    const map = message.embeds[0]!.image!;
    const params = { channel_id: here.channelId, message_id: message.id };
    const edit = (body: object) => engine.api.update_message!({ params, body }, { as: here.ownerId });
    expect(await edit({ attachments: [{ id: b.id }] })).not.toHaveProperty('files');
    await vi.waitFor(async () => expect(await stored(a)).toBe(false));
    expect([await stored(b), await stored(map)]).toEqual([true, true]);
    await edit({ embeds: [] });
    await vi.waitFor(async () => expect(await stored(map)).toBe(false));
    // Someone else's link to the file makes it no file of theirs.
    await remove(
      await post(here.ownerId, { embeds: [{ image: { url: b.url.replace(/^http:/, 'https:') } }] }),
    );
    await storage.writer.flush();
    expect(await stored(b)).toBe(true);
    await remove(message);
    await vi.waitFor(async () => expect(await stored(b)).toBe(false));
  });

  it('are not kept for a message that repeats one', async () => {
    const body = { nonce: 'once', enforce_nonce: true };
    const keys: string[] = [];
    const { put } = blobs;
    blobs.put = (key, bytes, type) => {
      keys.push(key);
      return put(key, bytes, type);
    };
    const first = await post(here.ownerId, body, ['a.txt']);
    const again = await post(here.ownerId, body, ['a.txt']);
    blobs.put = put;
    expect(again.id).toBe(first.id);
    const kept = await Promise.all(keys.map(async (key) => (await blobs.head(key)) !== null));
    expect(kept).toEqual([true, false]);
  });

  it('are copied by a forward, which outlives what it forwards', async () => {
    const picture = [{ image: { url: 'attachment://map.png' } }];
    const first = await post(here.ownerId, { embeds: picture }, ['a.txt', 'map.png']);
    const reference = (id: string) => ({
      message_reference: { type: 1, message_id: id, channel_id: here.channelId },
    });
    const second = await post(here.ownerId, reference(first.id));
    const third = await post(here.ownerId, reference(second.id));
    const linksOf = ({ attachments, embeds }: Shown) => [attachments[0]!, embeds[0]!.image!];
    const [one, two, three] = [
      first,
      second.message_snapshots[0]!.message,
      third.message_snapshots[0]!.message,
    ].map(linksOf);
    expect(new Set([one, two, three].flat().map((link) => link!.url.split('?')[0])).size).toBe(6);
    const all = async (links = one!) => Promise.all(links.map(stored));
    await remove(first);
    await vi.waitFor(async () => expect(await all(one)).toEqual([false, false]));
    expect(await all(two)).toEqual([true, true]);
    await remove(second);
    await vi.waitFor(async () => expect(await all(two)).toEqual([false, false]));
    expect(await all(three)).toEqual([true, true]);
    await remove(third);
    await vi.waitFor(async () => expect(await all(three)).toEqual([false, false]));
  });
});

describe('hooks', () => {
  it('refuse unknown names with the nearest one, as listeners do, and do not compile with them', () => {
    expectTypeOf<'create_mesage'>().not.toExtend<OperationId>();
    expectTypeOf<'create_message' | 'create_or_join_lobby'>().toExtend<Parameters<Engine['before']>[0]>();
    expectTypeOf<'LOBBY_MEMBER_ADD' | 'MESSAGE_CREATE'>().toExtend<Parameters<Engine['on']>[0]>();
    expectTypeOf<'MESAGE_CREATE'>().not.toExtend<Parameters<Engine['on']>[0]>();
    const misspelt = 'create_mesage' as OperationId;
    const said = 'Unknown operation: "create_mesage". Did you mean "create_message"?';
    expect(() => engine.before(misspelt, () => undefined)).toThrow(said);
    expect(() => engine.after(misspelt, () => undefined)).toThrow(said);
    expect(() => engine.on('LOBY_CREATE' as 'LOBBY_CREATE', () => {})).toThrow(
      'Did you mean "LOBBY_CREATE"?',
    );
    for (const [name, said] of [
      ['message_create', 'Did you mean "MESSAGE_CREATE"?'],
      ['Mesage_Create', 'Did you mean "MESSAGE_CREATE"?'],
    ] as const)
      expect(() => engine.on(name as 'MESSAGE_CREATE', () => {})).toThrow(said);
    expect(() => engine.before('CREATE_MESSAGE' as OperationId, () => undefined)).toThrow('"create_message"');
    expect(() => engine.before('x'.repeat(5_000) as OperationId, () => undefined)).toThrow(RangeError);
    engine.on('LOBBY_CREATE', () => {})();
  });

  it('rewrite a call before, and its answer after, until they are taken out', async () => {
    const removeBefore = engine.before('create_message', async ({ body, callerId }) => ({
      body: { ...(body as object), content: `${callerId === here.ownerId ? 'owner' : '?'}: rewritten` },
    }));
    const removeAfter = engine.after('create_message', (_call, { status, body }) => ({
      status,
      body: { ...(body as object), seen: true },
    }));
    expect(await here.say('x')).toMatchObject({ content: 'owner: rewritten', seen: true });
    removeBefore();
    removeAfter();
    expect(await here.say('plain')).toMatchObject({ content: 'plain' });
    expect(await here.say('plain')).not.toHaveProperty('seen');
  });

  it('change nothing when they only look', async () => {
    const seen: unknown[] = [];
    const removed = [
      engine.before('create_message', ({ body }) => void seen.push(body.content)),
      engine.after('create_message', async (_call, { status }) => {
        seen.push(status);
      }),
    ];
    expect(await here.say('looked at')).toMatchObject({ content: 'looked at' });
    for (const remove of removed) remove();
    expect(seen).toEqual(['looked at', 200]);
  });

  it('refuse, and what they rewrite is checked like any request', async () => {
    const refuse = { status: 403, code: 20_000, message: 'Not today.' };
    const remove = engine.before('create_message', ({ body }) =>
      (body as { content: string }).content === 'no' ? { refuse } : { body: { content: 'x'.repeat(2_001) } },
    );
    expect(await refusalOf(here.say('no'))).toMatchObject(refuse);
    expect(await refusalOf(here.say('long'))).toMatchObject({ code: 50035 });
    remove();
  });
});

describe('dispatches', () => {
  it('are received once each, with their guild, for any recipients', async () => {
    const heard: unknown[] = [];
    const stop = engine.on('MESSAGE_CREATE', (d, { guildId }) =>
      heard.push([(d as { content: string }).content, guildId]),
    );
    const opened: unknown[] = [];
    const stopOpened = engine.on('CHANNEL_CREATE', (d) => opened.push((d as { id: string }).id));
    const { user } = await engine.admin.createUser({ username: 'friend' });
    await here.say('one');
    const dm = (await engine.api.create_dm!({ body: { recipient_id: user.id } }, { as: here.ownerId })) as {
      id: string;
    };
    const call = { params: { channel_id: dm.id }, body: { content: 'private' } };
    await engine.api.create_message!(call, { as: here.ownerId });
    stop();
    stopOpened();
    await here.say('two');
    // Each of the two people gets a view of their own.
    expect(opened).toEqual([dm.id, dm.id]);
    expect(heard).toEqual([
      ['one', here.guildId],
      ['private', null],
    ]);
  });

  it('report once a guild that the operator makes, as its owner sees it', async () => {
    const heard: unknown[] = [];
    const stop = engine.on('GUILD_CREATE', (d, { guildId }) => heard.push({ ...(d as object), guildId }));
    const { id } = await engine.admin.createGuild({ name: 'New', ownerId: here.ownerId });
    stop();
    await engine.admin.createGuild({ name: 'Unheard', ownerId: here.ownerId });
    const members = [{ user: { id: here.ownerId } }];
    expect(heard).toMatchObject([
      { id, guildId: id, name: 'New', member_count: 1, members, unavailable: false },
    ]);
    expect((heard[0] as { channels: unknown[] }).channels.length).toBeGreaterThan(0);
  });

  it('reach every listener, also behind one that throws; the guild does not mind', async () => {
    let heard = 0;
    const stops = [
      engine.on('MESSAGE_CREATE', () => {
        throw new Error('planted');
      }),
      engine.on('MESSAGE_CREATE', () => void heard++),
    ];
    await here.say('still fine');
    for (const stop of stops) stop();
    expect(heard).toBe(1);
    expect(logged.join()).toContain('planted');
  });
});

describe('a world of its own', () => {
  it('takes time, ids, chance, storage and log from the program', async () => {
    clock.advance(5_000);
    const { id, timestamp } = await here.say('now');
    expect(Date.parse(timestamp)).toBe(clock.now());
    expect(Number(BigInt(id) >> 22n) + EPOCH_MS).toBe(clock.now());
    expect((BigInt(id) >> 12n) & 1023n).toBe(7n);
    const made = await engine.admin.createApplication({ name: 'Bot' });
    expect(Buffer.from(made.clientSecret, 'base64url').every((byte) => byte === 7)).toBe(true);
    const { channelId, guildId } = here;
    const stored = await storage.messages.get(guildId, [{ channelId, id } as never]);
    expect(stored).toMatchObject([{ content: 'now' }]);
  });

  it('shares nothing with another engine of the same process', async () => {
    const { engine: other } = await createTestEngine();
    const there = await world(other);
    const heard: string[] = [];
    engine.on('MESSAGE_CREATE', () => heard.push('here'));
    other.on('MESSAGE_CREATE', () => heard.push('there'));
    await there.say('hello');
    expect(heard).toEqual(['there']);
    await expect(here.say('x', there.ownerId)).rejects.toThrow(RangeError);
    const call = { params: { guild_id: there.guildId } };
    expect(await refusalOf(engine.api.get_guild!(call, { as: here.ownerId }))).toMatchObject({ code: 10004 });
    const urls = await Promise.all([engine.listen(), other.listen()]);
    expect(new Set(urls.map(({ api }) => api)).size).toBe(2);
    for (const { voice } of urls)
      await expect(reserveUdpPort('127.0.0.1', voice?.webrtcPort)).rejects.toThrow('EADDRINUSE');
    const texts = await Promise.all(urls.map(async ({ api }) => (await fetch(`${api}/v10/gateway`)).json()));
    expect(texts).toEqual(urls.map(({ gateway }) => ({ url: gateway })));
    await other.drain();
    await other.close();
    await here.say('unharmed');
  }, 60_000);
});

describe('a refusal', () => {
  it('names the field and the reason in the message of its error', async () => {
    const taken = engine.admin.createUser({ username: 'owner' });
    await expect(taken).rejects.toThrow(/\(50035\): username: This name is taken\. Try another\.$/);
  });
});

describe('a wrong option', () => {
  it.each<[object, RegExp]>([
    [
      { config: { listen_prot: 0 } },
      /^listen_prot in the config of createEngine.+ Did you mean listen_port\?$/,
    ],
    [{ config: { listen_port: 'abc' } }, /^listen_port .+ is "abc"; it must be a whole number from 0/],
    [{ config: { listen_port: 10n } }, /^listen_port .+ is 10; it must be a whole number/],
    [{ config: { listen_port: Number.NaN } }, /^listen_port .+ is NaN; it must be/],
    [{ config: { voice: 'yes' } }, /^voice .+ must be true or false/],
    [{ config: { log_level: 'loud' } }, /^log_level .+ is "loud"; it must be one of silent, /],
    [{ config: { upload_bytes_max: 26 << 20 } }, /no such file could arrive/],
    [{ config: { listen_prot: 0, log_level: 'loud' } }, /listen_port\?\nlog_level/],
    [{ confg: {} }, /^confg is not an option of createEngine\. Did you mean config\?$/],
    [{ wholly: 'unlike' }, /^wholly .+ Options are config, clock, /],
  ])('%o is refused with its name before anything is opened', async (options, message) => {
    const made = createEngine(options).then((wrong) => wrong.close());
    await expect(made).rejects.toThrow(RangeError);
    await expect(made).rejects.toThrow(message);
  });

  it('an option that is undefined keeps its default', async () => {
    const config = { listen_port: 0, log_level: 'silent', voice: undefined } as const;
    const { config: used, close } = await createEngine({ config: config as object, mailer: undefined! });
    expect(used.voice).toBe(true);
    await close();
  }, 60_000);
});

describe('the end', () => {
  it('closes the port and the database, however often it is asked for', async () => {
    const handlers = () => process.listenerCount('SIGTERM') + process.listenerCount('uncaughtException');
    const before = handlers();
    const ending = await createEngine({ config: { listen_port: 0, log_level: 'silent' } });
    const { say } = await world(ending);
    const { api } = await ending.listen();
    expect(await ending.unready()).toEqual({});
    expect(handlers()).toBe(before);
    await say('last words');
    await ending.drain();
    await Promise.all([ending.close(), ending.close()]);
    await expect(say('too late')).rejects.toThrow();
    const refused = new Promise((resolve) => {
      const socket = connect(Number(new URL(api).port), '127.0.0.1');
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
      socket.on('connect', () => resolve('connected'));
    });
    expect(await refused).toBe('ECONNREFUSED');
  }, 60_000);
});

describe('an image that the program calls explicit', () => {
  it('is refused with 20009 where the filter of the guild covers its author, and is not kept', async () => {
    const shown: string[] = [];
    const isExplicit = ({ filename, contentType }: UploadedImage) => {
      shown.push(`${filename} ${contentType}`);
      return filename === 'bare.png';
    };
    const own = openMemoryBlobs();
    const { engine: judging } = await createTestEngine({
      storage: await openStorage(),
      blobs: own,
      isExplicit,
    });
    const { guildId, channelId, ownerId } = await world(judging);
    const params = { channel_id: channelId };
    const send = (name: string, bytes: Uint8Array = pngOf(8, 8)) =>
      refusalOf(
        judging.api.create_message!(
          {
            ...{ params, body: { content: 'look' } },
            files: [{ field: 'files[0]', filename: name, contentType: 'image/png', bytes }],
          },
          { as: ownerId },
        ),
      );
    const filter = (explicit_content_filter: 0 | 1 | 2) =>
      judging.api.update_guild!(
        { params: { guild_id: guildId }, body: { explicit_content_filter } },
        { as: ownerId },
      );
    expect(await send('bare.png')).toBeNull();
    for (const level of [1, 2] as const) {
      await filter(level);
      expect(await send('bare.png')).toMatchObject({ code: 20009, status: 403 });
      expect(await send('boat.png')).toBeNull();
    }
    expect(await send('bare.png', Buffer.from('no image'))).toBeNull();
    expect(new Set(shown)).toEqual(new Set(['bare.png image/png', 'boat.png image/png']));
    await judging.close();
  });
});

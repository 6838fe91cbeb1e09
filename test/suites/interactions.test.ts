// Goal: interactions are stored as the last commit left them, until their tokens end, on every database.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { changeOf, type Interaction } from '../../engine/interaction/interaction.ts';
import type { ApplicationId, ChannelId, GuildId, MessageId, UserId } from '../../protocol/ids.ts';
import { INTERACTION } from '../../protocol/interactions.ts';
import { commit, id, user } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const [GUILD, CHANNEL, MESSAGE] = [id<GuildId>(1), id<ChannelId>(10), id<MessageId>(77)];

const interaction = (interactionId: number, more: Partial<Interaction> = {}): Interaction => ({
  ...{
    id: String(interactionId),
    type: INTERACTION.COMMAND,
    ownerId: GUILD,
    guildId: GUILD,
    channelId: CHANNEL,
  },
  ...{ applicationId: id<ApplicationId>(5), botId: id<UserId>(5), author: user('5', { bot: true }) },
  ...{ applicationName: 'Lantern', applicationIcon: null, userId: id<UserId>(9), locales: ['en-GB'] },
  ...{ sessionId: 's', nonce: '1', command: { type: 1, name: 'ping' }, metadata: { id: '1' }, legacy: null },
  ...{
    source: null,
    isInstalledHere: true,
    mentionsEveryone: true,
    forcesEphemeral: false,
    modal: null,
    focused: null,
    files: [],
  },
  ...{ state: { kind: 'waiting' }, followUps: 0, createdMs: 1 },
  ...more,
});
const written = (each: Interaction) => ({ type: 'interactionWritten', interaction: each }) as const;
const changed = (each: Interaction) =>
  ({ type: 'interactionChanged', id: each.id, change: changeOf(each) }) as const;

describe.each(databases())('interactions on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  beforeAll(async () => {
    fresh = await openFresh(kind);
  });
  afterAll(() => fresh.close());

  test('are read by owner and id as the last change left them', async () => {
    const { interactions: store, writer } = fresh.storage;
    const first = interaction(101);
    await commit(writer, GUILD, written(first), written(interaction(102)));
    expect(await store.get(GUILD, '101')).toEqual(first);
    expect(await store.get('2', '101')).toBeNull();
    const answering = { kind: 'answering', messageId: MESSAGE, isLoading: true } as const;
    const answered = {
      kind: 'answered',
      original: { messageId: MESSAGE, isEphemeral: false },
      isLoading: false,
    } as const;
    // One transaction changes one row twice: the last change counts.
    await commit(
      writer,
      GUILD,
      changed({ ...first, state: answering }),
      changed({ ...first, state: answered, followUps: 2, modal: { title: 'Form' } as never }),
    );
    expect(await store.get(GUILD, '101')).toEqual({
      ...first,
      ...{ state: answered, followUps: 2, modal: { title: 'Form' } },
    });
    await commit(writer, GUILD, changed({ ...first, state: answered }));
    expect(await store.get(GUILD, '101')).toMatchObject({ modal: null, followUps: 0 });
    expect(await store.get(GUILD, '102')).toEqual(interaction(102));
  });

  test('can be changed in the commit that creates them, and unknown interactions are not changed', async () => {
    const { interactions: store, writer } = fresh.storage;
    const begun = interaction(201);
    await commit(
      writer,
      GUILD,
      changed({ ...begun, followUps: 3 }),
      written(begun),
      changed(interaction(299)),
    );
    expect(await store.get(GUILD, '201')).toMatchObject({ followUps: 3 });
    expect(await store.get(GUILD, '299')).toBeNull();
  });

  test('are deleted oldest first when their tokens end, and are listed until then', async () => {
    const { interactions: store, writer } = fresh.storage;
    for (const each of [301, 303, 302]) await commit(writer, GUILD, written(interaction(each)));
    const idsOf = (all: readonly Interaction[]) => all.map((each) => each.id);
    expect(idsOf(await store.since('300', 2))).toEqual(['301', '302']);
    await store.end('301', 100);
    const ended = await store.end('303', 1);
    expect(idsOf(ended.interactions)).toEqual(['301']);
    expect(idsOf(await store.since('300', 10))).toEqual(['302', '303']);
  });
});

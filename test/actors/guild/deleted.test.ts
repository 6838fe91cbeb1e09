// Goal: once the deletion of a guild is decided, no other command of it is decided, however long the command has
// waited for rows; when the deletion is not committed, the guild is served again.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ChannelId, GuildId } from '../../../protocol/ids.ts';
import { GUILD_ID, OWNER_ID } from '../../support/guild.ts';
import { storedMessage } from '../../support/messages.ts';
import { FollowingSession, OwnedGuild, SQUARE, settleAll } from '../../support/ownedguild.ts';

const channelId = SQUARE as ChannelId;
const missing = { ok: false, refusal: expect.objectContaining({ code: 10_004 }) };
const done = { ok: true, value: null };

let guild: OwnedGuild;
beforeEach(() => {
  guild = new OwnedGuild();
});
afterEach(() => {
  expect(guild.faults).toEqual([]);
  guild.close();
});

const read = () => guild.call('getChannel', { channelId });
const remove = (key: string | null = null) => guild.call('deleteGuild', { memberIds: [] }, OWNER_ID, key);
const pending = () => guild.owner.waiting.map(({ facts }) => facts.map(({ type }) => type));

describe('a guild whose deletion is being committed', () => {
  test('refuses members, the server itself and new sessions, and ends when the commit is durable', async () => {
    await read();
    const deletion = remove();
    const settling = guild.call('settleVoice', {}, '0');
    const entering = guild.enter([new FollowingSession('s1', OWNER_ID)]);
    const late = [guild.say(SQUARE, 'late'), read(), settling];
    await settleAll();
    expect(pending()).toEqual([['guildDeleted']]);
    guild.owner.settle();
    expect(await deletion).toEqual(done);
    expect(await Promise.all(late)).toEqual([missing, missing, missing]);
    expect(await entering).toEqual(['gone']);
    expect(guild.owner.registry.peek(GUILD_ID as GuildId)).toBeUndefined();
  });

  test('refuses a command that waited for its rows when the deletion was decided', async () => {
    await read();
    const message = storedMessage(SQUARE, OWNER_ID, {});
    guild.rows.messages.set(message.id, message);
    const pin = guild.call('pinMessage', { channelId, messageId: message.id } as never);
    const deletion = remove();
    await settleAll();
    expect(pending()).toEqual([['guildDeleted']]);
    guild.owner.settle();
    expect(await deletion).toEqual(done);
    expect(await pin).toEqual(missing);
  });

  test('gives the first reply to a deletion that is repeated under its key', async () => {
    await read();
    const both = [remove('key'), remove('key')];
    const other = remove('other');
    await settleAll();
    guild.owner.settle();
    expect(await Promise.all(both)).toEqual([done, done]);
    expect(await other).toEqual(missing);
  });

  test('is not handed over: its owner waits for the commit', async () => {
    await read();
    const deletion = remove();
    await guild.handOver();
    expect(await deletion).toEqual(done);
    expect(guild.rows.snapshot).toBeNull();
  });

  test('is loaded again when the commit fails', async () => {
    await read();
    const deletion = remove();
    const late = read();
    guild.owner.waiting.shift()?.done(new Error('disk'));
    await expect(deletion).rejects.toThrow('disk');
    // The guild was not refused as one that does not exist.
    await expect(late).rejects.toThrow('disk');
    expect(await read()).toMatchObject({ ok: true });
  });
});

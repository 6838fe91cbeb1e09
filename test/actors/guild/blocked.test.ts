// Goal: the facts of a blocked message are durable before its author, or any other user, receives them.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OWNER_ID } from '../../support/guild.ts';
import { ANN, BOB, FollowingSession, OwnedGuild, SQUARE, settleAll } from '../../support/ownedguild.ts';

let guild: OwnedGuild;
beforeEach(() => {
  guild = new OwnedGuild();
});
afterEach(() => {
  expect(guild.faults).toEqual([]);
  guild.close();
});

/** A rule against one word, whose author may not write for a minute. */
async function forbid(): Promise<void> {
  const draft = {
    name: 'words',
    event_type: 1,
    trigger_type: 1,
    enabled: true,
    trigger_metadata: { keyword_filter: ['cat'] },
    actions: [{ type: 1 }, { type: 3, metadata: { duration_seconds: 60 } }],
  } as const;
  const made = guild.call('createAutoModerationRule', { draft }, OWNER_ID);
  await settleAll();
  guild.owner.settle();
  expect(await made).toMatchObject({ ok: true });
}

const heardBy = ({ received }: FollowingSession): string[] => received.map(({ t }) => t);

describe('a blocked message', () => {
  it('is answered and dispatched when its consequences are durable', async () => {
    await forbid();
    const owner = new FollowingSession('s1', OWNER_ID);
    await guild.enter([owner]);
    let answered = false;
    const reply = guild.say(SQUARE, 'a cat', null, BOB).finally(() => {
      answered = true;
    });
    await settleAll();
    expect(answered).toBe(false);
    expect(heardBy(owner)).toEqual(['GUILD_CREATE']);
    guild.owner.settle();
    expect(await reply).toEqual({ ok: false, refusal: expect.objectContaining({ code: 200000 }) });
    expect(heardBy(owner)).toEqual([
      'GUILD_CREATE',
      'GUILD_AUDIT_LOG_ENTRY_CREATE',
      'AUTO_MODERATION_ACTION_EXECUTION',
      'GUILD_MEMBER_UPDATE',
      'GUILD_AUDIT_LOG_ENTRY_CREATE',
      'AUTO_MODERATION_ACTION_EXECUTION',
    ]);
    expect(guild.rows.messages.size).toBe(0);
    expect(await guild.say(SQUARE, 'hello', null, BOB)).toMatchObject({ refusal: { code: 50013 } });
  });

  it('is answered alike when it is sent again, and followed by nothing more', async () => {
    await forbid();
    const first = guild.say(SQUARE, 'a cat', 'k1', ANN);
    await settleAll();
    const second = guild.say(SQUARE, 'a cat', 'k1', ANN);
    await settleAll();
    guild.owner.settle();
    const records = guild.rows.records.length;
    const third = await guild.say(SQUARE, 'a cat', 'k1', ANN);
    expect(third).toMatchObject({ ok: false, refusal: { code: 200000 } });
    expect([await first, await second]).toEqual([third, third]);
    expect(guild.rows.records).toHaveLength(records);
  });
});

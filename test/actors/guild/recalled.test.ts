// Goal: what an owner has promised outlasts it: the next one knows the nonces, and no session is told that the guild is lost.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NotServed } from '../../../protocol/faults.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { OWNER_ID } from '../../support/guild.ts';
import { ANN, FollowingSession, OwnedGuild, SQUARE, settleAll } from '../../support/ownedguild.ts';

let guild: OwnedGuild;
beforeEach(() => {
  guild = new OwnedGuild();
});
afterEach(() => {
  guild.close();
  expect(guild.faults).toEqual([]);
});

const channelId = SQUARE as ChannelId;

/** Sends a message as a client does that may send it again; each attempt is a request of its own. */
const send = (nonce: string, userId: string = OWNER_ID) =>
  guild.call(
    'createMessage',
    { channelId, draft: { content: 'hi', nonce, enforce_nonce: true }, attachments: [], forward: null },
    userId,
    randomUUID(),
    { requires: P.SEND_MESSAGES, channelId },
  );

async function sent(nonce: string, userId?: string): Promise<string> {
  const sending = send(nonce, userId);
  await settleAll();
  guild.owner.settle();
  const reply = await sending;
  if (!reply.ok) throw new Error(reply.refusal.message);
  return reply.value.message.id;
}

describe('the next owner of a guild', () => {
  it.each([
    ['has handed it over', () => guild.handOver()],
    ['has crashed', async () => guild.crash()],
  ])(
    'stores no message twice that is sent again under its nonce, after the owner before %s',
    async (_, end) => {
      const first = await sent('n1');
      await end();
      expect(await sent('n1')).toBe(first);
      expect(await sent('n2')).not.toBe(first);
      expect(await sent('n1', ANN)).not.toBe(first);
      expect(guild.rows.messages.size).toBe(3);
    },
  );
});

describe('an owner whose commit is refused because another shard has the guild', () => {
  it('leaves its sessions to the next owner, up to the last dispatch that they have', async () => {
    const ann = new FollowingSession('a1', ANN);
    await guild.enter([ann]);
    await sent('n1');
    guild.rows.epoch += 1;
    const late = send('n2');
    await settleAll();
    guild.owner.settle();
    await expect(late).rejects.toBeInstanceOf(NotServed);
    expect([guild.owner.lost, guild.owner.departedAt]).toEqual([[], ann.cursor]);
  });
});

const joinVoice = async () => {
  await guild.enter([new FollowingSession('a1', ANN)]);
  await guild.inVoice(ANN, 'a1');
};

describe('an owner that hands its guild over', () => {
  it('leaves the calls of the guild to the next owner', async () => {
    await joinVoice();
    const { owner } = guild;
    await guild.handOver();
    expect(owner.seats).toEqual([`+${ANN}`, 'moved']);
  });
});

describe('an owner whose commit fails', () => {
  it('continues the calls of the guild, whose members join them once more when their sessions return', async () => {
    await joinVoice();
    const { owner } = guild;
    const failing = guild.say(SQUARE, 'in vain');
    await settleAll();
    for (const commit of owner.waiting.splice(0)) commit.done(new Error('The disk is gone.'));
    await expect(failing).rejects.toThrow('The disk is gone.');
    expect([owner.seats, owner.lost]).toEqual([[`+${ANN}`, 'interrupted'], ['a1']]);
    const back = new FollowingSession('a1', ANN);
    await guild.enter([back]);
    await settleAll();
    expect(owner.seats).toEqual([`+${ANN}`, 'interrupted', `+${ANN}`]);
  });
});

describe('the state that an owner hands over', () => {
  it('is deleted by the next owner, as it is soon outdated', async () => {
    const presence = { status: 'online', activities: [], client_status: {} } as never;
    await guild.enter([new FollowingSession('a1', ANN)]);
    await guild.call('setPresence', { userId: ANN as UserId, presence }, '0');
    await guild.handOver();
    expect(guild.rows.snapshot).not.toBeNull();
    await guild.enter([new FollowingSession('a1', ANN)]);
    expect(guild.rows.snapshot).toBeNull();
  });
});
